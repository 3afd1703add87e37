"""torchvision's augmentations of a Pillow image of 224 pixels, one thread: the mean over 500 draws of the best of some tries.

Usage: augment.py NAME TRIES
"""

import json
import sys
import time

import numpy
import torch
from PIL import Image
from torchvision import transforms

TRANSFORMS = {"rand_augment": transforms.RandAugment, "augmix": transforms.AugMix,
              "gaussian_blur": lambda: transforms.GaussianBlur(9), "perspective": lambda: transforms.RandomPerspective(p=1)}
DRAWS = 500

torch.set_num_threads(1)
rows, columns = numpy.mgrid[0:224, 0:224]
noise = numpy.random.default_rng(1).integers(0, 31, (224, 224, 3))
pixels = numpy.stack([columns, rows, (columns + rows) // 2], -1) + noise
image = Image.fromarray(pixels.astype(numpy.uint8))
transform = TRANSFORMS[sys.argv[1]]()
best = [float("inf")] * DRAWS
for _ in range(int(sys.argv[2])):
    for draw in range(DRAWS):
        torch.manual_seed(draw)
        begin = time.perf_counter()
        transform(image)
        best[draw] = min(best[draw], time.perf_counter() - begin)
print(json.dumps({"us": 1e6 * sum(best) / DRAWS}))
