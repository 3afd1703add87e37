"""What curves_test.py trains beside paceline: a ResNet-18 on an image folder by torchvision and plain PyTorch, as their
users write it and with what is fastest on a few cores. Prints the top-1 accuracy after each epoch as JSON.

    python torch_training.py FOLDER OUTPUT SETTINGS        # SETTINGS: JSON of what the recipe says
"""

import json
import math
import os
import pathlib
import sys

import torch
import torchvision
from torchvision import transforms

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def loader(folder, steps, settings, **options):
    steps = transforms.Compose([*steps, transforms.ToTensor(), transforms.Normalize(MEAN, DEVIATION)])
    return torch.utils.data.DataLoader(torchvision.datasets.ImageFolder(folder, steps), settings["batch"],
                                       num_workers=settings["workers"], persistent_workers=settings["workers"] > 0,
                                       **options)


def make_optimizer(model, settings):
    """Biases and BatchNorm without weight decay."""
    groups = [{"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": settings["weight_decay"]},
              {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0}]
    return torch.optim.SGD(groups, settings["lr"], momentum=settings["momentum"], fused=True)


def make_schedule(optimizer, settings, steps_per_epoch):
    """A linear warm-up of an epoch from a hundredth, then half a cosine to 0."""
    warmup, total = steps_per_epoch, settings["epochs"] * steps_per_epoch

    def factor(step):
        if step < warmup:
            return 0.01 + 0.99 * step / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def train_epoch(model, batches, optimizer, schedule):
    model.train()
    for images, labels in batches:
        optimizer.zero_grad(set_to_none=True)
        logits = model(images.contiguous(memory_format=torch.channels_last))
        torch.nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
        schedule.step()


@torch.inference_mode()
def top1(model, batches):
    model.eval()
    right = sum((model(images.contiguous(memory_format=torch.channels_last)).argmax(1) == labels).sum()
                for images, labels in batches)
    return right.item() / len(batches.dataset)


def main(folder, output, settings):
    torch.set_num_threads(len(os.sched_getaffinity(0)))  # by itself it may count fewer
    torch.set_flush_denormal(True)
    torch.manual_seed(settings["seed"])
    side = settings["side"]
    train = loader(folder / "train", [transforms.RandomCrop(side, padding=settings["padding"])], settings, shuffle=True)
    val = loader(folder / "val", [], settings)
    model = torchvision.models.resnet18(num_classes=10).to(memory_format=torch.channels_last)
    optimizer = make_optimizer(model, settings)
    schedule = make_schedule(optimizer, settings, len(train))
    curve = []
    for _ in range(settings["epochs"]):
        train_epoch(model, train, optimizer, schedule)
        curve.append(top1(model, val))
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, output)
    print(json.dumps(curve))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
