"""Writes lr_find.json: learning rate range tests as fastai 2.8.2 and Lightning 2.6.6 run them and read them.

    python tests/golden/optim/lr_find/make_lr_find.py

What they compute, as a contract for the C++:

fastai. Step i of n takes the rate start * (end / start)^(i / n), 1e-7 to 10. The smoothed loss is an exponential mean
(0.98) divided by 1 - 0.98^(i + 1). After each step the least is updated and the test ends when the smoothed loss exceeds
four times that; the step is recorded before. Rules see the smoothed losses without the first n // 10 and the last 5, up
to the first NaN:
 - valley: the longest strictly decreasing subsequence, the earliest of several; it ends at e and has L points: point
   e - L + L // 3 + L // 6.
 - minimum: a tenth of the rate of the least loss.
 - slide: slopes by index; from the end, pairs of points 15 apart move left while their slopes differ by more than 0.005;
   the rate of the left one, of the last pair that did.

Lightning. The first rate is the least, then min * (max / min)^((i + 1) / n), 1e-8 to 1. The mean is divided by
1 - 0.98^(i + 2). From the second step on the test ends when it exceeds four times the least before. `suggestion`: without
the first 10 and the last point and without what is not finite, the point with the least slope by the rate.

The file: `curves`, each with `style`, `num_steps`, raw `losses` (null: NaN), `rates`, `smoothed` losses (each for as many
steps as the test has) and what the `rules` find (null: too few points).
"""

import json
import math
import pathlib
import types

import numpy
import torch
from fastai.callback.schedule import SchedExp, minimum, slide, valley
from fastai.learner import AvgSmoothLoss
from pytorch_lightning.tuner.lr_finder import _ExponentialLR, _LRCallback, _LRFinder


def raw_losses(generator, num_steps, low, high):
    """Falls from a plateau into a valley, and rises behind it; with noise."""
    start, floor = generator.uniform(1.5, 7.0), generator.uniform(0.1, 1.2)
    middle, edge = numpy.sort(generator.uniform(math.log10(low) + 1.5, math.log10(high) + 0.5, 2))
    width, noise = generator.uniform(0.2, 0.8), generator.uniform(0.0, 0.4)
    exponents = numpy.linspace(math.log10(low), math.log10(high), num_steps)
    fall = (start - floor) / (1 + numpy.exp((exponents - middle) / width))
    rise = numpy.exp(numpy.clip(4 * (exponents - edge), None, 5)) - numpy.exp(4 * (exponents[0] - edge))
    losses = floor + fall + rise + noise * generator.standard_normal(num_steps)
    return [float(numpy.float32(loss)) for loss in numpy.maximum(losses, 0.01)]


def fastai_test(losses, num_steps, low, high):
    schedule, meter = SchedExp(low, high), AvgSmoothLoss()
    meter.reset()
    rates, means, best = [], [], math.inf
    for i, loss in enumerate(losses):
        meter.accumulate(types.SimpleNamespace(loss=torch.tensor(loss)))
        rates.append(float(schedule(i / num_steps)))
        means.append(float(meter.value))
        if means[-1] < best:
            best = means[-1]
        if means[-1] > 4 * best or math.isnan(loss):
            break
    return rates, means


def lightning_test(losses, num_steps, low, high):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=low)
    scheduler = _ExponentialLR(optimizer, high, num_steps)
    callback = _LRCallback(num_steps, 4.0)
    trainer = types.SimpleNamespace(fit_loop=types.SimpleNamespace(batch_idx=0), accumulate_grad_batches=1, global_step=0,
                                    strategy=types.SimpleNamespace(broadcast=lambda value: value), should_stop=False,
                                    lr_scheduler_configs=[types.SimpleNamespace(scheduler=scheduler)])
    for loss in losses:
        callback.on_train_batch_start(trainer, None, None, trainer.fit_loop.batch_idx)
        optimizer.step()
        scheduler.step()
        trainer.global_step += 1
        callback.on_train_batch_end(trainer, None, torch.tensor(loss, dtype=torch.float64), None, trainer.fit_loop.batch_idx)
        trainer.fit_loop.batch_idx += 1
        if trainer.should_stop or math.isnan(loss):
            break
    return callback.lrs, callback.losses


def fastai_rules(rates, raw, num_steps):
    """As Learner.lr_find cuts; whatever library's rates they are."""
    meter, means = AvgSmoothLoss(), []
    meter.reset()
    for loss in raw:
        meter.accumulate(types.SimpleNamespace(loss=torch.tensor(loss)))
        means.append(float(meter.value))
    lrs = torch.tensor(rates[num_steps // 10:-5], dtype=torch.float64)
    losses = torch.tensor(means[num_steps // 10:-5], dtype=torch.float64)
    unknown = torch.nonzero(torch.isnan(losses.view(-1)))
    if len(unknown) > 0:
        lrs, losses = lrs[:min(unknown)], losses[:min(unknown)]
    if len(losses) < 2:  # of a single point fastai tells that one; the C++ asks for more
        return {"valley": None, "minimum": None, "slide": None}
    return {"valley": valley(lrs, losses, num_steps)[0], "minimum": minimum(lrs, losses, num_steps)[0],
            "slide": slide(lrs, losses, num_steps)[0] if len(losses) > 15 else None}


def lightning_rule(rates, raw, num_steps, low, high):
    mean, means = 0.0, []
    for i, loss in enumerate(raw):  # as _LRCallback
        mean = 0.98 * mean + (1 - 0.98) * loss
        means.append(mean / (1 - 0.98 ** (i + 2)))
    finder = _LRFinder("exponential", low, high, num_steps)
    finder.results = {"lr": rates, "loss": means}
    return finder.suggestion()


def curve(seed):
    generator = numpy.random.default_rng(seed)
    style = "fastai" if seed % 2 == 0 else "lightning"
    low, high = (1e-7, 10.0) if style == "fastai" else (1e-8, 1.0)
    num_steps = [100, 100, 60, 250, 30, 12][seed % 6]
    losses = raw_losses(generator, num_steps, low, high)
    if seed % 5 == 0:
        losses[int(generator.integers(num_steps // 3, num_steps))] = math.nan
    test = fastai_test if style == "fastai" else lightning_test
    rates, means = test(losses, num_steps, low, high)
    raw = losses[:len(rates)]
    rules = {**fastai_rules(rates, raw, num_steps), "steepest": lightning_rule(rates, raw, num_steps, low, high)}
    plain = lambda values: [None if math.isnan(value) else float(f"{value:.8g}") for value in values]
    return {"style": style, "low": low, "high": high, "num_steps": num_steps, "losses": plain(losses), "rates": rates,
            "smoothed": plain(means), "rules": rules}


def main():
    path = pathlib.Path(__file__).with_name("lr_find.json")
    path.write_text(json.dumps({"curves": [curve(seed) for seed in range(50)]}) + "\n")


if __name__ == "__main__":
    main()
