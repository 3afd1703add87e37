"""Writes mixed_precision.json: steps of a small net under torch.autocast, fp16 with torch.amp.GradScaler.

    python tests/golden/train/make_mixed_precision.py        # torch 2.11

Weights and data are functions of their indices (see `wave`), which mixed_precision_test.cpp repeats.
"""

import json
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

BATCH, CLASSES, SIZE = 8, 5, 8


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.bn = nn.BatchNorm2d(6)
        self.fc1 = nn.Linear(6, 16)
        self.norm = nn.LayerNorm(16, eps=1e-6)
        self.fc2 = nn.Linear(16, CLASSES)
        with torch.no_grad():
            for number, (name, parameter) in enumerate(self.named_parameters()):
                is_scale = name in ("bn.weight", "norm.weight")
                parameter.copy_(wave(parameter.shape, 10.0 * number) + (1.0 if is_scale else 0.0))

    def forward(self, images):
        x = F.relu(self.bn(self.conv(images))).mean((2, 3))
        return self.fc2(F.gelu(self.norm(self.fc1(x))))


def train(dtype, num_steps, scaler_options):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=scaler_options is not None, **(scaler_options or {}))
    losses, scales = [], []
    for step in range(num_steps):
        images = wave((BATCH, 3, SIZE, SIZE), 3.0 + step)
        labels = (torch.arange(BATCH) + step) % CLASSES
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(net(images), labels, label_smoothing=0.1)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    return {"losses": losses, "scales": scales,
            "state": {name: tensor.double().flatten().tolist() for name, tensor in net.state_dict().items()}}


def main():
    torch.set_num_threads(1)
    cases = [{"precision": name, "grad_scaler": scaler, "num_steps": steps, **train(dtype, steps, scaler)}
             for name, dtype, steps, scaler in (
                 ("bf16", torch.bfloat16, 3, None),
                 ("fp16", torch.float16, 6, {"init_scale": 2.0**21, "growth_interval": 2}))]
    path = pathlib.Path(__file__).with_name("mixed_precision.json")
    path.write_text(json.dumps(json.loads(json.dumps(cases), parse_float=lambda x: float(f"{float(x):.9g}"))) + "\n")


if __name__ == "__main__":
    main()
