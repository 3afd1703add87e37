"""Writes ghost_batchnorm.json: numbers of Composer's GhostBatchNorm (mosaicml 0.32.1, torch 2.7.0).

    python tests/golden/algorithms/make_ghost_batchnorm.py

What Composer computes, as a contract for the C++:

Which layers. Every BatchNorm1d, 2d and 3d, exactly these classes and no subclass, whether or not it trains. The norm
lies one level deeper, "batchnorm" in the replacement: bn1.weight becomes bn1.batchnorm.weight. A model without any is
left as it is.

Forward, in training and in evaluation: a batch of N below ghost_batch_size is an error (ValueError), also in
evaluation, where it changes nothing else. n = ceil(N / ghost_batch_size) parts of ceil(N / n) samples, the last one
smaller (torch.chunk, which makes exactly n). In training each part goes through the norm in turn with the momentum
divided by n: its own statistics normalise it and move the running ones. num_batches_tracked counts parts; nothing
looks at it. The C++ counts batches.

The file, in float64 (wave(shape, phase) as below): `cases`, each with `ghost_batch_size`, the `shape` of the input
wave(shape, 1), `momentum`, and after two training batches (wave(shape, 1), then wave(shape, 2)) the `output` of the
first, the gradients of sum(output * wave(shape, 5)) of the first (`grad_input`, `grad_weight`, `grad_bias`),
`running_mean` and `running_var`, and then the output of an evaluation of wave(shape, 3) (`evaluated`). Weight and bias
are wave([C], 2) + 1 and wave([C], 3).
"""

import json
import math
import pathlib

import torch
from composer.algorithms.ghost_batchnorm import apply_ghost_batchnorm
from torch import nn


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    return [float(f"{value:.12g}") for value in tensor.detach().reshape(-1).tolist()]


def run(ghost_batch_size, shape, momentum):
    model = nn.Sequential(nn.BatchNorm2d(shape[1], momentum=momentum)).double()
    apply_ghost_batchnorm(model, ghost_batch_size)
    norm = model[0].batchnorm
    with torch.no_grad():
        norm.weight.copy_(wave([shape[1]], 2.0) + 1)
        norm.bias.copy_(wave([shape[1]], 3.0))
    x = wave(shape, 1.0).requires_grad_()
    output = model(x)
    (output * wave(shape, 5.0)).sum().backward()
    model(wave(shape, 2.0))
    num_parts = math.ceil(shape[0] / ghost_batch_size)
    assert norm.num_batches_tracked == 2 * num_parts and norm.momentum == momentum
    result = {"ghost_batch_size": ghost_batch_size, "shape": shape, "momentum": momentum, "output": flat(output),
              "grad_input": flat(x.grad), "grad_weight": flat(norm.weight.grad), "grad_bias": flat(norm.bias.grad),
              "running_mean": flat(norm.running_mean), "running_var": flat(norm.running_var)}
    result["evaluated"] = flat(model.eval()(wave(shape, 3.0)))
    return result


def assert_small_batches_are_refused():
    model = nn.Sequential(nn.BatchNorm2d(2))
    apply_ghost_batchnorm(model, 3)
    try:
        model.eval()(torch.ones(2, 2, 2, 2))
    except ValueError:
        return
    raise AssertionError("Composer now takes batches below ghost_batch_size: mend the text above")


def main():
    assert_small_batches_are_refused()
    cases = [run(2, [4, 3, 2, 2], 0.1), run(2, [5, 3, 2, 3], 0.1), run(5, [6, 2, 3, 2], 0.2), run(3, [10, 2, 2, 2], 0.1),
             run(4, [4, 2, 2, 2], 0.1), run(1, [3, 2, 2, 2], 0.3)]
    path = pathlib.Path(__file__).with_name("ghost_batchnorm.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
