"""Writes ffcv.json: what the ResNet-50 configurations of ffcv-imagenet do to their numbers, by the formulas of its
training script, computed by numpy 2 and torchvision 0.26.

    python tests/golden/recipes/make_ffcv.py

The rate of an epoch's first iteration is the polyline from 1e-4 of lr at epoch 0 over lr at epoch 2 to 0 at the last;
within an epoch it is interpolated. The resolution is the polyline from min_res at start_ramp to max_res at end_ramp,
rounded to multiples of 32, once an epoch. BatchNorms are found by "bn" in their names. Batches are those of a process.
"""

import numpy
import torch
import torchvision
from plotted_steps import IMAGENET, distributed_steps, run, stair, write

RAMPS = {16: (11, 13), 24: (17, 20), 32: (23, 27), 40: (29, 34), 56: (41, 48), 88: (65, 76)}
LR, RANKS, BATCH, SMALLEST, LARGEST = 1.7, 8, 512, 160, 192


def resolution(epoch, begin, end):
    if epoch <= begin:
        return SMALLEST
    if epoch >= end:
        return LARGEST
    return int(numpy.round(numpy.interp([epoch], [begin, end], [SMALLEST, LARGEST])[0] / 32)) * 32


def main():
    iterations = distributed_steps(IMAGENET, RANKS, BATCH, drop_last=True)

    def entry(epochs, ramp):
        def of_epoch(epoch):
            return numpy.interp([epoch], [0, 2, epochs], [1e-4 * LR, LR, 0])[0]

        def lr_at(step):
            epoch, iteration = divmod(step, iterations)
            return numpy.interp([iteration], [0, iterations], [of_epoch(epoch), of_epoch(epoch + 1)])[0]

        sizes = [resolution(step // iterations, *ramp) for step in range(epochs * iterations)]
        return run(epochs, iterations, lr_at, stair(sizes), samples=IMAGENET, ranks=RANKS, global_batch=RANKS * BATCH,
                   optimizer="sgd", momentum=0.9, weight_decay=1e-4, label_smoothing=0.1, precision="fp16",
                   eval_crop=256)

    with torch.device("meta"):
        names = [name for name, _ in torchvision.models.resnet50().named_parameters()]
    write("ffcv.json", {f"ffcv-rn50-{epochs}": entry(epochs, ramp) for epochs, ramp in RAMPS.items()},
          [name for name in names if "bn" in name])


if __name__ == "__main__":
    main()
