"""torchvision's ImageFolder and DataLoader with Pillow: RandomResizedCrop 224, flip, normalise; one process."""

import json
import os
import sys
import time

import torch
import torchvision
from torchvision import transforms

BATCH_SIZE = 32
WARM_UP_BATCHES = 2

torch.set_num_threads(1)
normalize = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
data = torchvision.datasets.ImageFolder(
    os.path.join(sys.argv[1], "train"),
    transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize]))
batches = int(sys.argv[2])
loader = iter(torch.utils.data.DataLoader(data, batch_size=BATCH_SIZE, shuffle=True, drop_last=True))
for _ in range(WARM_UP_BATCHES):
    next(loader)
begin = time.perf_counter()
for _ in range(batches):
    next(loader)
print(json.dumps({"images_per_s": BATCH_SIZE * batches / (time.perf_counter() - begin)}))
