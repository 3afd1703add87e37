"""Writes colout.json: images that Composer's ColOut thinned (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_colout.py

What Composer computes, as a contract for the C++, with `batch`, which is its default: at AFTER_DATALOADER, for all of a
rank's batch at once, int((1 - p_row) * H) rows and int((1 - p_col) * W) columns are kept, products in double, in their
order: the first ones of a permutation of all rows, and of one of all columns, from torch's generator on the CPU. Targets
of the images' height and width are thinned alike (ours: refused).

The file: `sizes`, what is `kept` of an `image` (rows, columns). `cases` with `options` (images' dtype, image, p_row,
p_col, both permutations) and the images' pixels that are `kept`. Images are wave([2, 3, H, W], 3), rounded to float32
and then to their dtype.
"""

import json
import pathlib
from unittest import mock

import torch
from composer.algorithms.colout import ColOut, colout_batch
from composer.core import Event, State
from composer.devices import DeviceCPU

from make_mixup import Net, flat, wave


def size_of(image, p_row, p_col):
    kept = colout_batch(torch.zeros(1, 1, *image), p_row=p_row, p_col=p_col)
    return {"image": image, "p_row": p_row, "p_col": p_col, "kept": list(kept.shape[-2:])}


def run(images, image, p_row, p_col, rows, columns):
    state = State(model=Net(), rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration="1ep")
    state.batch = (wave([2, 3, *image], 3.0).float().to(getattr(torch, images)), torch.tensor([0, 1]))
    algorithm = ColOut(p_row=p_row, p_col=p_col)
    assert algorithm.match(Event.AFTER_DATALOADER, state)
    with mock.patch.object(torch, "randperm", side_effect=[torch.tensor(rows), torch.tensor(columns)]):
        algorithm.apply(Event.AFTER_DATALOADER, state, None)
    return {"options": {"images": images, "image": image, "p_row": p_row, "p_col": p_col, "row_permutation": rows,
                        "column_permutation": columns},
            "kept": flat(state.batch[0])}


def main():
    sizes = [size_of(image, p_row, p_col) for image in ([224, 224], [32, 48], [7, 9], [20, 30])
             for p_row, p_col in ((0.15, 0.15), (0.0, 0.5), (0.3, 0.1), (0.9, 0.7))]
    rows, columns = [3, 6, 0, 2, 7, 5, 1, 4], [5, 1, 4, 0, 2, 3]
    cases = [run(*options) for options in (
        ("float32", [8, 6], 0.15, 0.15, rows, columns),
        ("float32", [8, 6], 0.5, 0.0, rows, columns),
        ("float32", [6, 8], 0.4, 0.6, columns, rows),
        ("bfloat16", [8, 6], 0.15, 0.15, rows, columns))]
    path = pathlib.Path(__file__).with_name("colout.json")
    path.write_text(json.dumps({"sizes": sizes, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
