"""Writes mixup.json: images, targets, losses and gradients of Composer's MixUp (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_mixup.py

What Composer computes, as a contract for the C++:

Draws. At BEFORE_FORWARD, once per microbatch and per rank: z ~ Beta(alpha, alpha) in double from numpy's global
generator (alpha 0: z = 0, nothing is drawn), and the mixing is m = min(z, 1 - z), in double, so that a sample's own
label always weighs at least a half. (Composer's own comment there says max; the code takes min.) Then a permutation of
the microbatch from torch's generator on the CPU. Every pass draws anew, also SAM's second one. A mixing that a caller
of mixup_batch gives is *not* folded, and may be anything in [0, 1].

Images. mixed = (1 - m) * x + m * x[permutation]: two products and a sum, each rounded in the type of x, with 1 - m made
in double and both factors rounded to x's type of arithmetic (float32 for bfloat16). Integer images become float32. The
row permutation[i] is mixed into row i, for images and targets alike.

Soft targets (interpolate_loss False). The images change at BEFORE_FORWARD, the targets only at BEFORE_LOSS: class
indices become one-hot rows as wide as the logits, probabilities stay; both are made *float32*, whatever the type of the
logits; the new target is (1 - m) * y + m * y[permutation], in float32. The loss must take probabilities. Composer's own
soft_cross_entropy on probabilities is -(target * log_softmax).sum(1).mean() times N / target.sum(): equal to torch's
cross_entropy for rows that sum to 1 (but for a rounding), larger for rows that sum to less. Indices go to torch's
cross_entropy.

Interpolated loss (interpolate_loss True). Targets stay as they are; at BEFORE_BACKWARD the model's loss is evaluated
again with y[permutation], outside autocast, and the loss becomes (1 - m) * loss + m * new_loss. In 0.32.1 the loss that
is logged and the backward pass are both taken after that event: the logged loss *contains* the second term. (The first
loss is computed under autocast, the second is not: with 16-bit logits the two differ in how they are rounded.)

Training metrics see the outputs for mixed images and the batch as it was before BEFORE_FORWARD: original targets.

The file: `folds`, the `drawn` z and the `mixing` that comes of it. `cases`: `options` (images' dtype, targets, m,
permutation, interpolate_loss), `mixed` images, the `target` that the loss gets, `permuted_target` (rows of the batch's
own targets), the `loss` after the algorithm and its gradient `grad_logits`. Images are wave([4, 3, 3, 2], 3), logits
4 * wave([4, 5], 20), both rounded to float32 (images then to their dtype); class indices are (3 * i) % 5, probabilities
(wave([4, 5], 40) + 0.6) over its row sum, made in double and rounded. The loss is torch's cross_entropy, mean over the
batch.
"""

import json
import math
import pathlib
from unittest import mock

import numpy
import torch
from composer.algorithms.mixup import MixUp, mixup_batch
from composer.core import Event, State
from composer.devices import DeviceCPU
from composer.loss import soft_cross_entropy
from torch import nn
from torch.nn import functional as F

BATCH, CLASSES = 4, 5
CODE = "composer.algorithms.mixup.mixup."


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    values = tensor.detach().reshape(-1)
    return [float(f"{value:.9g}") for value in values.tolist()] if tensor.is_floating_point() else values.tolist()


def targets_of(kind):
    if kind == "indices":
        return torch.tensor([3 * i % CLASSES for i in range(BATCH)])
    values = wave([BATCH, CLASSES], 40.0) + 0.6
    return (values / values.sum(1, keepdim=True)).float()


class Net(nn.Module):
    """Its output is scripted: what is tested lies before and after it."""

    def forward(self, batch):
        return (4.0 * wave([BATCH, CLASSES], 20.0)).float().requires_grad_()

    def loss(self, outputs, batch):
        return F.cross_entropy(outputs, batch[1])


def run(images, targets, mixing, permutation, interpolate_loss):
    net = Net()
    state = State(model=net, rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration="1ep")
    x = wave([BATCH, 3, 3, 2], 3.0).float().to(getattr(torch, images))
    y = targets_of(targets)
    state.batch = (x, y)
    algorithm = MixUp(interpolate_loss=interpolate_loss)

    def send(event):
        if algorithm.match(event, state):
            algorithm.apply(event, state, None)

    with mock.patch(CODE + "_gen_mixing_coef", return_value=mixing), \
            mock.patch(CODE + "_gen_indices", return_value=torch.tensor(permutation)):
        send(Event.BEFORE_FORWARD)
        state.outputs = net(state.batch)
        send(Event.BEFORE_LOSS)
        state.loss = net.loss(state.outputs, state.batch)
        send(Event.BEFORE_BACKWARD)
    state.loss.backward()
    assert mixup_batch(x, y, mixing=mixing, indices=torch.tensor(permutation))[0].equal(state.batch[0])
    assert_own_loss_agrees(state, algorithm)
    return {"options": {"images": images, "targets": targets, "mixing": mixing, "permutation": permutation,
                        "interpolate_loss": interpolate_loss},
            "mixed": flat(state.batch[0]), "target": flat(state.batch[1]),
            "permuted_target": flat(algorithm.permuted_target), "loss": flat(state.loss)[0],
            "grad_logits": flat(state.outputs.grad)}


def assert_own_loss_agrees(state, algorithm):
    """Composer's soft_cross_entropy gives the same, and soft targets the same as the interpolated loss."""
    m = algorithm.mixing
    original = targets_of("indices") if algorithm.permuted_target.ndim == 1 else targets_of("probabilities")
    parts = [soft_cross_entropy(state.outputs, target) for target in (original, algorithm.permuted_target)]
    assert torch.allclose((1 - m) * parts[0] + m * parts[1], state.loss, rtol=2e-6)


def fold(drawn):
    with mock.patch.object(numpy.random, "beta", return_value=drawn):
        algorithm = MixUp(alpha=0.2)
        state = State(model=Net(), rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration="1ep")
        state.batch = (wave([BATCH, 3, 3, 2], 3.0), targets_of("indices"))
        algorithm.apply(Event.BEFORE_FORWARD, state, None)
    return {"drawn": drawn, "mixing": algorithm.mixing}


def main():
    first, second = [2, 0, 3, 1], [0, 3, 2, 1]  # the second leaves two samples where they are
    cases = [run(*options) for options in (
        ("float32", "indices", 0.3, first, False),
        ("float32", "indices", 0.3, first, True),
        ("float32", "probabilities", 0.3, first, False),
        ("float32", "probabilities", 0.3, first, True),
        ("float32", "indices", 0.4921875, second, False),
        ("float32", "indices", 0.0, first, False),
        ("float32", "indices", 0.0, first, True),
        ("bfloat16", "indices", 0.3, first, False))]
    golden = {"folds": [fold(drawn) for drawn in (0.0, 0.125, 0.3, 0.5, 0.7, 0.9, 1.0)], "cases": cases}
    path = pathlib.Path(__file__).with_name("mixup.json")
    path.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
