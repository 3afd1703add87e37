"""torchvision's ImageFolder and DataLoader: RandomResizedCrop 224, flip, normalise; one process.

loader.py FOLDER BATCHES [augment | decode_jpeg]: with ColorJitter and RandAugment; with torchvision's own decoder and
transforms v2 on tensors in place of Pillow.
"""

import json
import os
import sys
import time

import torch
import torchvision
from torchvision import transforms
from torchvision.transforms import v2

BATCH_SIZE = 32
WARM_UP_BATCHES = 2
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

torch.set_num_threads(1)
folder, batches, option = sys.argv[1], int(sys.argv[2]), (sys.argv[3:] or [""])[0]
if option == "decode_jpeg":
    read = lambda path: torchvision.io.decode_jpeg(torchvision.io.read_file(path), mode=torchvision.io.ImageReadMode.RGB)
    steps = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
             v2.Normalize(MEAN, DEVIATION)]
else:
    read = torchvision.datasets.folder.default_loader
    augment = [transforms.ColorJitter(0.4, 0.4, 0.4, 0.1), transforms.RandAugment(2, 9)] if option == "augment" else []
    steps = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), *augment, transforms.ToTensor(),
             transforms.Normalize(MEAN, DEVIATION)]
data = torchvision.datasets.ImageFolder(os.path.join(folder, "train"), transforms.Compose(steps), loader=read)
loader = iter(torch.utils.data.DataLoader(data, batch_size=BATCH_SIZE, shuffle=True, drop_last=True))
for _ in range(WARM_UP_BATCHES):
    next(loader)
begin = time.perf_counter()
for _ in range(batches):
    next(loader)
print(json.dumps({"images_per_s": BATCH_SIZE * batches / (time.perf_counter() - begin)}))
