"""Writes squeeze_excite.json: layers and numbers of Composer's SqueezeExcite (mosaicml 0.32.1, torch 2.7.0,
torchvision 0.22.0).

    python tests/golden/algorithms/make_squeeze_excite.py

What Composer computes, as a contract for the C++:

Which layers. Each module whose class is Conv2d itself, in order of registration, with min(in_channels, out_channels)
>= min_channels: neither kernel size, stride nor groups are asked for, so 1x1 projections are among them. A model in
which nothing is replaced gives a warning.

What follows them, at the output y [N, C, H, W] of the convolution, its bias included: means over H and W; a linear
layer to L numbers, ReLU, a linear layer to C numbers, both without bias; sigmoid; y is multiplied by that, channel by
channel. L = int(latent_channels), or below 1 int(latent_channels * C). Both linear layers start as torch.nn.Linear
does, drawn from torch's generator.

Names. The convolution lies one level deeper, "conv" in the replacement; the linear layers are se.pool_and_mlp.2 and
se.pool_and_mlp.4 beside it. In the C++ they lie below the convolution, which keeps its name: se.fc1 and se.fc2, as
convolutions of 1x1 with the same numbers.

The file, in float64 (wave(shape, phase) as below):
 - `surgeries`: `model` of torchvision, `options`, `convs` that were replaced, the number of `parameters` added, `flops`
   of one image of 224 x 225 as torch's FlopCounterMode counts them.
 - `convs`: `options` of a Conv2d, `latent_channels`, `size`; input wave([2, in, *size], 1), weight wave(shape, 2),
   bias wave(shape, 3), the linear layers wave(shape, 4) and wave(shape, 6); `output` and the gradients `grad_input`,
   `grad_weight`, `grad_fc1`, `grad_fc2` of the sum of output * wave(its shape, 5).
"""

import json
import math
import pathlib

import torch
import torchvision
from composer.algorithms.squeeze_excite import SqueezeExciteConv2d, apply_squeeze_excite
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    return [float(f"{value:.12g}") for value in tensor.detach().reshape(-1).tolist()]


def num_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


def surgery(name, options):
    model = getattr(torchvision.models, name)()
    before = num_parameters(model)
    apply_squeeze_excite(model, **options)
    convs = [key for key, module in model.named_modules() if isinstance(module, SqueezeExciteConv2d)]
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model.eval()(torch.zeros(1, 3, 224, 225))
    return {"model": name, "options": options, "convs": convs, "parameters": num_parameters(model) - before,
            "flops": counter.get_total_flops()}


def conv(latent_channels, size, **options):
    holder = nn.Sequential(nn.Conv2d(**options))
    apply_squeeze_excite(holder, latent_channels=latent_channels, min_channels=1)
    module = holder.double()[0]
    first, second = module.se.pool_and_mlp[2], module.se.pool_and_mlp[4]
    with torch.no_grad():
        for parameter, phase in ((module.conv.weight, 2.0), (module.conv.bias, 3.0), (first.weight, 4.0),
                                 (second.weight, 6.0)):
            if parameter is not None:
                parameter.copy_(wave(parameter.shape, phase))
    x = wave([2, options["in_channels"], *size], 1.0).requires_grad_()
    output = module(x)
    (output * wave(output.shape, 5.0)).sum().backward()
    return {"options": options, "latent_channels": latent_channels, "size": size, "output": flat(output),
            "grad_input": flat(x.grad), "grad_weight": flat(module.conv.weight.grad),
            "grad_fc1": flat(first.weight.grad), "grad_fc2": flat(second.weight.grad)}


def main():
    surgeries = [surgery(name, options) for name, options in (
        ("resnet18", {"latent_channels": 64, "min_channels": 128}),
        ("resnet18", {"latent_channels": 0.125, "min_channels": 256}),
        ("resnet50", {"latent_channels": 64, "min_channels": 128}))]
    assert len(surgeries[2]["convs"]) == 42 and surgeries[2]["parameters"] == 3_211_264
    plain = {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "padding": 1, "bias": False}
    convs = [conv(2, [5, 4], **plain), conv(0.5, [6, 5], **{**plain, "stride": 2}), conv(3, [4, 4], **{**plain, "bias": True}),
             conv(0.3, [3, 3], **{**plain, "in_channels": 4, "groups": 2})]
    path = pathlib.Path(__file__).with_name("squeeze_excite.json")
    path.write_text(json.dumps({"surgeries": surgeries, "convs": convs}) + "\n")


if __name__ == "__main__":
    main()
