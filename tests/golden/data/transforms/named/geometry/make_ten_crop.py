"""Makes ten_crop.tsv: what torchvision's FiveCrop and TenCrop (PIL backend) make of images.

Run with torch, torchvision and Pillow, after ../../make_transforms.py: python make_ten_crop.py
Each line: file, transform, height, width, whether it mirrors top to bottom, and for each view the hash of its RGB
bytes. Made with Pillow 13.0.0, torchvision 0.26.0.
"""

import pathlib
import sys

import numpy as np
from PIL import Image
from torchvision import transforms

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))
from make_transforms import IMAGES, polynomial_hash  # noqa: E402

CASES = (("five_crop", 24, 31, 0), ("ten_crop", 24, 31, 0), ("ten_crop", 40, 40, 1), ("ten_crop", 83, 50, 0))


def main():
    with open(HERE / "ten_crop.tsv", "w") as table:
        for name in ("420.jpg", "422.jpg"):
            image = Image.open(IMAGES / name).convert("RGB")
            for kind, height, width, vertical in CASES:
                crops = transforms.FiveCrop((height, width)) if kind == "five_crop" else transforms.TenCrop(
                    (height, width), bool(vertical))
                hashes = (f"{polynomial_hash(np.asarray(view).tobytes()):016x}" for view in crops(image))
                table.write("\t".join([name, kind, str(height), str(width), str(vertical), *hashes]) + "\n")


if __name__ == "__main__":
    main()
