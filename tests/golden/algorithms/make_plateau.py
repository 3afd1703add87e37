"""Writes plateau.json from torch.optim.lr_scheduler.ReduceLROnPlateau (torch 2.11.0): python make_plateau.py"""
import json
import math
import pathlib

import torch

HERE = pathlib.Path(__file__).parent
NUM_EVALUATIONS = 60


def metrics(kind):
    """A metric that improves at first, then hardly, with a wave on it and a value that is no number."""
    values = []
    for i in range(NUM_EVALUATIONS):
        value = 0.5 + 2.0 * math.exp(-i / 6.0) + 0.01 * math.sin(2.3 * i)
        values.append(value if kind == "min" else -0.3 * value if i % 7 else 1.0 - 0.3 * value)
    values[11] = math.nan
    return values


def run(options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, eps=0.0, **options)
    factors = []
    for value in metrics(options["mode"]):
        scheduler.step(value)
        factors.append(optimizer.param_groups[0]["lr"])
    return factors


if __name__ == "__main__":
    cases = [
        {"mode": "min", "factor": 0.1, "patience": 4},
        {"mode": "min", "factor": 0.5, "patience": 2, "cooldown": 3},
        {"mode": "min", "factor": 0.5, "patience": 0, "threshold": 0.01, "min_lr": 0.01},
        {"mode": "min", "factor": 0.3, "patience": 3, "threshold": 0.05, "threshold_mode": "abs"},
        {"mode": "max", "factor": 0.5, "patience": 2, "threshold": 0.02},
        {"mode": "max", "factor": 0.2, "patience": 1, "cooldown": 1, "threshold": 0.02, "threshold_mode": "abs"},
    ]
    content = [{"options": case, "metrics": [None if math.isnan(v) else v for v in metrics(case["mode"])],
                "factors": run(case)} for case in cases]
    (HERE / "plateau.json").write_text(json.dumps(content) + "\n")
