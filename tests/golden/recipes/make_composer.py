"""Writes composer.json: what MosaicML's recipes for ResNet-50 (mosaicml/examples, blogs/resnet) and the Composer
guide's configurations and production command do to their numbers, by Composer's own schedulers, durations and sizes
(mosaicml 0.32.1).

    python tests/golden/recipes/make_composer.py

Composer hands interpolate() the ratio of the sizes, which makes 119 pixels of 120. Its optimizers are given all
parameters, which all decay. Sizes are those without ColOut. Loaders drop the last batch. The mild recipe is run with
scale_schedule_ratio 0.32. The guide's configuration for four GPUs has no DistributedSampler; its figures are of one.
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


def mosaic(ratio, weight_decay=5e-4, initial_scale=0.5, delay_fraction=0.4, **figures):
    iterations = distributed_steps(IMAGENET, 8, 256, drop_last=True)
    length = Time.from_timestring("90ep")
    if ratio != 1:
        length = _scale_max_duration_by_ssr(ratio, length)
    return run(length.value, iterations, schedule(2.048, length, iterations, ratio, "8ep"),
               sizes_of(length.value * iterations, 176, initial_scale=initial_scale, delay_fraction=delay_fraction,
                        finetune_fraction=0.2),
               samples=IMAGENET, ranks=8, global_batch=2048, optimizer="decoupled_sgdw", momentum=0.875,
               weight_decay=weight_decay, precision="fp16", bce_sum=True, ema_half_life="100ba", ema_interval="20ba",
               blur_first=True, blur_maxpools=True, eval_resize=232, eval_crop=224, lost_pixels=1, **figures)


def guide(samples, batch, epochs, warmup, lr=0.01, ranks=1, **figures):
    """`batch`: that of a process."""
    iterations = distributed_steps(samples, ranks, batch, drop_last=True)
    length = Time(epochs, "ep")
    return run(epochs, iterations, schedule(lr, length, iterations, 1.0, warmup), size=224, samples=samples,
               ranks=ranks, global_batch=batch * ranks, optimizer="decoupled_sgdw", momentum=0.9, weight_decay=1e-4,
               precision="fp16", label_smoothing=0.1, mixup=0.2, clip_norm=1.0, eval_resize=255, eval_crop=224,
               **figures)


def augmented(samples, batch, epochs, lr, ranks=1, **figures):
    return guide(samples, batch, epochs, "5ep", lr, ranks, cutmix=1.0, ema_half_life="50ba", ema_interval="1ba",
                 rand_augment_family="composer", rand_augment_depth=2, rand_augment_severity=9, blur_first=True,
                 blur_maxpools=True, **figures)


def main():
    quarter = max(1, 1000 // 64 // 4)
    write("composer.json", {
        "mosaic-mild": mosaic(0.32, label_smoothing=0.08),
        "mosaic-medium": mosaic(1, label_smoothing=0.1, mixup=0.2, sam_rho=0.5, sam_interval=10),
        "mosaic-hot": mosaic(1, weight_decay=3e-4, initial_scale=0.6, delay_fraction=0.2, label_smoothing=0.13,
                             mixup=0.25, sam_rho=0.5, sam_interval=5, colout_rows=0.05, colout_columns=0.05,
                             rand_augment_family="composer", rand_augment_depth=1, rand_augment_severity=10,
                             stochastic_depth=0.1, stochastic_method="sample", stochastic_distribution="linear"),
        "guide-composer-colab": guide(1000, 64, 3, f"{quarter}ba", subset="tiny"),
        "guide-composer-dev": guide(10000, 128, 10, "5ep", cutmix=1.0, ema_half_life="50ba", ema_interval="1ba",
                                    subset="small"),
        "guide-composer-validation": augmented(25000, 256, 10, 0.05, subset="25000"),
        "guide-composer-ddp": augmented(IMAGENET, 128, 90, 0.4, ranks=4, subset="full", sam_rho=0.05, sam_interval=1,
                                        swa_start="10ep", swa_interval="1ep", early_stop=10),
        "guide-composer-production": augmented(IMAGENET, 512, 90, 0.1, subset="full", swa_start="10ep",
                                               swa_interval="1ep", early_stop=5),
    }, [])


if __name__ == "__main__":
    main()
