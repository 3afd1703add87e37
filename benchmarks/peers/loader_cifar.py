"""CIFAR-10's images in memory by torch operations on whole batches: pad, crop, flip, normalise; one thread.

loader_cifar.py FOLDER BATCHES bytes|floats: floats are normalised, bytes left for the device. Each image has a crop and a
flip of its own. One indexing of a strided view was the fastest of six ways to crop: torch.gather, masks or
groups by offset and a loop over images gave 0.3 to 0.7 of its rate, torchvision on each image 0.03.
"""

import json
import os
import sys
import time

import numpy
import torch

BATCH_SIZE = 512
WARM_UP_BATCHES = 2
PADDING, SIZE = 4, 32

torch.set_num_threads(1)
folder, batches, form = sys.argv[1], int(sys.argv[2]), sys.argv[3]
records = numpy.concatenate([numpy.fromfile(os.path.join(folder, f"data_batch_{i}.bin"), dtype=numpy.uint8)
                             for i in range(1, 6)]).reshape(-1, 3073)
labels = torch.from_numpy(records[:, 0].astype(numpy.int64))
padded = torch.nn.functional.pad(torch.from_numpy(records[:, 1:].reshape(-1, 3, SIZE, SIZE)), (PADDING,) * 4)
crops = padded.unfold(2, SIZE, 1).unfold(3, SIZE, 1)
mean = 255 * torch.tensor((0.4914, 0.4822, 0.4465)).view(1, 3, 1, 1)
scale = 1 / (255 * torch.tensor((0.2470, 0.2435, 0.2616)).view(1, 3, 1, 1))


def batches_for_ever():
    while True:
        for indices in torch.randperm(len(labels)).split(BATCH_SIZE):
            count = len(indices)
            images = crops[indices, :, torch.randint(2 * PADDING + 1, (count,)), torch.randint(2 * PADDING + 1, (count,))]
            is_flipped = torch.rand(count) < 0.5
            images[is_flipped] = images[is_flipped].flip(-1)
            if form == "floats":
                images = images.float().sub_(mean).mul_(scale)
            yield images, labels[indices]


loader = batches_for_ever()
for _ in range(WARM_UP_BATCHES):
    next(loader)
begin = time.perf_counter()
loaded = sum(len(next(loader)[1]) for _ in range(batches))
print(json.dumps({"images_per_s": loaded / (time.perf_counter() - begin)}))
