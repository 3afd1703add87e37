"""Writes cutout.json: images that Composer's CutOut cut holes into (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_cutout.py

What Composer computes, as a contract for the C++: at AFTER_DATALOADER, for all of a rank's batch at once, each hole has
a centre from numpy's global generator, first the row, then the column: uniform over the pixels, or with uniform_sampling
over [-ceil(side / 2), size + floor(side / 2)). Its side is int(min(H, W) * length); it reaches from the centre half a
side in both directions, with halves rounded down, and is cut off at the borders. Images are multiplied by a mask of
zeros and ones in their own type.

The file: `cases` with `options` (images' dtype, image as rows and columns, length, centres of the holes,
uniform_sampling), the images that are `cut`, and from where up to, but not including, where `rows` and `columns` of
centres are drawn. Images are wave([2, 3, H, W], 3), rounded to float32 and then to their dtype.
"""

import json
import pathlib
from unittest import mock

import numpy
import torch
from composer.algorithms.cutout import CutOut
from composer.core import Event, State
from composer.devices import DeviceCPU

from make_mixup import Net, flat, wave


def range_of(call):
    return [int(call.args[0]), int(call.kwargs["high"])] if call.kwargs else [0, int(call.args[0])]


def run(images, image, length, centres, uniform_sampling):
    state = State(model=Net(), rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration="1ep")
    x = wave([2, 3, *image], 3.0).float().to(getattr(torch, images))
    state.batch = (x, torch.tensor([0, 1]))
    algorithm = CutOut(num_holes=len(centres), length=length, uniform_sampling=uniform_sampling)
    assert algorithm.match(Event.AFTER_DATALOADER, state)
    with mock.patch.object(numpy.random, "randint", side_effect=[side for centre in centres for side in centre]) as draw:
        algorithm.apply(Event.AFTER_DATALOADER, state, None)
    rows, columns = map(range_of, draw.call_args_list[:2])
    assert state.batch[0].dtype == x.dtype
    return {"options": {"images": images, "image": image, "length": length, "centres": centres,
                        "uniform_sampling": uniform_sampling},
            "cut": flat(state.batch[0]), "rows": rows, "columns": columns}


def main():
    cases = [run(*options) for options in (
        ("float32", [8, 6], 0.5, [[4, 3]], False),
        ("float32", [8, 6], 0.7, [[0, 5]], False),
        ("float32", [6, 9], 0.34, [[1, 1], [4, 7], [2, 2]], False),
        ("float32", [7, 7], 1.0, [[3, 3]], False),
        ("float32", [7, 7], 0.1, [[3, 3]], False),
        ("float32", [8, 6], 0.5, [[-2, 6]], True),
        ("float32", [8, 6], 0.7, [[-1, 7], [4, 4]], True),
        ("bfloat16", [8, 6], 0.5, [[4, 3]], False))]
    path = pathlib.Path(__file__).with_name("cutout.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
