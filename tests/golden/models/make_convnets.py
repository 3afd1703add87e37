"""Writes convnets.json: numbers of timm's ConvNeXts and torchvision's MobileNetV3s and EfficientNets.

    python tests/golden/models/make_convnets.py        # torch 2.11, torchvision 0.26, timm 1.0

Weights, images and what is told of gradients are make_models.py's. The tiny networks, whose gradients are
told whole, have each kind of block; convnets_test.cpp builds the same.
"""

import math
from functools import partial

import make_models
import timm
import torch
import torchvision
from make_models import CLASSES, flops, initial, logits_of, numbers_of, state_summary
from torchvision.models.efficientnet import EfficientNet, FusedMBConvConfig, MBConvConfig
from torchvision.models.mobilenetv3 import InvertedResidualConfig, MobileNetV3

CONVNEXTS = [f"convnext_{size}" for size in ("tiny", "small", "base", "large")]
CONVNEXTS += [f"convnextv2_{size}" for size in ("atto", "femto", "pico", "nano", "tiny", "small", "base", "large")]
MOBILENETS = ["mobilenet_v3_small", "mobilenet_v3_large"]
EFFICIENTNETS = [f"efficientnet_{size}" for size in ("b0", "b1", "b2", "b3", "b4", "v2_s")]
NAMES = CONVNEXTS + MOBILENETS + EFFICIENTNETS

TINY_CONVNEXT = {"depths": (1, 1, 2, 1), "dims": (4, 4, 6, 8)}

# (model, image size, type in which the numbers are computed, types in which they are compared)
CASES = [
    ("tiny_convnext", 64, "float64", ["float64", "float32"]),
    ("tiny_convnextv2", 64, "float64", ["float64", "float32"]),
    ("tiny_mobilenet", 16, "float64", ["float64", "float32"]),
    ("tiny_efficientnet", 16, "float64", ["float64", "float32"]),
    ("convnextv2_atto", 32, "float64", ["float64"]),
    ("convnext_tiny", 32, "float32", ["float32"]),
    ("mobilenet_v3_small", 64, "float64", ["float64"]),
    ("efficientnet_b0", 64, "float64", ["float64"]),
]
LOGITS = {"mobilenet_v3_large": 96, "efficientnet_b1": 96, "efficientnet_v2_s": 96, "convnextv2_tiny": 64}


def tiny_mobilenet(num_classes):
    row = partial(InvertedResidualConfig, width_mult=1.0)
    rows = [row(16, 3, 16, 8, True, "RE", 1, 1), row(8, 5, 24, 8, True, "HS", 2, 1),
            row(8, 3, 16, 8, False, "RE", 1, 1)]
    return MobileNetV3(rows, last_channel=16, num_classes=num_classes, dropout=0.0)


def scaled_mobilenet(name, width_mult):
    return MobileNetV3(*torchvision.models.mobilenetv3._mobilenet_v3_conf(name, width_mult=width_mult))


def tiny_efficientnet(num_classes):
    rows = [FusedMBConvConfig(1, 3, 1, 8, 8, 1), FusedMBConvConfig(2, 3, 2, 8, 8, 1),
            MBConvConfig(3, 3, 1, 8, 8, 2), MBConvConfig(1, 5, 2, 8, 16, 1)]
    norm = partial(torch.nn.BatchNorm2d, eps=1e-3)
    return EfficientNet(rows, dropout=0.0, stochastic_depth_prob=0.0, num_classes=num_classes, norm_layer=norm,
                        last_channel=16)


def make(name, num_classes=1000):
    """Without anything that is dropped in training."""
    if name == "tiny_convnext":
        return timm.models.convnext.ConvNeXt(num_classes=num_classes, **TINY_CONVNEXT)
    if name == "tiny_convnextv2":
        return timm.models.convnext.ConvNeXt(num_classes=num_classes, use_grn=True, ls_init_value=None, conv_mlp=True,
                                             **TINY_CONVNEXT)
    if name.startswith("tiny"):
        return globals()[name](num_classes)
    if name.startswith("convnext"):
        return timm.create_model(name, num_classes=num_classes)
    options = {"stochastic_depth_prob": 0.0} if name.startswith("efficientnet") else {}
    return getattr(torchvision.models, name)(num_classes=num_classes, dropout=0.0, **options)


def run_case(name, size, dtype_name, compared):
    model = make(name, CLASSES).to(getattr(torch, dtype_name))
    numbers = numbers_of(model, size, dtype_name, norm_bias=0.0, is_small=name.startswith("tiny"))
    for parameter, gradient in numbers.get("whole_gradients", {}).items():
        decimals = 11 - math.floor(math.log10(max(map(abs, gradient))))  # a tenth of what the tests allow
        numbers["whole_gradients"][parameter] = [round(value, decimals) for value in gradient]
    return {"model": name, "image_size": size, "dtypes": compared, **numbers}


def main():
    torch.set_num_threads(1)
    make_models.write({
        "made_with": {"torch": torch.__version__, "torchvision": torchvision.__version__,
                      "timm": timm.__version__, "threads": 1},
        "state": {name: state_summary(name, make) for name in NAMES},
        "scaled": {"model": "mobilenet_v3_large", "width_mult": 0.35,
                   **state_summary("mobilenet_v3_large", partial(scaled_mobilenet, width_mult=0.35))},
        "flops": {name: flops(name, make) for name in NAMES},
        "initial": {name: initial(name, make) for name in ("convnextv2_atto", "mobilenet_v3_small", "efficientnet_b0")},
        # On their way through the deepest of them rounding errors grow ten million times.
        "logits": {name: {"image_size": size, "values": logits_of(make(name, CLASSES), size, torch.float64)}
                   for name, size in LOGITS.items()},
        "cases": [run_case(*case) for case in CASES],
    }, "convnets.json")


if __name__ == "__main__":
    main()
