"""Writes cutmix.json: images, targets, losses and gradients of Composer's CutMix (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_cutmix.py

What Composer computes, as a contract for the C++:

Draws. At BEFORE_FORWARD, once per microbatch and per rank: a permutation of the microbatch from torch's generator on the
CPU, then lambda ~ Beta(alpha, alpha) in double and the centre of a box from numpy's global generator, first along the
images' rows. With alpha 0 nothing is drawn and lambda is 0, that is *all* of an image is cut (ours: nothing is).

Box. With r = sqrt(1 - lambda) in double its sides are int(H * r) and int(W * r); it reaches from the centre half a side
in both directions, with halves rounded down, so that an odd side loses a line; then it is cut off at the borders. The
centre is uniform over the pixels, or with uniform_sampling over [-ceil(side / 2), size + floor(side / 2)) in each
direction. What lambda becomes is 1 - area / (H * W) of the box as it was cut off.

Images. A copy, in whose box stand the pixels of x[permutation]: nothing is rounded.

Soft targets (interpolate_loss False). Only at BEFORE_LOSS: class indices become one-hot rows as wide as the logits, both
targets float32; the new one is lambda * y + (1 - lambda) * y[permutation] with the lambda of the box. Interpolated loss
(interpolate_loss True): at BEFORE_BACKWARD the loss is evaluated again with y[permutation], and the loss becomes
lambda * loss + (1 - lambda) * new_loss. After MixUp, Composer's permuted target is of the targets *before* MixUp, so
that what MixUp mixed into a pasted box counts nothing (ours: all that is in the image counts).

The file: `boxes`, what comes of `image` (rows, columns), `lambda` and `centre`: the `box` (top, left, bottom, right) and
the `adjusted` lambda. `centres`: from where up to, but not including, where they are drawn. `cases`: `options`, `mixed`
images, their `box`, the `target` that the loss gets, `permuted_target`, the `loss` after the algorithm and its gradient
`grad_logits`. Images are wave([4, 3, 6, 5], 3), all else is as in make_mixup.py.
"""

import json
import pathlib
from unittest import mock

import numpy
import torch
from composer.algorithms.cutmix import CutMix
from composer.algorithms.cutmix import cutmix as module
from composer.core import Event, State
from composer.devices import DeviceCPU

from make_mixup import BATCH, Net, flat, targets_of, wave

HEIGHT, WIDTH = 6, 5


def box_of(image, share, centre):
    """Composer calls the images' rows x, and their number the width."""
    top, left, bottom, right = module._rand_bbox(*image, share, cx=centre[0], cy=centre[1])
    box = [int(top), int(left), int(bottom), int(right)]
    adjusted = module._adjust_lambda(torch.empty(1, 3, *image), box)
    return {"image": image, "lambda": share, "centre": centre, "box": box, "adjusted": float(adjusted)}


def centres_of(image, share, uniform_sampling):
    with mock.patch.object(numpy.random, "randint", return_value=0) as draw:
        module._rand_bbox(*image, share, uniform_sampling=uniform_sampling)
    ranges = []
    for call in draw.call_args_list:
        ranges.append([int(call.args[0]), int(call.kwargs["high"])] if call.kwargs else [0, int(call.args[0])])
    return {"image": image, "lambda": share, "uniform_sampling": uniform_sampling, "rows": ranges[0],
            "columns": ranges[1]}


def run(images, targets, share, centre, permutation, interpolate_loss):
    net = Net()
    state = State(model=net, rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration="1ep")
    state.batch = (wave([BATCH, 3, HEIGHT, WIDTH], 3.0).float().to(getattr(torch, images)), targets_of(targets))
    algorithm = CutMix(interpolate_loss=interpolate_loss)

    def send(event):
        if algorithm.match(event, state):
            algorithm.apply(event, state, None)

    with mock.patch.object(module, "_gen_cutmix_coef", return_value=share), \
            mock.patch.object(module, "_gen_indices", return_value=torch.tensor(permutation)), \
            mock.patch.object(numpy.random, "randint", side_effect=centre):
        send(Event.BEFORE_FORWARD)
        state.outputs = net(state.batch)
        send(Event.BEFORE_LOSS)
        state.loss = net.loss(state.outputs, state.batch)
        send(Event.BEFORE_BACKWARD)
    state.loss.backward()
    box = [int(side) for side in algorithm._bbox]
    assert box == box_of([HEIGHT, WIDTH], share, centre)["box"]
    return {"options": {"images": images, "targets": targets, "lambda": share, "centre": centre,
                        "permutation": permutation, "interpolate_loss": interpolate_loss},
            "box": box, "mixed": flat(state.batch[0]), "target": flat(state.batch[1]),
            "permuted_target": flat(algorithm._permuted_target), "loss": flat(state.loss)[0],
            "grad_logits": flat(state.outputs.grad)}


def main():
    first, second = [2, 0, 3, 1], [0, 3, 2, 1]  # the second leaves two samples where they are
    boxes = [box_of(image, share, centre) for image, share, centre in (
        ([224, 224], 0.5, [112, 112]), ([224, 224], 0.5, [10, 200]), ([224, 160], 0.3, [0, 159]),
        ([32, 32], 0.9, [16, 31]), ([7, 9], 0.2, [3, 4]), ([7, 9], 0.999, [3, 4]), ([7, 9], 0.0, [6, 0]),
        ([7, 9], 1.0, [3, 3]), ([7, 9], 0.5, [-3, 11]))]
    centres = [centres_of(image, share, uniform) for image in ([224, 160], [7, 9]) for share in (0.2, 0.5, 0.75)
               for uniform in (False, True)]
    cases = [run(*options) for options in (
        ("float32", "indices", 0.3, [3, 2], first, False),
        ("float32", "indices", 0.3, [3, 2], first, True),
        ("float32", "probabilities", 0.3, [5, 0], first, False),
        ("float32", "probabilities", 0.3, [5, 0], first, True),
        ("float32", "indices", 0.5, [0, 4], second, False),
        ("float32", "indices", 1.0, [3, 2], first, False),
        ("float32", "indices", 1.0, [3, 2], first, True),
        ("bfloat16", "indices", 0.3, [2, 3], first, False))]
    path = pathlib.Path(__file__).with_name("cutmix.json")
    path.write_text(json.dumps({"boxes": boxes, "centres": centres, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
