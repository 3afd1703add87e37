"""Writes layer_decay.json: the factors on the learning rate that timm 1.0.31 gives parameters: python make_layer_decay.py"""
import json
import pathlib

import timm
from timm.optim import param_groups_layer_decay

HERE = pathlib.Path(__file__).parent


def factors(model, decay):
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = param_groups_layer_decay(model, layer_decay=decay)
    return {names[id(parameter)]: group["lr_scale"] for group in groups for parameter in group["params"]}


if __name__ == "__main__":
    content = {"resnet18": factors(timm.create_model("resnet18", num_classes=2), 0.8),
               "convnextv2_atto": factors(timm.create_model("convnextv2_atto", num_classes=2), 0.8),
               "vit_tiny_patch16_224": factors(timm.create_model("vit_tiny_patch16_224", num_classes=2), 0.75)}
    (HERE / "layer_decay.json").write_text(json.dumps(content, indent=1) + "\n")
