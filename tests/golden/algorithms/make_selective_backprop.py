"""Writes selective_backprop.json: what Composer's SelectiveBackprop chooses (mosaicml 0.32.1, torch 2.7.0).

    python tests/golden/algorithms/make_selective_backprop.py

What Composer computes, as a contract for the C++:

When: start <= t < end, t the elapsed share of the run, unless interrupt > 0 and (batch in the epoch + 1) is a multiple of
it; never with keep 1.

Which: the model's losses of the N samples without gradients and in training mode, of images made smaller by
interpolate(scale_factor, bilinear, align_corners=False, recompute_scale_factor=False) where that is below 1; argsort,
rising; int(keep * N) places drawn without replacement with probabilities proportional to ((i + 0.5) / N)^(1 / keep - 1);
the samples at these places of the sorted ones, in the order drawn.

The file, in float64 (wave(shape, phase) as below):
 - `moments`: `config`, `elapsed`, `batch` in the epoch, and whether it `selects`.
 - `choices`: `num_samples`, `keep`, `scale_factor`, the probabilities `p` of the places, the `places` that a stand-in
   for numpy's draw gave, and the `rows` that were kept. The model: mean over pixels of images wave([N, 3, 6, 5], 1), then a
   linear layer to 4 classes with weight wave([4, 3], 2) * 8 and no bias; labels i % 4.
"""

import json
import math
import pathlib

import numpy
import torch
from composer.algorithms.selective_backprop import selective_backprop as composer
from torch.nn import functional


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def model(images):
    # Weighs pixels by their place, or smaller images would have the same mean.
    height, width = images.shape[2:]
    ramp = torch.linspace(0, 1, height * width, dtype=torch.float64).reshape(height, width)
    return functional.linear((images * ramp).mean((2, 3)), wave([4, 3], 2.0) * 8)


def choice(num_samples, keep, scale_factor, places):
    given = {}

    def draw(size, count, replace, p):
        assert size == num_samples and count == len(places) and not replace
        given["p"] = p.tolist()
        return numpy.array(places)

    plain, numpy.random.choice = numpy.random.choice, draw
    try:
        images = wave([num_samples, 3, 6, 5], 1.0)
        labels = torch.arange(num_samples) % 4
        rows = torch.arange(num_samples, dtype=torch.float64).reshape(-1, 1)
        _, kept = composer.select_using_loss(
            images, torch.cat([labels.double().reshape(-1, 1), rows], 1), model,
            lambda output, target, reduction: functional.cross_entropy(output, target[:, 0].long(), reduction=reduction),
            keep, scale_factor)
    finally:
        numpy.random.choice = plain
    return {"num_samples": num_samples, "keep": keep, "scale_factor": scale_factor, "places": places, "p": given["p"],
            "rows": [int(row) for row in kept[:, 1].tolist()]}


def moment(elapsed, batch, **config):
    algorithm = composer.SelectiveBackprop(**config)
    selects = algorithm.keep < 1 and composer.should_selective_backprop(elapsed, batch, algorithm.start, algorithm.end,
                                                                        algorithm.interrupt)
    return {"config": {key: getattr(algorithm, key) for key in ("start", "end", "keep", "interrupt")}, "elapsed": elapsed,
            "batch": batch, "selects": bool(selects)}


def main():
    moments = [moment(elapsed, batch, **config)
               for config in ({}, {"interrupt": 0}, {"interrupt": 3, "start": 0.25}, {"keep": 1.0})
               for elapsed in (0.0, 0.25, 0.49, 0.5, 0.7, 0.89, 0.9, 0.99) for batch in (0, 1, 2, 3)]
    choices = [choice(8, 0.5, 1.0, [7, 3, 4, 0]), choice(8, 0.25, 1.0, [2, 6]), choice(7, 0.9, 1.0, [6, 5, 4, 3, 1, 0]),
               choice(8, 0.5, 0.5, [1, 7, 6, 2])]
    path = pathlib.Path(__file__).with_name("selective_backprop.json")
    path.write_text(json.dumps({"moments": moments, "choices": choices}) + "\n")


if __name__ == "__main__":
    main()
