"""Writes airbench.json: the figures of airbench94.py (KellerJordan/cifar10-airbench), whose epochs have 48 steps of the
1,024 images that a batch of 50,000 images leaves room for.

    python tests/golden/recipes/make_airbench.py

Its rates are of one GPU and of a loss that is the sum over the batch: lr = 11.5 / kilostep with kilostep = 1024 *
(1 + 1 / (1 - momentum)), weight decay 0.0153 * 1024 / kilostep / lr of each group's lr. The loss as a mean has 1,024
times the rate for the same step, and the decay of a mean's gradient is that of a sum's divided by 1,024. In the course
of the run the rate is interpolated between 0.2, 1 at int(0.23 * steps) and 0.07 of that.
"""

import math

import numpy as np
from plotted_steps import run, write


def main():
    batch, epochs, momentum = 1024, 9.9, 0.85
    iterations = 50000 // batch
    steps = math.ceil(iterations * epochs)
    kilostep = 1024 * (1 + 1 / (1 - momentum))
    lr, decay = 11.5 / kilostep, 0.0153 * batch / kilostep
    peak = int(0.23 * steps)
    factors = np.interp(np.arange(steps), [0, peak, steps], [0.2, 1, 0.07])
    figures = run(1, steps, lambda step: lr * batch * factors[step], size=32, samples=50000, ranks=1, global_batch=batch,
                  optimizer="sgd", momentum=momentum, nesterov=True, weight_decay=decay / lr / batch,
                  label_smoothing=0.2, precision="fp16", lookahead_decay=0.95**5)
    write("airbench.json", {"cifar10-fast": {**figures, "epochs": None, "steps_per_epoch": iterations}}, [])


if __name__ == "__main__":
    main()
