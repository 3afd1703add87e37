"""Writes factorize.json: layers and numbers of Composer's Factorize (mosaicml 0.32.1, torch 2.7.0, torchvision 0.22.0).

    python tests/golden/algorithms/make_factorize.py

What Composer computes, as a contract for the C++:

Which layers. A Conv2d without groups and a Linear with min(inputs, outputs) >= min_channels or min_features, if the
latent size is at most ceil(fan_in * outputs / (fan_in + outputs) - 1), with fan_in = inputs * kernel area. The latent
size is int(setting), or below 1 max(1, int(setting * min(inputs, outputs))).

What they become. A convolution: module0 with its kernel, stride and padding, without bias, to latent channels, and
module1 of 1x1 with a bias, whether the convolution had one or not. A linear layer: module0 without bias, and module1
with the layer's bias, if it has one. All start as torch.nn's layers do, from torch's generator: nothing is taken from the
layer that was there. The functional form has other defaults, so the class's are given here.

What it is with others. SqueezeExcite, Factorize, BlurPool in this order: the weighed layer is module1's output, and of a
strided convolution module0 is blurred. Numbers with all three are in the file.

Names. In the C++ module0 lies below the layer as to_latent, and the layer itself is module1.

What is near a matrix W [in, out]. _svd_initialize gives Wa = U sqrt(s) and Wb = sqrt(s) Vt, cut to the rank, and
factorize_matrix goes on by least squares over samples X: with X = 1, which knows nothing of a layer's inputs, it stays
at that product, which this script asserts. In the C++ the factors are Wa and Wb, transposed. A convolution's matrix is its
weight as [out, fan_in].

The file, in float64 (wave(shape, phase) and chirp(shape, phase) as below):
 - `surgeries`: `model` of torchvision, `options`, `convs` and `linears` that were replaced, all `parameters`, `flops` of
   one image of 224 x 225 as torch's FlopCounterMode counts them. `with_others`: likewise, with SqueezeExcite before and
   BlurPool behind.
 - `rules`: [inputs, outputs, kernel, setting, latent size, whether it is small enough]; kernel 0: a linear layer.
 - `convs`: `options` of a Conv2d, `latent`, `size`, whether all three changed it (`with_others`); input
   wave([2, in, *size], 1), module0 wave(shape, 2), module1 wave(shape, 3), its bias wave(shape, 4), the linear layers of
   SqueezeExcite wave(shape, 6) and wave(shape, 7); `output` and the gradients of the sum of output * wave(its shape, 5).
 - `linears`: likewise, with input wave([3, in], 1).
 - `near`: `weight` is chirp(shape, 1) of this shape, `rank`; the `product` of its factors [out, fan_in] and the singular
   `values` up to the rank.
"""

import json
import math
import pathlib

import torch
import torchvision
from composer.algorithms.blurpool import apply_blurpool
from composer.algorithms.factorize import FactorizedConv2d, FactorizedLinear, apply_factorization
from composer.algorithms.factorize.factorize_core import _svd_initialize, factorize_matrix
from composer.algorithms.factorize.factorize_modules import _clean_latent_size, factorizing_could_speedup
from composer.algorithms.squeeze_excite import apply_squeeze_excite
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

