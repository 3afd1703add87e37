"""Writes resnets.json: numbers of torchvision's ResNeXts and Wide ResNets, timm's ResNet-D, and the ResNets of CIFAR.

    python tests/golden/models/make_resnets.py        # torch 2.11, torchvision 0.26, timm 1.0

Weights, images and what is told of gradients are make_models.py's. The tiny networks, whose gradients are told
whole, have each kind of block and shortcut; resnets_test.cpp builds the same. Of the other models in SUMS there are,
for each part of the network, the norm of all its gradients and their weighted sums added up.

torchvision and timm have no ResNets of CIFAR. They are put together here: He et al.'s (section 4.2) from
torchvision's block, with either shortcut; the nine-layer one after Page's "How to train your ResNet".
"""

import make_models
import numpy as np
import timm
import torch
import torchvision
from make_models import CLASSES, flops, initial, logits_of, numbers_of, rounded, state_summary, summary
from timm.models.resnet import Bottleneck as TimmBottleneck
from timm.models.resnet import ResNet as TimmResNet
from torch import nn
from torchvision.models.resnet import BasicBlock

TORCHVISIONS = ["resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2"]
TIMMS = [f"resnet{depth}d" for depth in (18, 26, 34, 50, 101, 152)] + ["resnet26", "resnet14t"]
CIFARS = [f"resnet{depth}" for depth in (20, 32, 44, 56, 110)]
PROJECTED = "resnet20 projection"

# (model, image size, type in which the numbers are computed, types in which they are compared)
CASES = [
    ("tiny_resnext_d", 32, "float64", ["float64", "float32"]),
    ("tiny_padding", 16, "float64", ["float64", "float32"]),
    ("resnext50_32x4d", 32, "float64", ["float64"]),
    ("resnext50_32x4d", 32, "float32", ["float32"]),
    ("resnet18d", 64, "float64", ["float64", "float32"]),
    ("resnet14t", 32, "float64", ["float64"]),
    ("resnet20", 32, "float64", ["float64", "float32"]),
    (PROJECTED, 32, "float64", ["float64"]),
    ("resnet9", 16, "float64", ["float64", "float32"]),
]
SUMS = {"resnet26d": 32, "resnet34d": 32, "resnet50d": 32, "resnet26": 32, "resnet32": 16,
        "resnet44": 16, "resnet56": 16, "resnet110": 16}
LOGITS = {"resnext101_32x8d": 32, "resnext101_64x4d": 32, "wide_resnet50_2": 32, "wide_resnet101_2": 32,
          "resnet101d": 32, "resnet152d": 32}


class Padding(nn.Module):
    """Every stride-th pixel, and zeros around the channels: option A."""

    def __init__(self, added, stride):
        super().__init__()
        self.added, self.stride = added, stride

    def forward(self, x):
        front = self.added // 2
        return nn.functional.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, front, self.added - front))


class CifarResNet(nn.Module):
    def __init__(self, blocks, num_classes=10, width=16, projects=False, layers=3):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        channels, self.layers = width, [f"layer{i + 1}" for i in range(layers)]
        for i, name in enumerate(self.layers):
            out, layer = width * 2**i, nn.Sequential()
            for block in range(blocks):
                stride = 2 if i and not block else 1
                side = None
                if out != channels and projects:
                    side = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))
                elif out != channels:
                    side = Padding(out - channels, stride)
                layer.append(BasicBlock(channels, out, stride, side))
                channels = out
            self.add_module(name, layer)
        self.fc = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for name in self.layers:
            x = getattr(self, name)(x)
        return self.fc(x.mean((2, 3)))


