"""Writes losses.json: what losses of torch, timm and torchvision, and the papers' formulas, make of a few samples.

    python tests/golden/nn/make_losses.py        # torch 2.11, torchvision 0.26, timm 1.0.31

Outputs and targets are functions of their indices (see `wave`), which losses_test.cpp repeats. Each sample's loss is
that of a batch of it alone, and gradients are of the sum over the samples.
"""

import json
import math
import pathlib

import torch
from torch.nn import functional as F
from timm.loss import BinaryCrossEntropy, JsdCrossEntropy
from torchvision.ops import sigmoid_focal_loss

ROWS, CLASSES = 6, 5
WEIGHTS = [0.5, 1.0, 2.0, 0.0, 1.5]


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def targets_of(kind, dtype):
    if kind == "probabilities":
        values = wave((ROWS, CLASSES), 40) + 0.6
        return (values / values.sum(1, keepdim=True)).to(dtype)
    if kind == "values":
        return (3 * wave((ROWS, CLASSES), 7)).to(dtype)
    indices = torch.arange(ROWS) * 3 % CLASSES
    if kind == "views":
        indices = indices // 3
    if kind == "masked":
        indices[1] = indices[4] = -100
    return indices


def probabilities(targets, outputs, smoothing=0.0):
    """What a row of targets asks for; all zeros where it asks for nothing."""
    if targets.is_floating_point():
        wanted = targets
    else:
        wanted = F.one_hot(targets.clamp(min=0), CLASSES).to(outputs.dtype) * (targets >= 0).unsqueeze(1)
    return wanted * (1 - smoothing) + wanted.sum(1, keepdim=True) * smoothing / CLASSES


def cross_entropy(x, t, label_smoothing=0.0, class_weights=None):
    weight = torch.tensor(class_weights, dtype=x.dtype) if class_weights else None
    return F.cross_entropy(x, t, weight, reduction="sum", label_smoothing=label_smoothing)


def binary_cross_entropy(x, t, label_smoothing=0.0, positive_weight=None, **options):
    weight = torch.tensor(positive_weight, dtype=x.dtype) if positive_weight else None
    return BinaryCrossEntropy(smoothing=label_smoothing, pos_weight=weight, **options)(x, t)


def focal(x, t, gamma=2.0, over="softmax", label_smoothing=0.0, class_weights=None, alpha=-1):
    wanted = probabilities(t, x, label_smoothing)
    if over == "sigmoid":
        return sigmoid_focal_loss(x, wanted, alpha=alpha, gamma=gamma, reduction="sum")
    p = x.softmax(1)
    weight = torch.tensor(class_weights or [1.0] * CLASSES, dtype=x.dtype)
    return -(weight * wanted * (1 - p) ** gamma * p.log()).sum()


def poly(x, t, epsilon=1.0, label_smoothing=0.0):
    wanted = probabilities(t, x, label_smoothing)
    p = x.softmax(1)
    return -(wanted * p.log()).sum() + epsilon * (wanted * (1 - p)).sum()


def jensen_shannon(x, t, num_views=3, alpha=12, label_smoothing=0.1):
    return JsdCrossEntropy(num_views, alpha, label_smoothing)(x, t)


def distance(of):
    return lambda x, t, **options: of(x, t if t.shape == x.shape else probabilities(t, x), **options)


LOSSES = {"cross_entropy": cross_entropy, "binary_cross_entropy": binary_cross_entropy, "focal": focal, "poly": poly,
          "jensen_shannon": jensen_shannon, "mse": distance(F.mse_loss), "l1": distance(F.l1_loss),
          "huber": distance(F.huber_loss)}
CASES = [
    *[("cross_entropy", options, targets)
      for options in ({}, {"label_smoothing": 0.1}, {"class_weights": WEIGHTS},
                      {"label_smoothing": 0.2, "class_weights": WEIGHTS})
      for targets in ("indices", "masked", "probabilities")],
    *[("binary_cross_entropy", options, targets)
      for options in ({}, {"label_smoothing": 0.1}, {"target_threshold": 0.2}, {"sum_classes": True},
                      {"positive_weight": 2.5, "sum_classes": True, "label_smoothing": 0.3})
      for targets in ("indices", "probabilities")],
    *[("focal", options, targets)
      for options in ({}, {"gamma": 0.0}, {"gamma": 0.5, "label_smoothing": 0.1}, {"class_weights": WEIGHTS})
      for targets in ("indices", "masked", "probabilities")],
    *[("focal", {"over": "sigmoid", **options}, targets)
      for options in ({}, {"alpha": 0.25}, {"gamma": 1.0, "alpha": 0.75})
      for targets in ("indices", "probabilities")],
    *[("poly", options, targets)
      for options in ({}, {"epsilon": -0.5}, {"epsilon": 2.0, "label_smoothing": 0.1})
      for targets in ("indices", "masked", "probabilities")],
    *[("jensen_shannon", options, "views")
      for options in ({}, {"label_smoothing": 0.0}, {"alpha": 3.0}, {"num_views": 2})],
    *[(name, options, targets)
      for name, options in (("mse", {}), ("l1", {}), ("huber", {}), ("huber", {"delta": 0.3}))
      for targets in ("indices", "values")],
]


def compute(name, options, kind, dtype):
    outputs = (4 * wave((ROWS, CLASSES), 20)).to(dtype).requires_grad_()
    targets = targets_of(kind, dtype)
    rows = options.get("num_views", 3) if name == "jensen_shannon" else 1
    losses = [LOSSES[name](outputs[i:i + rows], targets[i:i + rows], **options)
              for i in range(0, ROWS, rows) for _ in range(rows)]
    torch.stack(losses).sum().backward()
    return {"losses": [loss.item() for loss in losses], "grad": outputs.grad.flatten().tolist()}


def main():
    cases = []
    for name, options, targets in CASES:
        case = {"loss": name, "options": options, "targets": targets}
        case["float64"] = compute(name, options, targets, torch.float64)
        case["float32"] = compute(name, options, targets, torch.float32)
        cases.append(case)
    path = pathlib.Path(__file__).with_name("losses.json")
    text = json.dumps({"cases": cases}, separators=(",", ":"))
    path.write_text(text.replace('{"loss"', '\n{"loss"') + "\n")


if __name__ == "__main__":
    main()
