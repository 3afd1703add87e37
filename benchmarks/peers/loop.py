"""A bare training loop in Python on data in memory: the fastest form of the peer's step."""

import argparse
import json
import statistics
import time

import timm
import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--size", type=int, required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--channels-last", action="store_true")
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()

torch.set_flush_denormal(True)
torch.manual_seed(1)
if options.model == "vit64":
    model = timm.models.vision_transformer.VisionTransformer(
        img_size=options.size, patch_size=8, embed_dim=64, depth=12, num_heads=4, num_classes=10)
elif hasattr(torchvision.models, options.model):
    model = getattr(torchvision.models, options.model)(num_classes=10)
else:
    model = timm.create_model(options.model, num_classes=10)
images = torch.randn(options.batch, 3, options.size, options.size)
if options.channels_last:
    model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
labels = torch.randint(10, (options.batch,))
if options.compile:
    model = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4, fused=True)
times = []
for _ in range(options.steps):
    optimizer.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    times.append(time.perf_counter())
skip = min(100, options.steps // 6)
print(json.dumps({"step_ms": 1e3 * statistics.median(b - a for a, b in zip(times[skip:], times[skip + 1:]))}))