DEFAULTS = {"factorize_convs": True, "factorize_linears": True, "min_channels": 256, "latent_channels": 0.25,
            "min_features": 256, "latent_features": 128}


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def chirp(shape, phase):
    """Of full rank, which a wave is not."""
    values = [0.5 * math.sin(0.7 * i + 0.013 * i * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    return [float(f"{value:.12g}") for value in tensor.detach().reshape(-1).tolist()]


def names_of(model, kind):
    return [key for key, module in model.named_modules() if isinstance(module, kind)]


def surgery(name, options, with_others=False):
    model = getattr(torchvision.models, name)()
    if with_others:
        apply_squeeze_excite(model, latent_channels=64, min_channels=128)
    apply_factorization(model, **{**DEFAULTS, **options})
    found = {"convs": names_of(model, FactorizedConv2d), "linears": names_of(model, FactorizedLinear)}
    if with_others:
        apply_blurpool(model)
        found = {"convs": len(found["convs"]), "linears": len(found["linears"])}
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model.eval()(torch.zeros(1, 3, 224, 225))
    return {"model": name, "options": options, **found, "parameters": sum(p.numel() for p in model.parameters()),
            "flops": counter.get_total_flops()}


def rule(inputs, outputs, kernel, setting):
    layer = nn.Conv2d(inputs, outputs, kernel) if kernel else nn.Linear(inputs, outputs)
    return [inputs, outputs, kernel, setting, _clean_latent_size(setting, inputs, outputs),
            bool(factorizing_could_speedup(layer, setting))]


def set_and_run(module, parameters, x):
    """The output, and gradients of the input and of the parameters, which are set to waves by phase."""
    with torch.no_grad():
        for parameter, phase in parameters.values():
            parameter.copy_(wave(parameter.shape, phase))
    x.requires_grad_()
    output = module(x)
    (output * wave(output.shape, 5.0)).sum().backward()
    return {"output": flat(output), "grad_input": flat(x.grad),
            **{f"grad_{name}": flat(parameter.grad) for name, (parameter, _) in parameters.items()}}


def conv(latent, size, with_others=False, **options):
    holder = nn.Sequential(nn.Conv2d(**options))
    if with_others:
        apply_squeeze_excite(holder, latent_channels=2, min_channels=1)
    apply_factorization(holder, **{**DEFAULTS, "min_channels": 1, "latent_channels": latent, "factorize_linears": False})
    module = holder[0].conv if with_others else holder[0]
    assert isinstance(module, FactorizedConv2d)
    if with_others:
        apply_blurpool(holder, min_channels=1)
    holder.double()
    first = module.module0.conv if with_others else module.module0
    parameters = {"first": (first.weight, 2.0), "second": (module.module1.weight, 3.0), "bias": (module.module1.bias, 4.0)}
    if with_others:
        mlp = holder[0].se.pool_and_mlp
        parameters |= {"fc1": (mlp[2].weight, 6.0), "fc2": (mlp[4].weight, 7.0)}
    x = wave([2, options["in_channels"], *size], 1.0)
    return {"options": options, "latent": latent, "size": size, "with_others": with_others,
            **set_and_run(holder, parameters, x)}


def linear(latent, **options):
    holder = nn.Sequential(nn.Linear(**options))
    apply_factorization(holder, **{**DEFAULTS, "min_features": 1, "latent_features": latent})
    module = holder.double()[0]
    assert isinstance(module, FactorizedLinear)
    parameters = {"first": (module.module0.weight, 2.0), "second": (module.module1.weight, 3.0)}
    if options["bias"]:
        parameters["bias"] = (module.module1.bias, 4.0)
    return {"options": options, "latent": latent,
            **set_and_run(holder, parameters, wave([3, options["in_features"]], 1.0))}


def near(shape, rank):
    matrix = chirp(shape, 1.0).reshape(shape[0], -1).T.contiguous()
    values = torch.linalg.svdvals(matrix)[:rank]
    first, second = _svd_initialize(matrix, None, rank)
    solution = factorize_matrix(torch.eye(len(matrix), dtype=torch.float64), matrix, matrix, rank=rank)
    assert torch.allclose(solution.Wa @ solution.Wb, first @ second, rtol=0, atol=1e-10)
    return {"weight": list(shape), "rank": rank, "product": flat((first @ second).T), "values": flat(values)}


def main():
    surgeries = [surgery(name, options) for name, options in (
        ("resnet50", {}),
        ("resnet50", {"factorize_linears": False, "min_channels": 64, "latent_channels": 0.5}),
        ("resnet18", {"min_channels": 64, "latent_channels": 100, "latent_features": 0.25}),
        ("resnet18", {"factorize_convs": False, "latent_features": 339}),
        ("resnet18", {"min_channels": 512, "latent_features": 338}))]
    assert len(surgeries[0]["convs"]) == 30 and surgeries[0]["linears"] == ["fc"]
    assert surgeries[0]["parameters"] == 8_536_616
    with_others = [surgery("resnet50", {}, with_others=True)]
    rules = [rule(*case) for case in (
        (64, 64, 1, 0.25), (64, 64, 1, 31), (64, 64, 1, 32), (64, 64, 3, 57), (64, 64, 3, 58), (3, 64, 7, 0.25),
        (4, 4, 1, 1), (2, 2, 1, 1), (2, 3, 1, 0.9), (8, 8, 0, 3), (8, 8, 0, 4), (512, 1000, 0, 338), (512, 1000, 0, 339),
        (6, 3, 0, 1), (6, 3, 0, 2), (100, 7, 5, 0.99))]
    plain = {"in_channels": 6, "out_channels": 5, "kernel_size": 3, "padding": 1, "bias": False}
    convs = [conv(2, [5, 4], **plain), conv(0.5, [6, 5], **{**plain, "stride": 2}),
             conv(3, [4, 4], **{**plain, "padding": 0, "bias": True}), conv(1, [3, 4], **{**plain, "kernel_size": 1, "padding": 0}),
             conv(2, [6, 5], with_others=True, **{**plain, "stride": 2}),
             conv(2, [5, 5], with_others=True, **{**plain, "stride": 2, "bias": True})]
    linears = [linear(2, in_features=6, out_features=5, bias=True), linear(0.4, in_features=5, out_features=7, bias=False)]
    nears = [near([7, 9], 3), near([9, 7], 6), near([6, 3, 3, 3], 2), near([5, 8, 1, 1], 4)]
    path = pathlib.Path(__file__).with_name("factorize.json")
    path.write_text(json.dumps({"surgeries": surgeries, "with_others": with_others, "rules": rules, "convs": convs,
                                "linears": linears, "near": nears}) + "\n")


if __name__ == "__main__":
    main()
