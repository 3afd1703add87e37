"""The recipes that the parts train: on GPUs, and smaller for a trial on the CPU."""

RECIPE = """
run:        {name: gpu-kit, seed: 1}
model:      {name: MODEL, num_classes: 10}
data:       {name: synthetic, num_samples: 8192, num_val_samples: 16, num_classes: 10, size: SIZE,
             global_batch_size: BATCH, train_transforms: [{name: normalize}]}
train:      {duration: STEPSba, eval_every: null}
optimizer:  {name: OPTIMIZER}
schedule:   {name: constant}
checkpoint: {every: null, keep_best: 0}
loggers:    {jsonl: }
"""

SGD = "sgd, lr: 0.02"
# With BatchNorm and ReLU training makes much of little: at this rate 1e-7 becomes 1e-5 in eight steps, at 0.02 1e-2.
SLOW_SGD = "sgd, lr: 2.0e-5"
ADAMW = "adamw, lr: 0.001"
# A transformer whose steps are short: launching its kernels takes longer than computing them.
VIT64 = "vit, img_size: 32, patch_size: 8, embed_dim: 64, depth: 12, num_heads: 4"
SMALL_VIT = "vit, img_size: 32, patch_size: 8, embed_dim: 32, depth: 2, num_heads: 2"


def recipe(model, size, batch, steps, optimizer):
    text = RECIPE
    for name, value in {"MODEL": model, "SIZE": size, "BATCH": batch, "STEPS": steps, "OPTIMIZER": optimizer}.items():
        text = text.replace(name, str(value))
    return text


def resnet18(is_cpu, steps=8):
    return recipe("resnet18", 64, 8 if is_cpu else 32, steps, SLOW_SGD)


def vit_tiny(is_cpu, steps=8):
    if is_cpu:
        return recipe(SMALL_VIT, 32, 8, steps, ADAMW)
    return recipe("vit_tiny_patch16_224", 224, 16, steps, ADAMW)


def launch_bound(is_cpu):
    return recipe(VIT64, 32, 1, 60 if is_cpu else 600, SGD)
