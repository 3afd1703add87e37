"""A bare training loop of PyTorch on data that lie on the device: the fastest form of the peer's step.

Says {"ready": ...} when it is warm, and for each line that it reads runs --steps steps and says {"step_ms": ...}: so a
peer that compiles does it once, and still takes turns. The networks are torchvision's ResNet and timm's ViT, written out
because a bare machine has torch alone.

Usage: torch_step.py --model resnet18|resnet50|vit_base_patch32|vit64 --size PIXELS --batch N --steps N [--device cuda]
                     [--precision bf16|fp32] [--compile]
"""

import argparse
import contextlib
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """A basic block (18) or a bottleneck with its stride in the 3x3 convolution (50)."""

    def __init__(self, inputs, width, stride, expansion):
        super().__init__()
        outputs = width * expansion
        if expansion == 1:
            shapes = [(inputs, width, 3, stride), (width, width, 3, 1)]
        else:
            shapes = [(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(a, b, size, step, size // 2, bias=False) for a, b, size, step in shapes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _, _ in shapes)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        result = x
        for index, (convolution, norm) in enumerate(zip(self.convolutions, self.norms)):
            result = norm(convolution(result))
            if index + 1 < len(self.convolutions):
                result = functional.relu(result, inplace=True)
        return functional.relu(result + (x if self.shortcut is None else self.shortcut(x)), inplace=True)


def resnet(counts, expansion, num_classes):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, count in enumerate(counts):
        width = 64 * 2**stage
        for block in range(count):
            layers.append(Residual(inputs, width, 2 if stage > 0 and block == 0 else 1, expansion))
            inputs = width * expansion
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, num_classes))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, tokens, width)
        x = x + self.proj(mixed)
        return x + self.fc2(functional.gelu(self.fc1(self.norm2(x))))


class Vit(nn.Module):
    def __init__(self, size, patch, width, depth, heads, num_classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, (size // patch)**2 + 1, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, num_classes)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(images), -1, -1), tokens], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x)[:, 0]))


def make_model(name, size, num_classes):
    if name == "resnet18":
        return resnet([2, 2, 2, 2], 1, num_classes)
    if name == "resnet50":
        return resnet([3, 4, 6, 3], 4, num_classes)
    if name == "vit_base_patch32":
        return Vit(size, 32, 768, 12, 12, num_classes)
    if name == "vit64":
        return Vit(size, 8, 64, 12, 4, num_classes)
    raise SystemExit(f"there is no model {name}")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    torch.manual_seed(1)
    torch.set_flush_denormal(True)
    torch.backends.cudnn.benchmark = True
    model = make_model(options.model, options.size, options.classes)
    is_vit = isinstance(model, Vit)
    images = torch.randn(options.batch, 3, options.size, options.size)
    model = model.to(options.device, memory_format=torch.channels_last)
    images = images.to(options.device, memory_format=torch.channels_last)
    labels = torch.randint(options.classes, (options.batch,), device=options.device)
    if is_vit:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-4, fused=True)
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    if options.compile:
        model = torch.compile(model)

    def autocast():
        return torch.autocast(options.device, torch.bfloat16) if options.precision == "bf16" else contextlib.nullcontext()

    def wait():
        if options.device == "cuda":
            torch.cuda.synchronize()

    def run(steps):
        wait()
        begin = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        wait()
        return 1e3 * (time.perf_counter() - begin) / steps

    run(min(10, options.steps))
    print(json.dumps({"ready": True, "parameters": num_parameters}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"step_ms": run(options.steps)}), flush=True)


if __name__ == "__main__":
    main()
