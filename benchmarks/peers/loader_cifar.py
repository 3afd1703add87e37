"""torchvision on CIFAR-10's images in memory: crop with padding, flip, normalise; one process."""

import json
import os
import sys
import time

import numpy
import torch
from PIL import Image
from torchvision import transforms

BATCH_SIZE = 512
WARM_UP_BATCHES = 2


class Cifar(torch.utils.data.Dataset):
    """As torchvision.datasets.CIFAR10 does it, from the binary files."""

    def __init__(self, folder, transform):
        records = numpy.concatenate([numpy.fromfile(os.path.join(folder, f"data_batch_{i}.bin"), dtype=numpy.uint8)
                                     for i in range(1, 6)]).reshape(-1, 3073)
        self.labels = records[:, 0].tolist()
        self.images = numpy.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.images[index])), self.labels[index]


torch.set_num_threads(1)
transform = transforms.Compose([transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(),
                                transforms.ToTensor(),
                                transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))])
batches = int(sys.argv[2])
loader = iter(torch.utils.data.DataLoader(Cifar(sys.argv[1], transform), batch_size=BATCH_SIZE, shuffle=True))
for _ in range(WARM_UP_BATCHES):
    next(loader)
begin = time.perf_counter()
for _ in range(batches):
    next(loader)
print(json.dumps({"images_per_s": BATCH_SIZE * batches / (time.perf_counter() - begin)}))
