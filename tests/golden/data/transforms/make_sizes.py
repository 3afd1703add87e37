"""Makes sizes.tsv: what torchvision's transforms (PIL backend) make of images for sizes that are not square,
by all of Pillow's filters.

Run with torch, torchvision and Pillow, after make_transforms.py: python make_sizes.py
Each line: file, transforms, height, width, hash of the result normalised as for ImageNet. Made with Pillow 13.0.0,
torchvision 0.26.0, torch 2.11.0.
"""

from PIL import Image
from torchvision import transforms

from make_transforms import HERE, IMAGES, MODES, NORMALIZE, polynomial_hash

FILES = ("420.jpg", "progressive.jpg", "rgb.png", "narrow.jpg", "flat.jpg")
CASES = ("resize 40 64 bilinear; center_crop 32 56", "resize 64 40 bicubic; center_crop 56 32", "center_crop 96 40",
         "resize 41 41 bilinear; center_crop 24 40", "random_resized_crop 32 48 bilinear",
         "random_resized_crop 48 32 bicubic",
         *(f"{steps} {mode}{rest}" for mode in ("nearest", "box", "hamming", "lanczos")
           for steps, rest in (("resize 40 64", "; center_crop 32 56"), ("resize 211 307", "; center_crop 150 41"),
                               ("random_resized_crop 37 101", ""))))


def transform_of(step):
    kind, height, width, *rest = step.split()
    size = (int(height), int(width))
    if kind == "resize":
        return transforms.Resize(size, MODES[rest[0]])
    if kind == "center_crop":
        return transforms.CenterCrop(size)
    # No box of four times the area fits, so that nothing is drawn: it is the central one.
    return transforms.RandomResizedCrop(size, scale=(4, 4), interpolation=MODES[rest[0]])


def main():
    with open(HERE / "sizes.tsv", "w") as table:
        for name in FILES:
            for steps in CASES:
                image = Image.open(IMAGES / name).convert("RGB")
                pixels = transforms.Compose([*map(transform_of, steps.split("; ")), transforms.ToTensor(),
                                             transforms.Normalize(*NORMALIZE["imagenet"])])(image)
                data = pixels.permute(1, 2, 0).contiguous().numpy().tobytes()
                table.write("\t".join([name, steps, str(pixels.shape[1]), str(pixels.shape[2]),
                                       f"{polynomial_hash(data):016x}"]) + "\n")


if __name__ == "__main__":
    main()
