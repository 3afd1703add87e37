"""The recipes that the parts train: on GPUs, and smaller for a trial on the CPU."""

import dataclasses

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

# A cascade whose stages are trained in turn, each on what the ones before have learned.
CASCADE = """
run:        {name: gpu-kit, seed: 1}
model:      {name: ct_cascade, stages: [STAGES], xray_size: XRAY_SIZE, xray_dim: XRAY_DIM}
task:       {name: ct_diffusion}
data:       {name: ct, path: PATH, validate_alignment: false, num_threads: 4}
train:      {eval_every: null, grad_clip_norm: 1.0, log_accuracy: false}
optimizer:  {name: adamw, lr: 1.0e-4, weight_decay: 0.01}
schedule:   {name: constant}
checkpoint: {every: 100ep, keep_best: 0}
loggers:    {jsonl: }
"""


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


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage of a cascade, and how it is trained."""

    side: int
    patch: int
    dim: int
    depth: int
    heads: int
    batch: int
    physics_weight: float


@dataclasses.dataclass(frozen=True)
class Cascade:
    stages: tuple
    xray_size: int
    xray_dim: int

    def recipe(self, folder):
        """Of volumes that `paceline data prepare ct` made; each stage is a phase."""
        stages = ", ".join(f"{{volume_size: {stage.side}, patch: {stage.patch}, dim: {stage.dim}, depth: {stage.depth}, "
                           f"heads: {stage.heads}}}" for stage in self.stages)
        text = CASCADE
        for name, value in {"PATH": folder, "STAGES": stages, "XRAY_SIZE": self.xray_size, "XRAY_DIM": self.xray_dim}.items():
            text = text.replace(name, str(value))
        phases = [f"  stage{number}: {{model: {{num_stages: {number}}}, task: {{physics_weight: {stage.physics_weight}}}, "
                  f"data: {{side: {stage.side}, batch_size_per_rank: {stage.batch}}}}}\n"
                  for number, stage in enumerate(self.stages, 1)]
        return text + "phases:\n" + "".join(phases)


def folder_of_phase(number):
    return f"phases/{number}-stage{number}"


SMALL_CASCADE = Cascade((Stage(16, 4, 64, 2, 2, 8, 0.3), Stage(32, 8, 64, 2, 2, 8, 0.4)), 64, 64)
# With the stages and batches of recipes/ct-cascade.yaml.
FULL_CASCADE = Cascade(
    (Stage(64, 4, 256, 4, 4, 16, 0.3), Stage(128, 8, 384, 6, 6, 8, 0.4), Stage(256, 16, 512, 8, 8, 4, 0.5)), 512, 512)
