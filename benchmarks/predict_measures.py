"""Photos classified from the start of a process to its end: 1,000 JPEG files of ImageNet's size, ResNet-18, two threads."""

import time

from loader_measures import synth_photos
from workspace import Measure

RECIPE = """
model:     {name: MODEL, num_classes: 1000}
data:      {name: synthetic, num_samples: 8, num_val_samples: 1, num_classes: 1000, size: 64, global_batch_size: 8,
            eval_transforms: [{name: resize, size: 256}, {name: center_crop, size: 224}, {name: normalize}]}
train:     {duration: 1ba, eval_every: 1ba, log_accuracy: false, eval_batches: 1}
optimizer: {name: sgd, lr: 0.0}
checkpoint: {every: 1ba, keep_best: 0}
"""
PEER_WORKERS = (0, 1, 2)


def photos(workspace):
    return synth_photos(workspace, "photos-to-tell", per_class=250) / "train"


def run_of(workspace, model):
    """A run with weights, and its export."""
    name = f"predicting-{model}"
    weights = workspace.folder / f"{name}.safetensors"
    if not weights.exists():
        workspace.train(RECIPE.replace("MODEL", model), run=name)
        workspace.paceline("export", workspace.folder / name, "-o", weights)
    return workspace.folder / name, weights


def seconds(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def own(workspace, model, precision):
    run, _ = run_of(workspace, model)
    folder = photos(workspace)
    return seconds(lambda: workspace.paceline("predict", run, folder, "--json", f"train.precision={precision}"))


def peer(workspace, model, precision):
    """With those of its settings that are fastest here, which is found once."""
    _, weights = run_of(workspace, model)
    folder = photos(workspace)

    def run(workers, form):
        return seconds(lambda: workspace.peer("predict.py", folder, weights, model, workers, form, precision))

    best = workspace.settings.get((model, precision))
    if best is None:
        tried = {(workers, form): run(workers, form) for workers in PEER_WORKERS for form in ("eager", "frozen")}
        best = workspace.settings[model, precision] = min(tried, key=tried.get)
    return run(*best)


TASK = "1,000 photos told, from process start, ResNet-18, two threads"

MEASURES = [
    Measure("predict", f"{TASK}, bfloat16", "s", "≤ 0.5", "≤ 0.25", lambda w: own(w, "resnet18", "bf16"),
            lambda w: peer(w, "resnet18", "bfloat16"), beside="timm, its fastest settings"),
    Measure("predict_fp32", f"{TASK}, float32", "s", "", "", lambda w: own(w, "resnet18", "fp32"),
            lambda w: peer(w, "resnet18", "float32"), beside="timm, its fastest settings"),
]
