"""PyTorch's fully_shard on Gloo, block by block: the time of a step.

Usage (under torchrun): fsdp.py MODEL BATCH_PER_RANK STEPS
"""

import json
import os
import statistics
import sys
import time

import timm
import torch
from torch.distributed.fsdp import fully_shard

name, batch, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.distributed.init_process_group("gloo")
torch.set_flush_denormal(True)
torch.manual_seed(1)
model = timm.create_model(name, num_classes=10)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (torch.distributed.get_world_size(),))
for block in model.blocks:
    fully_shard(block, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
images = torch.randn(batch, 3, 224, 224)
labels = torch.randint(10, (batch,))
times = []
for _ in range(steps):
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    times.append(time.perf_counter())
torch.distributed.destroy_process_group()
if os.environ["RANK"] == "0":
    skip = min(3, steps // 3)
    print(json.dumps({"step_ms": 1e3 * statistics.median(b - a for a, b in zip(times[skip:], times[skip + 1:]))}))
