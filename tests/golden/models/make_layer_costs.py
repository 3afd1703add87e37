"""Writes layer_costs.json: what fvcore counts of each layer of timm's and torchvision's models.

    python tests/golden/models/make_layer_costs.py     # torch 2.11, torchvision 0.26, timm 1.0, fvcore 0.1

Of a layer it is the multiply-accumulates of its convolution, linear layer or products of matrices, for one image;
of a model also how many numbers these give out (of a ViT fvcore counts the products inside the attention, which a
fused one never has, so there it is left out).
"""

import json
import logging
from pathlib import Path

import timm
import torch
import torchvision
from fvcore.nn import ActivationCountAnalysis, FlopCountAnalysis

MULTIPLIES = {"conv", "linear", "addmm", "matmul", "bmm", "einsum"}
MODELS = {
    "resnet18": (torchvision.models.resnet18, (64, 96)),
    "resnet50d": (lambda: timm.create_model("resnet50d"), (64, 64)),
    "resnext50_32x4d": (torchvision.models.resnext50_32x4d, (64, 64)),
    "convnextv2_atto": (lambda: timm.create_model("convnextv2_atto"), (64, 96)),
    "mobilenet_v3_small": (torchvision.models.mobilenet_v3_small, (65, 64)),
    "efficientnet_v2_s": (torchvision.models.efficientnet_v2_s, (64, 64)),
    "vit_tiny_patch16_224": (lambda: timm.create_model("vit_tiny_patch16_224"), (224, 224)),
}


def layers_of(model, image):
    counts = FlopCountAnalysis(model, image).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    by_module = counts.by_module_and_operator()
    layers = {}
    for name, module in model.named_modules():
        below = set(by_module[name]) and [child for child, _ in module.named_children()]
        own = by_module[name].copy()
        for child in below or []:
            own.subtract(by_module[f"{name}.{child}" if name else child])
        macs = sum(count for operator, count in own.items() if operator in MULTIPLIES)
        if macs:
            layers[name] = macs
    return layers


def main():
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    timm.layers.set_fused_attn(False)  # fvcore knows no scaled_dot_product_attention
    numbers = {}
    for name, (make, size) in MODELS.items():
        model = make().eval()
        image = torch.zeros(1, 3, *size)
        numbers[name] = {"size": size, "layers": layers_of(model, image)}
        if not name.startswith("vit"):
            numbers[name]["activations"] = ActivationCountAnalysis(model, image).total()
    path = Path(__file__).with_name("layer_costs.json")
    path.write_text(json.dumps(numbers, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
