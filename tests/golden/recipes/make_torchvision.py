"""Writes torchvision-v1.json and torchvision-v2.json: what torchvision's references/classification/train.py does to its
numbers, by torch 2.11's own schedulers and torchvision 0.26's own parameter groups.

    python tests/golden/recipes/make_torchvision.py

Both schedulers are stepped once an epoch. V1: the defaults, 90 epochs of --batch-size 32 on 8 GPUs. V2: --batch-size
128 --lr 0.5 --lr-scheduler cosineannealinglr --lr-warmup-epochs 5 --lr-warmup-method linear --lr-warmup-decay 0.01
--auto-augment ta_wide --epochs 600 --random-erase 0.1 --weight-decay 0.00002 --norm-weight-decay 0.0
--label-smoothing 0.1 --mixup-alpha 0.2 --cutmix-alpha 1.0 --train-crop-size 176 --model-ema --val-resize-size 232
--ra-sampler --ra-reps 4, on 8 GPUs. Its sampler gives a rank floor(samples // 256 * 256 / ranks) samples an epoch.
"""

import torch
import torchvision
from plotted_steps import IMAGENET, distributed_steps, run, write
from torch.optim import lr_scheduler
from torchvision.ops._utils import split_normalization_params


def rates(epochs, lr, make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=lr)
    scheduler = make(optimizer)
    values = []
    for _ in range(epochs):
        values.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return values


def first():
    values = rates(90, 0.1, lambda o: lr_scheduler.StepLR(o, step_size=30, gamma=0.1))
    iterations = distributed_steps(IMAGENET, 8, 32, drop_last=False)
    return run(90, iterations, lambda step: values[step // iterations], size=224, samples=IMAGENET, ranks=8,
               global_batch=256, optimizer="sgd", momentum=0.9, weight_decay=1e-4, label_smoothing=0, precision="fp32")


def second():
    epochs, warmup, batch, ranks, interval = 600, 5, 128, 8, 32
    values = rates(epochs, 0.5, lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, start_factor=0.01, total_iters=warmup),
            lr_scheduler.CosineAnnealingLR(o, T_max=epochs - warmup)], milestones=[warmup]))
    iterations = IMAGENET // 256 * 256 // ranks // batch
    decay = 1 - min(1.0, (1 - 0.99998) * ranks * batch * interval / epochs)
    return run(epochs, iterations, lambda step: values[step // iterations], size=176, samples=IMAGENET, ranks=ranks,
               global_batch=1024, optimizer="sgd", momentum=0.9, weight_decay=2e-5, label_smoothing=0.1,
               precision="fp32", mixup=0.2, cutmix=1.0, repeats=4, eval_resize=232, eval_crop=224, ema_decay=decay,
               ema_interval=f"{interval}ba")


def main():
    with torch.device("meta"):
        model = torchvision.models.resnet50()
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    norms, _ = split_normalization_params(model)
    write("torchvision-v1.json", {"torchvision-v1": first()}, [])
    write("torchvision-v2.json", {"torchvision-v2": second()}, [names[id(parameter)] for parameter in norms])


if __name__ == "__main__":
    main()