class Step(nn.Module):
    """Convolution, normalisation, ReLU, then perhaps a pool and two more around a shortcut."""

    def __init__(self, inside, out, is_pooled=False, is_residual=False):
        super().__init__()
        self.conv = nn.Conv2d(inside, out, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(out)
        self.pool = nn.MaxPool2d(2) if is_pooled else nn.Identity()
        self.residual = nn.ModuleDict({"res1": Step(out, out), "res2": Step(out, out)}) if is_residual else None

    def forward(self, x):
        x = self.pool(torch.relu(self.bn(self.conv(x))))
        return x + self.residual["res2"](self.residual["res1"](x)) if self.residual else x


class ResNet9(nn.Module):
    def __init__(self, num_classes=10, image_size=32):
        super().__init__()
        self.prep = Step(3, 64)
        self.layer1 = Step(64, 128, is_pooled=True, is_residual=True)
        self.layer2 = Step(128, 256, is_pooled=True)
        self.layer3 = Step(256, 512, is_pooled=True, is_residual=True)
        self.pool = nn.MaxPool2d(image_size // 8)
        self.linear = nn.Linear(512, num_classes, bias=False)

    def forward(self, x):
        x = self.pool(self.layer3(self.layer2(self.layer1(self.prep(x)))))
        return self.linear(x.flatten(1)) * 0.125


def tiny_resnext_d(num_classes):
    model = TimmResNet(TimmBottleneck, layers=(1, 1), channels=(4, 8), num_classes=num_classes, stem_width=2,
                       stem_type="deep", avg_down=True, cardinality=2, base_width=32)
    model.layer3 = model.layer4 = nn.Identity()
    return model


def make(name, size=224, **options):
    if name == "tiny_resnext_d":
        return tiny_resnext_d(**options)
    if name == "tiny_padding":
        return CifarResNet(1, width=4, layers=2, **options)
    if name == "resnet9":
        return ResNet9(image_size=size, **options)
    if name == PROJECTED or name in CIFARS:
        depth = int(name.split()[0].removeprefix("resnet"))
        return CifarResNet((depth - 2) // 6, projects=name == PROJECTED, **options)
    if name in TORCHVISIONS:
        return getattr(torchvision.models, name)(**options)
    return timm.create_model(name, **options)


def case(name, size, dtype, dtypes):
    is_tiny = name.startswith("tiny_")
    norm_bias = 2.5 if "float32" in dtypes and not is_tiny else 0.0
    model = make(name, size, num_classes=CLASSES).to(getattr(torch, dtype))
    numbers = numbers_of(model, size, dtype, norm_bias, is_tiny)
    return {"model": name, "image_size": size, "dtypes": dtypes, "norm_bias": norm_bias, **numbers}


def sums(name, size):
    """As numbers_of(), with the gradients of each part of the network taken together."""
    model = make(name, size, num_classes=CLASSES).double()
    numbers = numbers_of(model, size, "float64", norm_bias=0.0, is_small=False)
    parts = {}
    for number, (parameter, tensor) in enumerate(model.state_dict(keep_vars=True).items()):
        if tensor.grad is None:
            continue
        norm, weighted, *_ = summary(number, tensor.grad)
        part = parts.setdefault(parameter.split(".")[0], [0.0, 0.0])
        parts[parameter.split(".")[0]] = [float(np.hypot(part[0], norm)), part[1] + weighted]
    kept = {key: numbers[key] for key in ("eval_logits", "logits", "loss", "grad_norm")}
    return rounded({"model": name, "image_size": size, **kept, "parts": parts})


def main():
    torch.set_num_threads(1)
    names = TORCHVISIONS + TIMMS + CIFARS + ["resnet9"]
    make_models.write({
        "made_with": {"torch": torch.__version__, "torchvision": torchvision.__version__,
                      "timm": timm.__version__, "threads": 1},
        "state": {name: state_summary(name, make) for name in names + [PROJECTED]},
        "flops": {name: flops(name, make) for name in names},
        "initial": {name: initial(name, make) for name in ("resnext50_32x4d", "resnet18d", "resnet20", "resnet9")},
        "logits": {name: {"image_size": size, "values": logits_of(make(name, size, num_classes=CLASSES), size)}
                   for name, size in LOGITS.items()},
        "cases": [case(*each) for each in CASES],
        "sums": [sums(*each) for each in SUMS.items()],
    }, "resnets.json")


if __name__ == "__main__":
    main()
