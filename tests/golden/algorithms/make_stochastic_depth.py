"""Writes stochastic_depth.json: rates and numbers of Composer's StochasticDepth (mosaicml 0.32.1, torch 2.7.0,
torchvision 0.22.0).

    python tests/golden/algorithms/make_stochastic_depth.py

What Composer computes, as a contract for the C++:

Which blocks. Instances of torchvision's Bottleneck, in order of registration, i from 0 to n - 1. The rate of block i is
drop_rate * (i + 1) / n ("linear") or drop_rate ("uniform").

"block", in training: one draw for each block and batch. A block that is dropped gives relu(downsample(x)) where it has
one, else x itself; its branch does not run, so running statistics stay and its parameters get no gradient. One that is
kept is not scaled. "sample": the branch, without its ReLU, is multiplied by floor(1 - rate + u), u drawn for each sample.

In evaluation the branch is multiplied by 1 - rate, under both.

The file, in float64 (wave(shape, phase) as below), of three Bottlenecks in a row, 4 -> 8 channels with stride 2 and twice
8 -> 8, parameter k of named_parameters() being wave(shape, k), input wave([4, 4, 6, 5], 1):
 - `rates`: of the blocks of torchvision's resnet50, `names` among them.
 - `steps`: what is `kept`, for "block" of each block, for "sample" of each block and sample; `output`, `grad_input` and
   `grads` of all parameters by name (zeros where Composer has none) of the sum of output * wave(its shape, 5), and
   the `buffers` afterwards but for counters.
 - `evaluation`: `drop_rate` (linear), of which the rates are exact in the float32 that Composer keeps them in, and `output`.
"""

import json
import math
import pathlib

import torch
import torchvision
from composer.algorithms.stochastic_depth import apply_stochastic_depth
from torch import nn
from torchvision.models.resnet import Bottleneck

NUM_SAMPLES = 4


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    return [float(f"{value:.12g}") for value in tensor.detach().reshape(-1).tolist()]


def blocks_with(method, drop_rate):
    downsample = nn.Sequential(nn.Conv2d(4, 8, 1, 2, bias=False), nn.BatchNorm2d(8))
    model = nn.Sequential(Bottleneck(4, 2, 2, downsample), Bottleneck(8, 2), Bottleneck(8, 2)).double()
    with torch.no_grad():
        for phase, (_, parameter) in enumerate(model.named_parameters()):
            parameter.copy_(wave(parameter.shape, phase))
    apply_stochastic_depth(model, "ResNetBottleneck", method, drop_rate, "linear")
    return model


def step(method, kept):
    model = blocks_with(method, 0.5)
    draws = []
    for block, keeps in zip(model, kept):
        if method == "block":
            block.drop_rate = torch.tensor(0.0 if keeps else 1.0)
        else:
            block.drop_rate = torch.tensor(0.5, dtype=torch.float64)
            draws.append(torch.tensor([0.75 if keep else 0.25 for keep in keeps], dtype=torch.float64).reshape(-1, 1, 1, 1))
    plain_rand, remaining = torch.rand, iter(draws)
    torch.rand = lambda *_, **__: next(remaining).clone()
    try:
        x = wave([NUM_SAMPLES, 4, 6, 5], 1.0).requires_grad_()
        output = model(x)
    finally:
        torch.rand = plain_rand
    (output * wave(output.shape, 5.0)).sum().backward()
    grads = {name: flat(torch.zeros_like(value) if value.grad is None else value.grad)
             for name, value in model.named_parameters()}
    buffers = {name: flat(value) for name, value in model.named_buffers() if value.is_floating_point() and value.dim() == 1}
    return {"method": method, "kept": kept, "output": flat(output), "grad_input": flat(x.grad), "grads": grads,
            "buffers": buffers}


def evaluation(drop_rate):
    model = blocks_with("block", drop_rate).eval()
    return {"drop_rate": drop_rate, "output": flat(model(wave([NUM_SAMPLES, 4, 6, 5], 1.0)))}


def rates(drop_rate, distribution):
    model = torchvision.models.resnet50()
    apply_stochastic_depth(model, "ResNetBottleneck", "block", drop_rate, distribution)
    found = {name: float(module.drop_rate) for name, module in model.named_modules() if isinstance(module, Bottleneck)}
    return {"drop_rate": drop_rate, "distribution": distribution, "names": list(found), "rates": list(found.values())}


def main():
    steps = [step("block", kept) for kept in ([1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0])]
    steps += [step("sample", [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]])]
    path = pathlib.Path(__file__).with_name("stochastic_depth.json")
    path.write_text(json.dumps({"rates": [rates(0.2, "linear"), rates(0.3, "uniform")], "steps": steps,
                                "evaluation": evaluation(0.375)}) + "\n")


if __name__ == "__main__":
    main()
