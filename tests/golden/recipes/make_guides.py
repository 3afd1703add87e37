"""Writes guides.json: what the torchrun guide's and the Lightning guide's commands do to their numbers, by torch 2.11's
own schedulers; and cifar10-finetune.json: the fine-tuning of google-research/vision_transformer, by its formula.

    python tests/golden/recipes/make_guides.py

torchrun (abhi1021/resnet50-imagenet-1k): --batch-size is that of all processes; CosineAnnealingWarmRestarts(T_0=30,
eta_min=1e-5) is stepped once an epoch, OneCycleLR(max_lr=0.015, pct_start=0.4, div_factor=30, final_div_factor=1000)
with each batch. Lightning (aiplaybookin/lightning-hydra-template): batch_size is that of a process; 45,000 images of
CIFAR-10 are trained on; ReduceLROnPlateau(patience=10) has nothing to do in ten epochs. The fine-tuning: base_lr * half
a cosine over the steps behind 500 of warm-up * min(1, step / 500). SGD and Adam are given all parameters.
"""

import math

import torch
from plotted_steps import IMAGENET, distributed_steps, run, write
from torch.optim import lr_scheduler


def record(steps, lr, make):
    """Of each step the rate and the momentum."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=lr, momentum=0.9, nesterov=True)
    scheduler = make(optimizer)
    values = []
    for step in range(steps):
        values.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["momentum"]))
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    return values


def torchrun(batch, ranks, is_one_cycle=False):
    iterations = distributed_steps(IMAGENET, ranks, batch // ranks, drop_last=False)
    figures = {"samples": IMAGENET, "ranks": ranks, "global_batch": batch, "optimizer": "sgd", "nesterov": True,
               "weight_decay": 1e-4, "precision": "fp16", "label_smoothing": 0.1, "mixup": 0.2, "clip_norm": 1.0,
               "eval_crop": 224}
    if not is_one_cycle:
        values = record(90, 0.05, lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=30, eta_min=1e-5))
        return run(90, iterations, lambda step: values[step // iterations][0], size=224, momentum=0.9, **figures)
    values = record(90 * iterations, 0.05, lambda o: lr_scheduler.OneCycleLR(
        o, max_lr=0.015, total_steps=90 * iterations, pct_start=0.4, div_factor=30, final_div_factor=1000))
    entry = run(90, iterations, lambda step: values[step][0], size=224, **figures)
    return {**entry, "momenta": [values[step][1] for step in entry["steps"]]}


def lightning(epochs, ranks):
    iterations = distributed_steps(45_000, ranks, 384, drop_last=False)
    return run(epochs, iterations, lambda _: 2e-3, size=224, samples=45_000, ranks=ranks, global_batch=384 * ranks,
               optimizer="adam", weight_decay=0, precision="fp32", label_smoothing=0, clip_norm=0.5)


def finetune():
    total, warmup = 10_000, 500

    def lr_at(step):
        progress = min(max((step - warmup) / (total - warmup), 0), 1)
        return 0.03 * 0.5 * (1 + math.cos(math.pi * progress)) * min(1, step / warmup)

    return run(1, total, lr_at, size=384, samples=50_000, ranks=8, global_batch=512, optimizer="sgd", momentum=0.9,
               weight_decay=0, precision="fp32", label_smoothing=0, clip_norm=1.0)


def main():
    write("guides.json", {
        "guide-torchrun-4gpu": torchrun(512, 4),
        "guide-torchrun-8gpu": torchrun(1024, 8),
        "guide-torchrun-onecycle": torchrun(512, 4, is_one_cycle=True),
        "vit-b32-cifar10-ddp1x2": lightning(10, 2),
        "vit-b32-cifar10-fsdp4": lightning(26, 4),
        "vit-b32-cifar10-ddp4x2": lightning(26, 8),
    }, [])
    # The source counts steps, not epochs: steps_per_epoch is not its own, and is left out.
    fine = {**finetune(), "epochs": None, "steps_per_epoch": None}
    write("cifar10-finetune.json", {"vit-b32-cifar10-finetune": fine}, [])


if __name__ == "__main__":
    main()
