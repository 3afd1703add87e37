"""torchvision's ResNet-18 on an image folder to the end of the first step; under torchrun with DDP."""

import json
import os
import sys
import time

import torch
import torchvision
from torch.nn.parallel import DistributedDataParallel
from torchvision import transforms

ranks = int(os.environ.get("WORLD_SIZE", "1"))
if ranks > 1:
    torch.distributed.init_process_group("gloo")
normalize = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
data = torchvision.datasets.ImageFolder(
    os.path.join(sys.argv[1], "train"),
    transforms.Compose([transforms.RandomResizedCrop(64), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize]))
sampler = torch.utils.data.distributed.DistributedSampler(data) if ranks > 1 else None
loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=sampler is None, sampler=sampler)
model = torchvision.models.resnet18(num_classes=10).to(memory_format=torch.channels_last)
if ranks > 1:
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4, fused=True)
images, labels = next(iter(loader))
torch.nn.functional.cross_entropy(model(images.to(memory_format=torch.channels_last)), labels).backward()
optimizer.step()
done = time.time()
if ranks > 1:
    torch.distributed.destroy_process_group()
if int(os.environ.get("RANK", "0")) == 0:
    print(json.dumps({"time": done}), flush=True)
