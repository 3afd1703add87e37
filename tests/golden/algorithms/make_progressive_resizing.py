"""Writes progressive_resizing.json: images that Composer's ProgressiveResizing made smaller (mosaicml 0.32.1, torch 2.7.0,
CPU).

    python tests/golden/algorithms/make_progressive_resizing.py

What Composer computes, as a contract for the C++: at AFTER_DATALOADER, for all of a rank's batch at once (ours: for each
microbatch), with the scale factor wanted / width, a quotient of doubles; from 1 on images stay as they are. With `resize`
torch's interpolate() of that scale factor and mode nearest; with `crop` int(scale * height) rows and int(scale * width)
columns from a row below height - rows and a column below width - columns on, both drawn by torch's randint().

The file: `sizes`, what is `kept` of an `image` (rows, columns) and below what the places of a crop are drawn. `cases`
with `options` (images' dtype, image, wanted and whole pixels of the width, mode, the place of a crop) and the `pixels`
that are left. Images are wave([2, 3, H, W], 3), rounded to float32 and then to their dtype.
"""

import json
import pathlib
from unittest import mock

import torch
from composer.algorithms.progressive_resizing import resize_batch

from make_mixup import flat, wave


def size_of(image, wanted):
    below = []

    def randint(high, size):
        below.append(high)
        return torch.tensor([0])
    images, labels = torch.zeros(1, 1, *image), torch.tensor([0])
    scale = wanted / image[1]
    with mock.patch.object(torch, "randint", randint):
        cropped = resize_batch(images, labels, scale, mode="crop")[0]
    nearest = resize_batch(images, labels, scale, mode="resize")[0]
    assert cropped.shape == nearest.shape
    return {"image": image, "wanted": wanted, "kept": list(cropped.shape[-2:]), "below": below}


def run(dtype, image, wanted, mode, place):
    images = wave([2, 3, *image], 3.0).float().to(getattr(torch, dtype))
    with mock.patch.object(torch, "randint", side_effect=[torch.tensor([number]) for number in place]):
        left = resize_batch(images, torch.tensor([0, 1]), wanted / image[1], mode=mode)[0]
    return {"options": {"images": dtype, "image": image, "wanted": wanted, "mode": mode, "place": place}, "pixels": flat(left)}


def main():
    sizes = [size_of(image, wanted) for image in ([224, 224], [224, 192], [7, 9], [30, 20], [176, 176], [448, 448])
             for wanted in (1, 4, 5, image[1] // 2, image[1] - 1, *([61, 115, 122] if image[1] > 122 else []))
             if int(image[0] * (wanted / image[1])) > 0]
    cases = [run(*options) for options in (
        ("float32", [12, 12], 7, "resize", []),
        ("float32", [10, 14], 8, "resize", []),
        ("float32", [9, 6], 3, "resize", []),
        ("float32", [13, 11], 10, "resize", []),
        ("bfloat16", [12, 12], 5, "resize", []),
        ("float32", [12, 12], 7, "crop", [4, 0]),
        ("float32", [9, 14], 8, "crop", [2, 5]),
        ("bfloat16", [12, 12], 5, "crop", [6, 3]),
        ("float32", [6, 6], 6, "crop", []))]
    path = pathlib.Path(__file__).with_name("progressive_resizing.json")
    path.write_text(json.dumps({"sizes": sizes, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
