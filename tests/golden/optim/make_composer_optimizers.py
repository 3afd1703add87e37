"""Writes composer_optimizers.json: fifty steps of Composer's optimizers (mosaicml 0.32.1, torch 2.7.0), as optimizers.json.

    python tests/golden/optim/make_composer_optimizers.py

Weight decay is multiplied by the learning rate over the one that the optimizer was made with.
"""
import json
import math
import pathlib

import torch
from composer.optim import DecoupledAdamW, DecoupledSGDW

HERE = pathlib.Path(__file__).parent
SHAPES = [[5, 3], [7], [2, 2, 3, 3]]
NUM_STEPS = 50
LR = 0.1

CASES = [
    ("decoupled_sgdw", DecoupledSGDW, {"momentum": 0.0, "weight_decay": 0.05}),
    ("decoupled_sgdw", DecoupledSGDW, {"momentum": 0.9, "weight_decay": 0.05}),
    ("decoupled_sgdw", DecoupledSGDW, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("decoupled_sgdw", DecoupledSGDW, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05}),
    ("decoupled_adamw", DecoupledAdamW, {"betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.05}),
    ("decoupled_adamw", DecoupledAdamW, {"betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.0}),
]
STATE = {"decoupled_sgdw": ("momentum_buffer",), "decoupled_adamw": ("exp_avg", "exp_avg_sq")}


def wave(shape, phase, dtype):
    """The numbers that the C++ test makes too: sin(0.37 * (i + 1) + phase)."""
    values = [math.sin(0.37 * (i + 1) + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)


def run(name, kind, options, dtype):
    options = dict(options)
    decay = options.pop("weight_decay")
    params = [torch.nn.Parameter(wave(shape, 10.0 * p, dtype)) for p, shape in enumerate(SHAPES)]
    groups = [{"params": params[0::2], "weight_decay": decay}, {"params": params[1:2], "weight_decay": 0.0}]
    optimizer = kind(groups, lr=LR, **options)
    for step in range(NUM_STEPS):
        for p, param in enumerate(params):
            param.grad = wave(SHAPES[p], 10.0 * p + step + 1, dtype)
        for group in optimizer.param_groups:
            group["lr"] = LR / (step + 1)
        optimizer.step()
    state = {each: [optimizer.state[param][each].flatten().tolist() for param in params] for each in STATE[name]
             if torch.is_tensor(optimizer.state[params[0]].get(each))}
    return {"params": [param.detach().flatten().tolist() for param in params], "state": state}


cases = [{"name": name, "options": options, "dtype": str(dtype).removeprefix("torch."), **run(name, kind, options, dtype)}
         for name, kind, options in CASES for dtype in (torch.float64, torch.float32)]
(HERE / "composer_optimizers.json").write_text(json.dumps(cases) + "\n")
