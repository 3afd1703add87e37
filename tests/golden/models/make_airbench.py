"""Writes airbench.json: numbers of the network of airbench94 (Jordan, 2024), and filters that whiten patches.

    python tests/golden/models/make_airbench.py        # torch 2.11

Weights, images and what is told of gradients are make_models.py's. The network is put together here after the paper
(section 3.1 and appendix A) with the names of its script, which is one Sequential. Gradients are told of all
parameters, also of those that the script does not train.

`filters`: of patches of scripted images, by NumPy: the eigenvectors of patches.T @ patches / n by falling eigenvalue,
divided by sqrt(eigenvalue + eps), and the same negated. The sign of an eigenvector is whatever LAPACK gives; here its
largest element is positive.
"""

import make_models
import numpy as np
import torch
from make_models import CLASSES, flops, initial, numbers_of, state_summary, words
from torch import nn

WIDTHS = (64, 256, 256)
CASES = [(32, (16, 24, 32), "float64", ["float64", "float32"]), (19, (16, 16, 16), "float64", ["float64"])]


def normalisation(channels):
    return nn.BatchNorm2d(channels, eps=1e-12, momentum=0.4)


def convolution(inside, out):
    layer = nn.Conv2d(inside, out, 3, padding="same", bias=False)
    nn.init.dirac_(layer.weight.data[:inside])
    return layer


class Group(nn.Module):
    def __init__(self, inside, out):
        super().__init__()
        self.conv1 = convolution(inside, out)
        self.norm1 = normalisation(out)
        self.conv2 = convolution(out, out)
        self.norm2 = normalisation(out)

    def forward(self, x):
        x = nn.functional.gelu(self.norm1(nn.functional.max_pool2d(self.conv1(x), 2)))
        return nn.functional.gelu(self.norm2(self.conv2(x)))


class Largest(nn.Module):
    """Of each channel; MaxPool2d(3) of 32 pixels."""

    def forward(self, x):
        return x.amax((2, 3))


class Scale(nn.Module):
    def forward(self, x):
        return x / 9


def make(name="airbench94", num_classes=10, widths=WIDTHS):
    channels = [24, *widths]
    groups = [Group(inside, out) for inside, out in zip(channels, widths)]
    return nn.Sequential(nn.Conv2d(3, 24, 2), nn.GELU(), *groups, Largest(), nn.Flatten(),
                         nn.Linear(widths[-1], num_classes, bias=False), Scale())


def case(size, widths, dtype, dtypes):
    model = make(num_classes=CLASSES, widths=widths).to(getattr(torch, dtype))
    numbers = numbers_of(model, size, dtype, norm_bias=0.0, is_small=False)
    return {"model": "airbench94", "image_size": size, "widths": widths, "dtypes": dtypes, **numbers}


def filters(channels, size, patch, eps):
    """Neighbours alike, as in pictures."""
    shape = (7, channels, size, size)
    noise = words(5, int(np.prod(shape))).reshape(shape) / 2.0**32 - 0.5
    images = np.round(noise + np.roll(noise, 1, 2) + np.roll(noise, 1, 3) + 0.5, 9)
    windows = np.lib.stride_tricks.sliding_window_view(images, (patch, patch), (2, 3))
    patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, channels * patch * patch)
    values, vectors = np.linalg.eigh(patches.T @ patches / len(patches))
    rows = vectors.T[::-1]
    rows = rows * np.sign(np.take_along_axis(rows, np.abs(rows).argmax(1)[:, None], 1))
    rows = rows / np.sqrt(values[::-1] + eps)[:, None]
    return {"shape": shape, "patch": patch, "eps": eps, "images": images.ravel().tolist(),
            "filters": np.concatenate([rows, -rows]).ravel().tolist()}


def main():
    torch.set_num_threads(1)
    make_models.write({
        "made_with": {"torch": torch.__version__, "threads": 1},
        "state": state_summary("airbench94", make),
        "flops": flops("airbench94", make),
        "initial": initial("airbench94", make),
        "cases": [case(*each) for each in CASES],
        "filters": [filters(3, 9, 2, 5e-4), filters(2, 8, 3, 0.1)],
    }, "airbench.json")


if __name__ == "__main__":
    main()
