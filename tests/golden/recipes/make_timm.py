"""Writes timm.json: what procedures A1 to A3 of "ResNet strikes back" (Wightman et al., 2021, table 2) do to their
numbers, by timm 1.0.31's own scheduler, sampler and parameter groups.

    python tests/golden/recipes/make_timm.py

The scheduler is stepped once an epoch. The rate that the warm-up begins at (1e-4) and the lowest (1e-6) are not in the
paper; they are those of timm's command line. Repeated augmentation gives a rank floor(samples // 256 * 256 / ranks)
samples an epoch.
"""

import timm
import torch
from plotted_steps import IMAGENET, distributed_steps, run, write
from timm.optim import param_groups_weight_decay
from timm.scheduler import CosineLRScheduler

RANKS, BATCH = 4, 512


def entry(epochs, lr, weight_decay, size, mixup, drop_path, smoothing, repeats):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=lr)
    scheduler = CosineLRScheduler(optimizer, t_initial=epochs, lr_min=1e-6, warmup_t=5, warmup_lr_init=1e-4)
    rates = []
    for epoch in range(epochs):
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step(epoch + 1)
    iterations = distributed_steps(IMAGENET, RANKS, BATCH, drop_last=True)
    if repeats:
        iterations = IMAGENET // 256 * 256 // RANKS // BATCH
    return run(epochs, iterations, lambda step: rates[step // iterations], size=size, samples=IMAGENET, ranks=RANKS,
               global_batch=RANKS * BATCH, optimizer="lamb", weight_decay=weight_decay, label_smoothing=smoothing,
               precision="fp16", mixup=mixup, cutmix=1.0, drop_path=drop_path, repeats=repeats, bce_threshold=0.2,
               bce_sum=False, eval_resize=int(224 / 0.95), eval_crop=224)


def main():
    with torch.device("meta"):
        model = timm.create_model("resnet50")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = param_groups_weight_decay(model, weight_decay=0.02)
    undecayed = [names[id(each)] for group in groups if group["weight_decay"] == 0 for each in group["params"]]
    write("timm.json", {"timm-a1": entry(600, 5e-3, 0.01, 224, 0.2, 0.05, 0.1, 3),
                        "timm-a2": entry(300, 5e-3, 0.02, 224, 0.1, 0.05, 0, 3),
                        "timm-a3": entry(100, 8e-3, 0.02, 160, 0.1, 0, 0, 0)}, undecayed)


if __name__ == "__main__":
    main()
