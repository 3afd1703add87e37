"""Writes fresh_statistics.json: running statistics as torch.optim.swa_utils.update_bn computes them (torch 2.11, CPU).

    python tests/golden/parallel/make_fresh_statistics.py

The network is a convolution, a BatchNorm, a ReLU, and the same again without the ReLU, all in float64. Parameter number n
is wave(shape, n), BatchNorm's weights one more; batch number b holds images 2 * wave([size, 3, 6, 6], 20 + b) + b / 3.

The file: `cases`, each with `sizes` of the batches, and of the first and second BatchNorm `mean`, `variance` and
`num_batches`.
"""
import json
import math
import pathlib

import torch


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def make_net():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1, bias=False), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
        torch.nn.Conv2d(4, 5, 3, stride=2, padding=1, bias=False), torch.nn.BatchNorm2d(5)).double()
    with torch.no_grad():
        for n, parameter in enumerate(net.parameters()):
            parameter.copy_(wave(parameter.shape, n))
        for norm in (net[1], net[4]):
            norm.weight.add_(1)
            norm.running_mean.fill_(7)
    return net


def case(sizes):
    net = make_net()
    batches = [2 * wave([size, 3, 6, 6], 20 + b) + b / 3 for b, size in enumerate(sizes)]
    torch.optim.swa_utils.update_bn(batches, net)
    norms = [{"mean": norm.running_mean.tolist(), "variance": norm.running_var.tolist(),
              "num_batches": int(norm.num_batches_tracked)} for norm in (net[1], net[4])]
    return {"sizes": sizes, "norms": norms}


golden = {"cases": [case([6, 6, 6]), case([7]), case([6, 6, 1])]}
(pathlib.Path(__file__).parent / "fresh_statistics.json").write_text(json.dumps(golden) + "\n")
