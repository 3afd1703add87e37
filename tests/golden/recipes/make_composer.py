"""Writes composer.json: what MosaicML's recipes for ResNet-50 (mosaicml/examples, blogs/resnet) and the Composer
guide's colab_config and dev_config do to their numbers, by Composer's own schedulers, durations and sizes
(mosaicml 0.32.1).

    python tests/golden/recipes/make_composer.py

Composer hands interpolate() the ratio of the sizes, which makes 119 pixels of 120. Its optimizers are given all
parameters, which all decay. Loaders drop the last batch. The mild recipe is run
with scale_schedule_ratio 0.32.
"""

import types

import torch
from composer.algorithms import ProgressiveResizing
from composer.core import Time, Timestamp
from composer.optim import CosineAnnealingWithWarmupScheduler
from composer.trainer.trainer import _scale_max_duration_by_ssr
from plotted_steps import IMAGENET, distributed_steps, run, stair, write


def sizes_of(total, width, **options):
    algorithm = ProgressiveResizing(size_increment=4, **options)
    sizes = []

    def keep(_, value):
        if value.dim() == 4:
            sizes.append(value.shape[3])

    image, label = torch.zeros(1, 1, width, width), torch.zeros(1)
    for step in range(total):
        elapsed = types.SimpleNamespace(value=step / total)
        state = types.SimpleNamespace(batch_get_item=lambda key: image if key == 0 else label, batch_set_item=keep,
                                      get_elapsed_duration=lambda: elapsed)
        algorithm.apply(None, state, None)
    return stair(sizes)


def schedule(lr, length, iterations, ratio, warmup):
    """The rate of a step, of a run of `length` after it was scaled."""
    scheduler = CosineAnnealingWithWarmupScheduler(t_warmup=warmup)

    def lr_at(step):
        state = types.SimpleNamespace(max_duration=length, dataloader_len=iterations, timestamp=Timestamp(batch=step))
        return lr * scheduler(state, ratio)

    return lr_at


def mosaic(ratio, **figures):
    iterations = distributed_steps(IMAGENET, 8, 256, drop_last=True)
    length = Time.from_timestring("90ep")
    if ratio != 1:
        length = _scale_max_duration_by_ssr(ratio, length)
    return run(length.value, iterations, schedule(2.048, length, iterations, ratio, "8ep"),
               sizes_of(length.value * iterations, 176, initial_scale=0.5, delay_fraction=0.4, finetune_fraction=0.2),
               samples=IMAGENET, ranks=8, global_batch=2048, optimizer="decoupled_sgdw", momentum=0.875,
               weight_decay=5e-4, precision="fp16", bce_sum=True, ema_half_life="100ba", ema_interval="20ba",
               eval_resize=232, eval_crop=224, lost_pixels=1, **figures)


def guide(samples, batch, epochs, warmup, **figures):
    iterations = samples // batch
    length = Time(epochs, "ep")
    return run(epochs, iterations, schedule(0.01, length, iterations, 1.0, warmup), size=224, samples=samples, ranks=1,
               global_batch=batch, optimizer="decoupled_sgdw", momentum=0.9, weight_decay=1e-4, precision="fp16",
               label_smoothing=0.1, mixup=0.2, clip_norm=1.0, eval_resize=255, eval_crop=224, **figures)


def main():
    quarter = max(1, 1000 // 64 // 4)
    write("composer.json", {
        "mosaic-mild": mosaic(0.32, label_smoothing=0.08),
        "mosaic-medium": mosaic(1, label_smoothing=0.1, mixup=0.2, sam_rho=0.5, sam_interval=10),
        "guide-composer-colab": guide(1000, 64, 3, f"{quarter}ba"),
        "guide-composer-dev": guide(10000, 128, 10, "5ep", cutmix=1.0, ema_half_life="50ba", ema_interval="1ba"),
    }, [])


if __name__ == "__main__":
    main()
