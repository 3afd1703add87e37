"""Writes timm_clipping.json: gradients as timm 1.0.31's adaptive clipping leaves them, with its floor.

    python tests/golden/parallel/make_timm_clipping.py

Weights and gradients are those of make_adaptive_clipping.py.
"""
import json
import math
import pathlib

import torch
from timm.utils.agc import adaptive_clip_grad

SHAPES = [[4, 3, 2, 2], [5, 7], [6], [3, 2, 4], [3, 4]]
THRESHOLDS = [0.01, 0.8, 3.0]
FLOOR = 1e-3


def wave(shape, phase):
    values = [math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def clipped(threshold):
    last = len(SHAPES) - 1
    weights = [torch.nn.Parameter(wave(shape, n) * (n != last)) for n, shape in enumerate(SHAPES)]
    for n, weight in enumerate(weights):
        weight.grad = wave(SHAPES[n], 10 + n)
    adaptive_clip_grad(weights, clip_factor=threshold, eps=FLOOR)
    return [weight.grad.flatten().tolist() for weight in weights]


golden = [{"threshold": threshold, "floor": FLOOR, "gradients": clipped(threshold)} for threshold in THRESHOLDS]
(pathlib.Path(__file__).parent / "timm_clipping.json").write_text(json.dumps(golden) + "\n")
