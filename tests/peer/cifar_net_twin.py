"""What airbench94 of a quarter of its width is compared with on drawn digits: the same training in plain PyTorch, written
after the paper (Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024) and without flips, as a mirrored digit
is none. Prints the top-1 accuracy after each epoch, and last that of the slow weights, as JSON.

    python cifar_net_twin.py FOLDER [SETTINGS]        # FOLDER: of data synth; SETTINGS: JSON, instead of some of SETTINGS
"""

import json
import math
import os
import pathlib
import sys

import numpy as np
import torch
import torchvision
from torch import nn

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# The rates are airbench94's for a loss that is a mean: lr for 1,024 images, weight_decay 0.0153 / 11.5.
SETTINGS = {"seed": 1, "batch": 256, "epochs": 10, "widths": [16, 64, 64], "lr": 1.5, "momentum": 0.85,
            "weight_decay": 0.0153 / 11.5, "bias_factor": 64, "label_smoothing": 0.2, "reach": 2, "peak": 0.23,
            "whitening_bias_epochs": 3, "interval": 5, "decay": 0.95**5, "threads": 0}
WHITENED = 5000  # images, the first ones


def read(folder):
    """The pictures as normalised floats, and their labels; in the order of the files."""
    files = torchvision.datasets.ImageFolder(folder)
    images = torch.from_numpy(np.stack([np.asarray(image) for image, _ in files])).permute(0, 3, 1, 2) / 255
    mean, deviation = (torch.tensor(numbers).view(3, 1, 1) for numbers in (MEAN, DEVIATION))
    return (images - mean) / deviation, torch.tensor(files.targets)


def convolution(inside, out):
    """As torch has it, but the first rows pass on what comes in."""
    layer = nn.Conv2d(inside, out, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight.data[:inside])
    return layer


def normalisation(channels):
    layer = nn.BatchNorm2d(channels, eps=1e-12, momentum=0.4)
    layer.weight.requires_grad_(False)
    return layer


def group(inside, out):
    return [convolution(inside, out), nn.MaxPool2d(2), normalisation(out), nn.GELU(),
            convolution(out, out), normalisation(out), nn.GELU()]


class Scale(nn.Module):
    def forward(self, x):
        return x / 9


def whitening(images, eps=5e-4):
    """Filters that make what 2x2 patches have in common equally strong and independent, each also negated."""
    layer = nn.Conv2d(3, 24, 2)
    patches = images[:WHITENED].unfold(2, 2, 1).unfold(3, 2, 1).permute(0, 2, 3, 1, 4, 5).reshape(-1, 12).double()
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    rows = (vectors / torch.sqrt(values + eps)).T.flip(0)
    layer.weight.data.copy_(torch.cat([rows, -rows]).view(24, 3, 2, 2))
    layer.weight.requires_grad_(False)
    nn.init.zeros_(layer.bias)
    return layer


def make_network(images, widths):
    channels = [24, *widths]
    layers = [layer for inside, out in zip(channels, widths) for layer in group(inside, out)]
    network = nn.Sequential(whitening(images), nn.GELU(), *layers, nn.MaxPool2d(3), nn.Flatten(),
                            nn.Linear(widths[-1], 10, bias=False), Scale())
    return network.to(memory_format=torch.channels_last)


def make_optimizer(network, settings):
    """Biases of normalisations go `bias_factor` times as fast and decay as slowly as the rest."""
    biases = [layer.bias for layer in network if isinstance(layer, nn.BatchNorm2d)]
    others = [p for p in network.parameters() if p.requires_grad and all(p is not bias for bias in biases)]
    lr, decay, factor = settings["lr"] * settings["batch"] / 1024, settings["weight_decay"], settings["bias_factor"]
    groups = [{"params": biases, "lr": lr * factor, "weight_decay": decay / factor},
              {"params": others, "lr": lr, "weight_decay": decay}]
    return torch.optim.SGD(groups, momentum=settings["momentum"], nesterov=True, fused=True)


class SlowWeights:
    """Go part of the way to the fast ones, which go on from there; less and less towards the end."""

    def __init__(self, network, settings, steps):
        self.slow = {name: value.clone() for name, value in network.state_dict().items()}
        self.interval, self.decay, self.steps = settings["interval"], settings["decay"], steps

    def after_step(self, network, step):
        if step % self.interval == 0:
            self.update(network, self.decay * (step / self.steps)**3)

    def update(self, network, decay):
        for name, value in network.state_dict().items():
            if value.is_floating_point():
                value.copy_(self.slow[name].lerp_(value, 1 - decay))


def shifted(padded, numbers, reach):
    """Those images, each moved by up to `reach` pixels either way."""
    side = padded.shape[-1] - 2 * reach
    batch = torch.empty(len(numbers), 3, side, side).contiguous(memory_format=torch.channels_last)
    for place, (number, (down, right)) in enumerate(zip(numbers, torch.randint(0, 2 * reach + 1, (len(numbers), 2)).tolist())):
        batch[place] = padded[number, :, down:down + side, right:right + side]
    return batch


@torch.inference_mode()
def top1(network, images, labels):
    network.eval()
    right = sum((network(part.contiguous(memory_format=torch.channels_last)).argmax(1) == truth).sum()
                for part, truth in zip(images.split(500), labels.split(500)))
    network.train()
    return right.item() / len(labels)


def train(network, train_set, val_set, settings):
    """Accuracies after each epoch and at the end."""
    images, labels = train_set
    steps_per_epoch = len(images) // settings["batch"]
    steps = math.ceil(steps_per_epoch * settings["epochs"])
    padded = nn.functional.pad(images, (settings["reach"],) * 4, "reflect")
    optimizer = make_optimizer(network, settings)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: float(np.interp(step, [0, int(settings["peak"] * steps), steps], [0.2, 1, 0.07])))
    loss = nn.CrossEntropyLoss(label_smoothing=settings["label_smoothing"])
    slow = SlowWeights(network, settings, steps)
    curve = []
    for step in range(steps):
        epoch, place = divmod(step, steps_per_epoch)
        if place == 0:
            order = torch.randperm(len(images))
            network[0].bias.requires_grad_(epoch < settings["whitening_bias_epochs"])
        numbers = order[place * settings["batch"]:(place + 1) * settings["batch"]]
        optimizer.zero_grad(set_to_none=True)
        loss(network(shifted(padded, numbers, settings["reach"])), labels[numbers]).backward()
        optimizer.step()
        schedule.step()
        slow.after_step(network, step + 1)
        if place + 1 == steps_per_epoch:
            curve.append(top1(network, *val_set))
    slow.update(network, 1.0)
    return [*curve, top1(network, *val_set)]


def main(folder, settings):
    torch.set_num_threads(settings["threads"] or len(os.sched_getaffinity(0)))  # by itself it may count fewer
    torch.set_flush_denormal(True)
    torch.manual_seed(settings["seed"])
    train_set, val_set = read(folder / "train"), read(folder / "val")
    print(json.dumps(train(make_network(train_set[0], settings["widths"]), train_set, val_set, settings)))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), SETTINGS | json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}"))
