"""Writes adaptive_clipping.json: gradients as Composer's adaptive clipping leaves them (mosaicml 0.32.1, torch 2.7.0).

    python tests/golden/parallel/make_adaptive_clipping.py

Weights of shape number n are wave(shape, n), but zeros for the last, gradients wave(shape, 10 + n), all in float64.
"""
import json
import math
import pathlib

import torch
from composer.algorithms.gradient_clipping import apply_gradient_clipping

SHAPES = [[4, 3, 2, 2], [5, 7], [6], [3, 2, 4], [3, 4]]
THRESHOLDS = [0.01, 0.8, 3.0]


def wave(shape, phase):
    values = [math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        last = len(SHAPES) - 1
        self.weights = torch.nn.ParameterList(wave(shape, n) * (n != last) for n, shape in enumerate(SHAPES))


def clipped(threshold):
    net = Net()
    for n, weight in enumerate(net.weights):
        weight.grad = wave(SHAPES[n], 10 + n)
    apply_gradient_clipping(net, clipping_type="adaptive", clipping_threshold=threshold, fsdp_enabled=False)
    return [weight.grad.flatten().tolist() for weight in net.weights]


golden = [{"threshold": threshold, "floor": 0, "gradients": clipped(threshold)} for threshold in THRESHOLDS]
(pathlib.Path(__file__).parent / "adaptive_clipping.json").write_text(json.dumps(golden) + "\n")
