#!/usr/bin/env python3
"""Writes the table of the weights that torchvision publishes, from the torchvision that is installed:

    ~/.cache/paceline/peers/bin/python tools/torchvision_weights.py > src/paceline/pretrained/torchvision_table.inc

One line for each member of the enums of weights of its classification models that has an ImageNet top-1.
"""

import torchvision
from torchvision import models

URL = "https://download.pytorch.org/models/"


def rows():
    """(model, weights, file, top-1, resize, crop, interpolation, mean, std, whether it is DEFAULT)"""
    for model in models.list_models(module=models):
        weights = models.get_model_weights(model)
        for member in weights:
            top1 = member.meta["_metrics"].get("ImageNet-1K", {}).get("acc@1")
            if top1 is None or top1 != top1:
                continue
            assert member.url.startswith(URL), member.url
            preset = member.transforms()
            yield (model, member.name, member.url.removeprefix(URL), top1, preset.resize_size[0], preset.crop_size[0],
                   preset.interpolation.value, tuple(preset.mean), tuple(preset.std), member == weights.DEFAULT)


def line(row):
    model, weights, file, top1, resize, crop, interpolation, mean, std, is_default = row
    usual = mean == (0.485, 0.456, 0.406) and std == (0.229, 0.224, 0.225)
    numbers = "" if usual else ", {{{}}}, {{{}}}".format(*(", ".join(map(str, part)) for part in (mean, std)))
    return (f'{{"{model}", "{weights}", "{file}", {top1}, {resize}, {crop}, "{interpolation}", '
            f'{str(is_default).lower()}{numbers}}},')


if __name__ == "__main__":
    print(f"// Of torchvision {torchvision.__version__.split('+')[0]}, by tools/torchvision_weights.py.")
    print("// clang-format off")
    for row in rows():
        print(line(row))
    print("// clang-format on")
