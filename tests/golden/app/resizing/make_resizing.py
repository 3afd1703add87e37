"""Writes resizing.json: image sizes over a run by Composer's ProgressiveResizing (mosaicml 0.32.1) and by the formula of
ffcv-imagenet's training script, computed by numpy.

    python tests/golden/app/resizing/make_resizing.py

Composer. t is the share of the run that has elapsed; frac = 0 before delay_fraction, then (t - delay) / (1 - finetune -
delay), at most 1; scale = initial + (1 - initial) * frac; the width becomes round(width * scale / increment) * increment,
halves to even.

ffcv-imagenet, once an epoch: min_res up to start_ramp, max_res from end_ramp on; between them numpy.interp of the epoch,
then int(numpy.round(value / 32)) * 32.

The file: `composer` and `ffcv`, lists of cases; each with the C++'s options and `sizes`, of each step or epoch.
"""

import json
import pathlib
import types

import numpy
import torch
from composer.algorithms import ProgressiveResizing


def composer(width, start, delay, finetune, increment, num_steps):
    algorithm = ProgressiveResizing(initial_scale=start / width, delay_fraction=delay, finetune_fraction=finetune,
                                    size_increment=increment)
    sizes = []

    def keep(_, value):
        if value.dim() == 4:
            sizes.append(value.shape[3])

    for step in range(num_steps):
        elapsed = types.SimpleNamespace(value=step / num_steps)
        state = types.SimpleNamespace(batch_get_item=lambda key: torch.zeros(1, 1, width, width) if key == 0 else torch.zeros(1),
                                      batch_set_item=keep, get_elapsed_duration=lambda: elapsed)
        # The comparison with delay_fraction is of numbers, as elapsed_duration.value is.
        algorithm.apply(None, state, None)
    return {"width": width, "start": start, "delay": delay, "finetune": finetune, "increment": increment, "steps": num_steps,
            "sizes": sizes}


def ffcv(min_res, max_res, start_ramp, end_ramp, num_epochs):
    sizes = []
    for epoch in range(num_epochs):
        if epoch <= start_ramp:
            sizes.append(min_res)
        elif epoch >= end_ramp:
            sizes.append(max_res)
        else:
            value = numpy.interp([epoch], [start_ramp, end_ramp], [min_res, max_res])
            sizes.append(int(numpy.round(value[0] / 32)) * 32)
    return {"start": min_res, "width": max_res, "begin": start_ramp, "end": end_ramp, "epochs": num_epochs, "sizes": sizes}


def main():
    cases = {"composer": [composer(224, 112, 0.5, 0.2, 4, 200), composer(224, 112, 0.0, 0.5, 32, 64),
                          composer(96, 32, 0.25, 0.25, 4, 80), composer(50, 20, 0.1, 0.0, 7, 30), composer(176, 88, 0.5, 0.2, 32, 60),
                          composer(112, 67.2, 0.2, 0.2, 4, 300)],
             "ffcv": [ffcv(160, 192, 35, 39, 40), ffcv(160, 192, 11, 13, 16), ffcv(128, 224, 0, 20, 24)]}
    path = pathlib.Path(__file__).with_name("resizing.json")
    path.write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
