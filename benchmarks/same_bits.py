"""Trains eleven recipes with two builds and compares what they leave: a change that should not affect numbers
gives the same checkpoints, to the last bit, and the same metrics.

    python3 benchmarks/same_bits.py OLD_BUILD NEW_BUILD

Each build is a folder with bin/paceline, of a clone that stands beside this one. Ends with 1 if anything differs."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

VIT = "{name: vit, img_size: 32, patch_size: 8, embed_dim: 48, depth: 2, num_heads: 3}"
BASE = """
run: {seed: 3}
data: {name: synthetic, num_samples: 46, num_val_samples: 9, num_classes: 5, size: 32, image_size: 32,
       global_batch_size: 10, num_threads: 1}
train: {duration: 7ba, eval_every: 4ba, grad_clip_norm: 1}
checkpoint: {every: 3ba, keep_best: 0}
loggers: {jsonl: }
"""
SGD = "optimizer: {name: sgd, lr: 0.05}"
ADAMW = "optimizer: {name: adamw, lr: 1e-3}"
RECIPES = {  # text, ranks, overrides
    "resnet": (f"model: {{name: resnet18}}\n{SGD}", 1, []),
    "vit": (f"model: {VIT}\n{ADAMW}", 1, []),
    "vit_drops": (f"model: {VIT}\n{ADAMW}", 2,
                  ["model.proj_drop_rate=0.1", "model.attn_drop_rate=0.1", "model.drop_path_rate=0.5"]),
    "ddp": (f"model: {VIT}\n{SGD}", 2, ["parallel.strategy=ddp"]),
    "fsdp": (f"model: {VIT}\n{ADAMW}", 2, ["parallel.strategy=fsdp"]),
    "zero2": (f"model: {VIT}\n{ADAMW}", 2, ["parallel.strategy=zero2"]),
    "bf16": (f"model: {VIT}\n{ADAMW}", 1, ["train.precision=bf16"]),
    "fp16": (f"model: {VIT}\n{ADAMW}", 2, ["train.precision=fp16", "parallel.strategy=ddp"]),
    "accumulation": (f"model: {VIT}\n{SGD}", 2, ["train.grad_accum_steps=2"]),
    "sync_batch_norm": (f"model: {{name: resnet18}}\n{SGD}", 2, ["parallel.sync_batch_norm=true"]),
    "augmented": (f"model: {VIT}\n{SGD}", 1,
                  ["data.train_transforms=[{name: random_crop, size: 32, padding: 4}, {name: rand_augment}, normalize, "
                   "{name: random_erasing, p: 0.5}]"]),
}


def train(build, recipe, ranks, run, *overrides):
    command = [build / "bin" / "paceline", "train", recipe, "--nproc", str(ranks), "--run-dir", run, *overrides]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}")


def remains(run):
    """Hashes of all tensors on disk, and what was logged but for times."""
    files = {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in sorted(run.rglob("*.safetensors"))}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    shown = [{key: value for key, value in line.items()
              if key != "wall_time" and not key.startswith(("time/", "throughput/", "memory/", "system/"))}
             for line in lines if "communication" not in line.values()]  # which tells times
    return files, shown


def run_all(build, folder):
    """Each recipe to its end, and once more in two starts."""
    found = {}
    for name, (text, ranks, overrides) in RECIPES.items():
        recipe = folder / f"{name}.yaml"
        recipe.write_text(BASE + text)
        train(build, recipe, ranks, folder / name, *overrides)
        found[name] = remains(folder / name)
    recipe, resumed = folder / "ddp.yaml", folder / "resumed"
    train(build, recipe, 2, resumed, "parallel.strategy=ddp", "train.duration=3ba", "schedule=constant")
    train(build, recipe, 2, resumed, "parallel.strategy=ddp", "schedule=constant", "--resume", "auto")
    found["resume"] = remains(resumed)
    return found


def main(old, new):
    with tempfile.TemporaryDirectory(prefix="paceline-bits-") as folder:
        found = []
        for side, build in (("old", old), ("new", new)):
            (place := pathlib.Path(folder) / side).mkdir()
            found.append(run_all(pathlib.Path(build).resolve(), place))
    differ = False
    for name in found[0]:
        same_files, same_metrics = (found[0][name][part] == found[1][name][part] for part in (0, 1))
        differ = differ or not (same_files and same_metrics)
        print(f"{name:<16} {len(found[0][name][0])} files {'equal' if same_files else 'DIFFER'}, "
              f"{len(found[0][name][1])} lines of metrics {'equal' if same_metrics else 'DIFFER'}")
    raise SystemExit(1 if differ else 0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
