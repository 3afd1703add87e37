"""Makes random_erasing.tsv: how much of images timm's RandomErasing fills.

Run with torch and timm: python make_random_erasing.py
Each line: height and width of the image, probability, fewest and most boxes, mean and standard deviation of the
filled share of 20,000 images, share of the images in which nothing is filled. Made with timm 1.0.31.
"""

import pathlib
import random

import torch
from timm.data.random_erasing import RandomErasing

HERE = pathlib.Path(__file__).parent
CASES = ((60, 90, 1.0, 1, 1), (60, 90, 0.25, 1, 1), (60, 90, 1.0, 3, 3), (60, 90, 1.0, 1, 5), (90, 40, 0.7, 2, 4),
         (24, 24, 1.0, 8, 8))
NUM_IMAGES = 20_000


def main():
    random.seed(5)
    with open(HERE / "random_erasing.tsv", "w") as table:
        for height, width, probability, fewest, most in CASES:
            erase = RandomErasing(probability, max_area=0.33, max_aspect=3.3, mode="const", min_count=fewest,
                                  max_count=most, device="cpu")
            shares = torch.stack([1 - erase(torch.ones(1, height, width)).mean() for _ in range(NUM_IMAGES)])
            numbers = (shares.mean().item(), shares.std().item(), (shares == 0).double().mean().item())
            table.write("\t".join(map(str, (height, width, probability, fewest, most, *(f"{n:.5f}" for n in numbers))))
                        + "\n")


if __name__ == "__main__":
    main()
