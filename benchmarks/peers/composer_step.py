"""What a method of Composer adds to a step of its Trainer: one thread, float32, batches in memory.

Reads lines, each a JSON object with a `method`, a `model`, `size`, `batch`, `steps`, `warm_up` and `mean`, and answers
each with a line: {"ms": [without, with, with, without], "channels_last": ...}. Each run is a fork of this process, which
has imported all, with a new model and Trainer; its step is the median one after the warm-up, or with `mean` their mean.
Channels-last is taken where it made that model's plain step faster.
"""

import functools
import json
import logging
import os
import statistics
import sys
import time
import traceback
import warnings

import composer
import composer.algorithms
import torch
import torchvision

# Adaptive clipping keeps its default; the largest norm is so small that each step is clipped. Averages and selection are
# for every step.
METHODS = {
    "mixup": lambda: composer.algorithms.MixUp(),
    "cutmix": lambda: composer.algorithms.CutMix(),
    "label_smoothing": lambda: composer.algorithms.LabelSmoothing(0.1),
    "cutout": lambda: composer.algorithms.CutOut(),
    "colout": lambda: composer.algorithms.ColOut(),
    "clip_norm": lambda: composer.algorithms.GradientClipping("norm", 0.01),
    "clip_adaptive": lambda: composer.algorithms.GradientClipping("adaptive", 0.01),
    "ema": lambda: composer.algorithms.EMA(half_life="1000ba", update_interval="1ba"),
    "swa": lambda: composer.algorithms.SWA(swa_start="0.0dur", swa_end="1.0dur", update_interval="1ba"),
    "blurpool": lambda: composer.algorithms.BlurPool(),
    "squeeze_excite": lambda: composer.algorithms.SqueezeExcite(),
    "factorize": lambda: composer.algorithms.Factorize(),
    "ghost_batchnorm": lambda: composer.algorithms.GhostBatchNorm(ghost_batch_size=8),
    "stochastic_depth": lambda: composer.algorithms.StochasticDepth("ResNetBottleneck"),
    "selective_backprop": lambda: composer.algorithms.SelectiveBackprop(start=0.0, end=1.0, interrupt=0),
    "sam": lambda: composer.algorithms.SAM(),
}
COLOUT_LEAVES = 0.85
CLASSES = 10
FORM_STEPS, FORM_WARM_UP = 8, 3


class StepEnds(composer.Callback):
    """When each step ended, all that its algorithms do then included: callbacks come after them."""

    def __init__(self):
        self.seconds = []

    def batch_end(self, state, logger):
        self.seconds.append(time.perf_counter())


def few_layers():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 7, stride=2, padding=3, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2, 1), torch.nn.Conv2d(8, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, CLASSES))


def step_ms(request, method, size, channels_last):
    """A run's step, with the method unless it is None."""
    torch.manual_seed(1)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    name, batch = request["model"], request["batch"]
    network = few_layers() if name == "few_layers" else getattr(torchvision.models, name)(num_classes=CLASSES)
    model = composer.models.ComposerClassifier(network.to(memory_format=layout), CLASSES, train_metrics={}, val_metrics={})
    count = request["warm_up"] + request["steps"]
    data = (torch.randn(batch, 3, size, size).to(memory_format=layout), torch.randint(CLASSES, (batch,)))
    # Fused it fails where a block that is left out has no gradients.
    form = {"foreach": True} if request["method"] == "stochastic_depth" else {"fused": True}
    ends = StepEnds()
    trainer = composer.Trainer(
        model=model, train_dataloader=[data] * count, max_duration=f"{count}ba",
        algorithms=[METHODS[method]()] if method else [], callbacks=[ends],
        optimizers=torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4, **form),
        device="cpu", precision="fp32", device_train_microbatch_size=batch, progress_bar=False, log_to_console=False)
    trainer.fit()
    trainer.close()
    after = ends.seconds[request["warm_up"] - 1:]
    average = statistics.mean if request["mean"] else statistics.median
    return 1e3 * average(b - a for a, b in zip(after, after[1:]))


def in_fork(work, *arguments):
    """What it returns in a child, whose memory is new and goes with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, json.dumps(work(*arguments)).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit(f"a run failed: {arguments}")
    return json.loads(text)


@functools.cache
def is_faster_channels_last(model, size, batch):
    request = {"method": None, "model": model, "batch": batch, "steps": FORM_STEPS, "warm_up": FORM_WARM_UP, "mean": False}
    plain, last, last_again, plain_again = (in_fork(step_ms, request, None, size, form) for form in (False, True, True, False))
    return last + last_again < plain + plain_again


def answer(request):
    size, method = request["size"], request["method"]
    channels_last = is_faster_channels_last(request["model"], size, request["batch"])
    # Beside images of the size that it leaves, as smaller ones are faster.
    size_without = int(COLOUT_LEAVES * size) if method == "colout" else size
    runs = [(None, size_without), (method, size), (method, size), (None, size_without)]
    return {"ms": [in_fork(step_ms, request, *run, channels_last) for run in runs], "channels_last": channels_last}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Composer prints is none
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_flush_denormal(True)
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
