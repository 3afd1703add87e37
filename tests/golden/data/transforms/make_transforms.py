"""Makes images/ and cases.tsv: what Pillow and torchvision (PIL backend) make of small images.

Run with torch, torchvision and Pillow, and cjpeg of libjpeg-turbo-progs:
    python make_transforms.py
Each line of cases.tsv: file, normalisation, steps, height, width, hash of the float32 result (row by row of
RGB triples). Made with Pillow 13.0.0 (libjpeg-turbo 3.2.0), torchvision 0.26.0, torch 2.11.0.
"""

import pathlib
import struct
import subprocess
import zlib

import numpy as np
import torch
from PIL import Image
from torchvision import transforms
from torchvision.transforms import autoaugment
from torchvision.transforms import functional as F

HERE = pathlib.Path(__file__).parent
IMAGES = HERE / "images"
MODES = {mode.value: mode for mode in transforms.InterpolationMode}
NORMALIZE = {"none": None, "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
             "cifar": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))}
rng = np.random.default_rng(20)


def picture(height, width):
    """Cloudy colours with some noise and hard edges."""
    spectrum = np.fft.rfft2(rng.normal(size=(height, width, 3)), axes=(0, 1))
    rows, columns = np.fft.fftfreq(height)[:, None, None], np.fft.rfftfreq(width)[None, :, None]
    spectrum /= 0.004 + np.hypot(rows, columns)
    values = np.fft.irfft2(spectrum, s=(height, width), axes=(0, 1))
    values = values / values.std() * 70 + 128 + rng.normal(size=values.shape) * 6
    values[height // 3 : height // 2, width // 4 : width // 2] = (250, 20, 60)
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(name, width, height, bits, color, row_bytes, extra=b""):
    """PNG kinds that Pillow does not write."""
    rows = b"".join(b"\0" + rng.integers(0, 256, row_bytes, dtype=np.uint8).tobytes() for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    (IMAGES / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
                                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def cjpeg(image, name, *options):
    ppm = HERE / "picture.ppm"
    image.save(ppm)
    subprocess.run(["cjpeg", "-quality", "85", *options, "-outfile", str(IMAGES / name), str(ppm)], check=True)
    ppm.unlink()


def make_jpegs():
    image = picture(83, 109)
    for name, options in {"444": {"subsampling": 0}, "422": {"subsampling": 1}, "420": {"subsampling": 2},
                          "progressive": {"subsampling": 2, "progressive": True},
                          "restart": {"subsampling": 2, "restart_marker_blocks": 5},
                          "rgb": {"keep_rgb": True}}.items():
        image.save(IMAGES / f"{name}.jpg", quality=85, **options)
    image.convert("L").save(IMAGES / "gray.jpg", quality=85)
    image.convert("CMYK").save(IMAGES / "cmyk.jpg", quality=85)
    for sampling in ("1x2", "4x1", "2x4"):
        cjpeg(image, f"sampling_{sampling}.jpg", "-sample", sampling)
    cjpeg(image, "mixed.jpg", "-sample", "2x2,1x2,2x1")
    cjpeg(image, "arithmetic.jpg", "-arithmetic", "-sample", "2x2")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees, which neither PIL nor we do
    picture(40, 61).save(IMAGES / "turned.jpg", quality=85, exif=exif)
    picture(1, 1).save(IMAGES / "1x1.jpg", quality=85)
    picture(200, 3).save(IMAGES / "narrow.jpg", quality=85)
    picture(3, 200).save(IMAGES / "flat.jpg", quality=85)
    (IMAGES / "garbage_behind.jpg").write_bytes((IMAGES / "turned.jpg").read_bytes() + b"more bytes")


def make_pngs():
    image = picture(19, 23)
    alpha = image.convert("RGBA")
    alpha.putalpha(image.convert("L"))
    image.save(IMAGES / "rgb.png")
    alpha.save(IMAGES / "rgba.png")
    image.convert("L").save(IMAGES / "gray.png")
    image.convert("1").save(IMAGES / "bits.png")
    image.quantize(100).save(IMAGES / "palette.png")
    image.quantize(11).save(IMAGES / "palette_transparent.png", transparency=3)
    image.save(IMAGES / "png_named.JPEG", format="png")
    gray16 = np.concatenate([np.arange(0, 320), rng.integers(0, 65536, 80)]).astype(np.uint16).reshape(20, 20)
    Image.fromarray(gray16).save(IMAGES / "gray16.png")
    write_png("rgb16.png", 7, 9, 16, 2, 42)
    write_png("rgba16.png", 7, 9, 16, 6, 56)
    write_png("gray_alpha16.png", 7, 9, 16, 4, 28)
    write_png("gray4.png", 7, 9, 4, 0, 4)
    write_png("gamma.png", 7, 9, 8, 2, 21, extra=chunk(b"gAMA", struct.pack(">I", 100000)))
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    Image.fromarray(np.stack([ramp, ramp[::-1], ramp.T], axis=2)).save(IMAGES / "ramp.png")


def apply_step(image, step):
    kind, *values = step.split()
    if kind == "crop":
        return F.crop(image, *map(int, values))
    if kind == "resize":
        return F.resize(image, [int(values[0]), int(values[1])], MODES[values[2]])
    if kind == "resize_shorter":
        return transforms.Resize(int(values[0]), MODES[values[1]])(image)
    if kind == "center_crop":
        return transforms.CenterCrop(int(values[0]))(image)
    if kind == "pad_crop":  # what RandomCrop does once it has drawn
        padding, top, left, size = map(int, values[:4])
        return F.crop(F.pad(image, padding, padding_mode=values[4]), top, left, size, size)
    if kind == "flip":
        return F.hflip(image)
    if kind == "vertical_flip":
        return F.vflip(image)
    if kind == "grayscale":
        return F.rgb_to_grayscale(image, num_output_channels=3)
    if kind in ("invert", "autocontrast", "equalize"):
        return getattr(F, kind)(image)
    if kind == "posterize":
        return F.posterize(image, int(values[0]))
    if kind == "solarize":
        return F.solarize(image, float(values[0]))
    if kind == "rotate":  # angle, mode, fill
        return F.rotate(image, float(values[0]), MODES[values[1]], fill=list(map(int, values[2:])))
    if kind == "affine":  # angle, translation, scale, shear, mode, fill; around the middle
        angle, right, down, scale, shear_x, shear_y = map(float, values[:6])
        return F.affine(image, angle, [right, down], scale, [shear_x, shear_y], MODES[values[6]],
                        fill=list(map(int, values[7:])))
    if kind == "augment":  # operation, magnitude, mode, fill
        return autoaugment._apply_op(image, values[0], float(values[1]), MODES[values[2]], list(map(int, values[3:])))
    if kind == "hue":
        return F.adjust_hue(image, float(values[0]))
    return getattr(F, f"adjust_{kind}")(image, float(values[0]))


def polynomial_hash(data):
    """Horner's rule over bytes + 1, modulo 2^64."""
    values = np.frombuffer(data, np.uint8).astype(np.uint64) + np.uint64(1)
    powers = np.full(len(values), 0x9E3779B97F4A7C15, np.uint64)
    powers[0] = 1
    powers = np.multiply.accumulate(powers)[::-1]
    return int((values * powers).sum(dtype=np.uint64))


def case(name, normalize, steps):
    image = Image.open(IMAGES / name).convert("RGB")
    for step in filter(None, steps.split("; ")):
        image = apply_step(image, step)
    pixels = transforms.ToTensor()(image)
    if NORMALIZE[normalize]:
        pixels = transforms.Normalize(*NORMALIZE[normalize])(pixels)
    data = pixels.permute(1, 2, 0).contiguous().numpy().tobytes()
    return "\t".join([name, normalize, steps, str(image.height), str(image.width), f"{polynomial_hash(data):016x}"])


def random_box(height, width):
    h, w = rng.integers(1, height + 1), rng.integers(1, width + 1)
    return f"crop {rng.integers(0, height - h + 1)} {rng.integers(0, width - w + 1)} {h} {w}"


def make_cases():
    yield from (case(path.name, "none", "") for path in sorted(IMAGES.iterdir()))
    yield from (case("ramp.png", name, "") for name in ("imagenet", "cifar"))
    for name in ("444.jpg", "422.jpg", "420.jpg", "sampling_1x2.jpg", "progressive.jpg", "gray.jpg", "cmyk.jpg"):
        for size, mode in (("56 56", "bilinear"), ("24 24", "bilinear"), ("130 97", "bicubic"), ("17 33", "bicubic")):
            flip = "; flip" if rng.integers(2) else ""
            yield case(name, "imagenet", f"{random_box(83, 109)}; resize {size} {mode}{flip}")
    for steps in ("resize 83 40 bilinear", "resize 20 109 bilinear", "resize 83 109 bilinear", "resize 1 1 bilinear",
                  "resize 5 211 bilinear", "resize 166 218 bilinear", "resize 9 11 bicubic", "resize 200 64 bicubic",
                  "resize_shorter 64 bilinear; center_crop 56", "resize_shorter 41 bicubic; center_crop 41",
                  "resize_shorter 120 bilinear; center_crop 112", "center_crop 50", "center_crop 96", "center_crop 121",
                  "center_crop 120; resize 31 31 bilinear", "flip; crop 3 5 50 61; resize 32 32 bilinear",
                  "crop 10 20 60 50; flip; crop 1 2 30 40; flip", "crop 10 10 40 40; crop -5 -6 50 55",
                  "flip; crop 10 10 40 40; crop -5 20 50 55; contrast 1.4", "resize 40 40 bilinear; crop 30 30 20 20",
                  "pad_crop 4 0 8 32 constant", "pad_crop 4 3 1 64 constant; flip", "pad_crop 60 0 0 50 constant",
                  "pad_crop 8 16 16 83 constant", "pad_crop 5 0 1 40 reflect", "flip; pad_crop 4 2 0 40 reflect",
                  "pad_crop 9 1 12 45 symmetric; flip", "brightness 0.7; pad_crop 30 0 0 50 edge; contrast 1.3",
                  "crop 10 10 40 40; pad_crop 6 0 12 40 reflect", "resize 40 40 bilinear; pad_crop 8 0 3 40 symmetric"):
        yield case("420.jpg", "none", steps)
        yield case("turned.jpg", "imagenet", steps.replace("pad_crop 8 16 16 83", "pad_crop 8 3 5 40"))
    for name in ("narrow.jpg", "flat.jpg", "1x1.jpg"):
        yield case(name, "cifar", "resize_shorter 16 bilinear; center_crop 16")
        yield case(name, "cifar", "resize 32 32 bicubic; flip")
    for op, values in {"brightness": (0.0, 0.6, 1.0, 1.37), "contrast": (0.0, 0.61, 1.4), "saturation": (0.0, 0.25, 1.0, 1.8),
                       "hue": (0.0, 0.1, -0.1, 0.5, -0.5, 0.037)}.items():
        for value in values:
            yield case("444.jpg", "none", f"{op} {value}")
    for steps in ("brightness 0.7; contrast 1.3; saturation 0.6; hue 0.09", "hue -0.08; saturation 1.4; contrast 0.8; brightness 1.2",
                  "crop 5 6 60 70; resize 48 48 bilinear; flip; contrast 1.31; hue 0.05; brightness 0.9; saturation 1.1",
                  "crop 5 6 60 70; flip; contrast 0.7; crop 3 4 20 30", "center_crop 100; contrast 0.5; saturation 1.5",
                  "flip; hue 0.2; resize 30 30 bilinear"):
        yield case("444.jpg", "imagenet", steps)
        yield case("rgb.png", "imagenet", steps.replace("60 70", "12 13").replace("20 30", "7 8"))


def make_augment_cases():
    modes = ("nearest 0 0 0", "bilinear 10 200 30")
    steps = [f"posterize {bits}" for bits in (1, 2, 5, 8)] + [f"solarize {at}" for at in (0, 76.5, 128, 255, 256)]
    steps += ["invert", "autocontrast", "equalize", "grayscale", "vertical_flip"]
    steps += [f"sharpness {factor}" for factor in (0.0, 0.37, 1.0, 1.9)]
    for mode in modes:
        steps += [f"rotate {angle} {mode}" for angle in (0, 9, -27.3, 90, 180, 271.5, 133.33)]
        steps += [f"affine 12.5 3 -7 1.3 10 -20 {mode}", f"affine -100 0.5 2.25 0.4 0 33 {mode}",
                  f"affine 0 0 0 1.7 0 0 {mode}", f"affine 0 -5000 0 0.001 0 1 {mode}", f"affine 0 0 0 1e-5 3 0 {mode}"]
        steps += [f"augment {op} {sign}{size} {mode}" for op, size in
                  (("ShearX", 0.09), ("ShearY", 0.99), ("TranslateX", 10.9), ("TranslateY", 30.45), ("Rotate", 9.0))
                  for sign in ("", "-")]
    steps += [f"augment {op} {sign}0.27 nearest 0 0 0" for op in ("Brightness", "Color", "Contrast", "Sharpness")
              for sign in ("", "-")]
    steps += ["augment Posterize 7 nearest 0 0 0", "augment Solarize 178.5 nearest 0 0 0",
              "invert; contrast 1.4; posterize 5; flip; solarize 100; saturation 1.3",
              "brightness 1.5; crop 10 10 40 40; crop -5 -6 50 55; invert; autocontrast; equalize",
              "crop -5 -6 50 55; invert; flip; rotate 20 nearest 7 8 9; equalize; vertical_flip",
              "resize 40 50 bilinear; flip; sharpness 1.7; posterize 4; affine 5 1 2 1.1 3 4 bilinear 0 0 0; hue 0.1",
              "contrast 0.6; crop -3 -3 60 60; brightness 0.8; resize 30 30 bicubic; solarize 90; contrast 1.2"]
    for step in steps:
        yield case("444.jpg", "none", step)
    for name in ("flat.jpg", "narrow.jpg", "1x1.jpg", "ramp.png"):
        for step in ("sharpness 0.2", "equalize", "autocontrast", "rotate 30 nearest 1 2 3", "rotate 77 bilinear 1 2 3",
                     "augment ShearY 0.3 nearest 0 0 0", "vertical_flip"):
            yield case(name, "none", step)
    for step in ("equalize", "autocontrast", "augment TranslateX 3.7 nearest 9 9 9"):
        yield case("bits.png", "none", step)


def make_magnitudes():
    """Of each operation of each policy's space for an image of 224 x 197: name, magnitudes."""
    for name, space in (("standard", autoaugment.RandAugment()._augmentation_space(31, (224, 197))),
                        ("wide", autoaugment.TrivialAugmentWide()._augmentation_space(31)),
                        ("coarse", autoaugment.AutoAugment()._augmentation_space(10, (224, 197)))):
        for op, (magnitudes, is_signed) in space.items():
            yield " ".join([name, op, str(int(is_signed)), str(magnitudes.numel() if magnitudes.ndim else 0),
                            *(f"{value:.9g}" for value in magnitudes.flatten().tolist())])


def make_policies():
    """torchvision's policies of AutoAugment: name, then both operations with probability and level."""
    for policy in autoaugment.AutoAugmentPolicy:
        for pair in autoaugment.AutoAugment(policy).policies:
            yield " ".join([policy.value, *(f"{op} {p} {level or 0}" for op, p, level in pair)])


def make_fallbacks():
    """The boxes of RandomResizedCrop where none that was drawn fits."""
    crop = transforms.RandomResizedCrop
    for width, height in ((100, 100), (100, 10), (10, 100), (133, 99), (7, 5), (500, 374), (1, 9), (9, 1)):
        for ratio in ((3 / 4, 4 / 3), (0.5, 2.0), (1.0, 1.0)):
            image = torch.empty(3, height, width)
            box = crop.get_params(image, [4.0, 4.0], list(ratio))
            yield "\t".join(map(str, (width, height, *ratio, *box)))


def main():
    IMAGES.mkdir(exist_ok=True)
    make_jpegs()
    make_pngs()
    (HERE / "cases.tsv").write_text("\n".join([*make_cases(), *make_augment_cases()]) + "\n")
    (HERE / "magnitudes.txt").write_text("\n".join(make_magnitudes()) + "\n")
    (HERE / "policies.txt").write_text("\n".join(make_policies()) + "\n")
    (HERE / "fallback_boxes.tsv").write_text("\n".join(make_fallbacks()) + "\n")


if __name__ == "__main__":
    main()
