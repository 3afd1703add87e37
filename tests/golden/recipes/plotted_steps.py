"""At which steps the scripts beside this one ask the sources for a number, and what they share besides.

The steps are some of those that `paceline config plot-schedule` prints where its output is no terminal: 40 of at most
2,000 points that lie evenly between a run's first and last step; of these every second one or so, 20 in all.
"""

import json
import math
import pathlib

IMAGENET = 1_281_167  # training images


def plotted_steps(total):
    points = min(total, 2000)
    rows = min(points, 40)
    places = [row * (points - 1) // (rows - 1) for row in range(rows)]
    chosen = sorted({places[round(i * (rows - 1) / 19)] for i in range(20)})
    return [place * (total - 1) // (points - 1) for place in chosen]


def distributed_steps(samples, ranks, batch, drop_last):
    """Of an epoch: torch's DistributedSampler gives each rank as many samples, by repeating a few."""
    share = math.ceil(samples / ranks)
    return share // batch if drop_last else math.ceil(share / batch)


def stair(sizes):
    """[step, size] wherever the size of a sequence changes."""
    return [[step, size] for step, size in enumerate(sizes) if step == 0 or sizes[step - 1] != size]


def run(epochs, steps_per_epoch, lr_at, sizes=None, size=None, **figures):
    """The entry of a recipe: `lr_at` tells the learning rate of a step."""
    total = epochs * steps_per_epoch
    steps = plotted_steps(total)
    return {"epochs": epochs, "steps_per_epoch": steps_per_epoch, "total_steps": total, "steps": steps,
            "lr": [float(lr_at(step)) for step in steps], "sizes": sizes or [[0, size]], **figures}


def write(name, recipes, undecayed):
    """`undecayed`: the parameters that the source's optimizer keeps from decaying."""
    content = {"undecayed": sorted(undecayed), "recipes": recipes}
    (pathlib.Path(__file__).parent / name).write_text(json.dumps(content, indent=1) + "\n")
