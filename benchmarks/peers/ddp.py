"""PyTorch DDP on Gloo: a step with and without synchronisation; ResNet-18, 64 px, 16 images a rank."""

import contextlib
import json
import os
import statistics
import time

import torch
import torchvision
from torch.nn.parallel import DistributedDataParallel

torch.distributed.init_process_group("gloo")
torch.set_flush_denormal(True)
torch.manual_seed(1)
model = DistributedDataParallel(torchvision.models.resnet18(num_classes=10).to(memory_format=torch.channels_last),
                                gradient_as_bucket_view=True, broadcast_buffers=False)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4, fused=True)
images = torch.randn(16, 3, 64, 64).to(memory_format=torch.channels_last)
labels = torch.randint(10, (16,))


def median_step_ms(scope):
    times = []
    for _ in range(40):
        optimizer.zero_grad(set_to_none=False)
        with scope():
            torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        times.append(time.perf_counter())
    return 1e3 * statistics.median(b - a for a, b in zip(times[5:], times[6:]))


result = {"step_ms": median_step_ms(contextlib.nullcontext), "no_sync_ms": median_step_ms(model.no_sync)}
torch.distributed.destroy_process_group()
if os.environ["RANK"] == "0":
    print(json.dumps(result), flush=True)
