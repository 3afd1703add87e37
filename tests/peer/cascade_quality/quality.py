"""How good a cascade of quarter scale is after 1,000 steps of 16, beside the repository's model rebuilt; takes an hour or so.

    python tests/peer/cascade_quality/quality.py BUILD FOLDER [--steps 1000] [--patients 400] [--xray-size 128] [SETTING ...]

BUILD is a build folder, FOLDER is where phantoms, runs and figures go: what is in its figures.json is not made again. A
SETTING as task.condition_noise=0.1 is for paceline's runs. Prints the table of what is reached, and fails below a must. Python
is that of deps/peers.txt.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import prepared
import rebuilt
import safetensors.torch
import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "peers"))
import ct_cascade_twin  # noqa: E402
import ct_diffusion  # noqa: E402

XRAY_DIM = 128
STAGES = ({"volume_size": 16, "patch": 4, "dim": 64, "depth": 4, "heads": 4},
          {"volume_size": 32, "patch": 8, "dim": 96, "depth": 6, "heads": 6},
          {"volume_size": 64, "patch": 16, "dim": 128, "depth": 8, "heads": 8})
TRAINED = 2  # of the stages, where all patients are learnt from
HEART_STEPS = 3  # times as many steps of one patient
REBUILT_RATES = (1e-4, 1e-3)  # its own, and one that suits so few steps; the better counts
RECIPE = {
    "task": {"name": "ct_diffusion"},
    "optimizer": {"name": "adamw", "lr": 2e-3, "weight_decay": 0.01},
    "schedule": {"name": "cosine", "warmup": "50ba"},
    "algorithms": {"ema": {"smoothing": 0.995, "warmup_power": 0.6667}},
}
PHYSICS = (0.3, 0.4, 0.5)


class Quality:
    def __init__(self, options):
        self.options, self.folder = options, options.folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "figures.json"
        self.figures = json.loads(self.path.read_text()) if self.path.exists() else {}

    def figure(self, name, make):
        if name not in self.figures:
            self.figures[name] = make()
            self.path.write_text(json.dumps(self.figures, indent=1) + "\n")
        print(f"{name}: {self.figures[name]:.2f}", flush=True)
        return self.figures[name]

    def paceline(self, *arguments):
        words = [self.options.build / "bin" / "paceline", *arguments]
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=self.folder)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}:\n{result.stderr}")
        return result.stdout

    def data(self):
        made = self.folder / "volumes"
        if not (made / prepared.MANIFEST).exists():
            sides = ",".join(str(stage["volume_size"]) for stage in reversed(STAGES))
            size = self.options.xray_size
            self.paceline("data", "synth", self.folder / "phantoms", "--kind", "phantom", "--patients", self.options.patients,
                          "--size", STAGES[-1]["volume_size"], "--xray-size", size)
            self.paceline("data", "prepare", "ct", self.folder / "phantoms", made, "--sides", sides, "--xray-size", size)
        return made

    def recipe(self, name, data, steps, stages, batch, **others):
        """Phases that train these of STAGES in turn; each may have fewer keys than RECIPE's."""
        phases = {f"stage{number}": {"model": {"num_stages": number}, "data": {"side": STAGES[number - 1]["volume_size"]},
                                     "task": {"physics_weight": PHYSICS[number - 1]}} for number in range(1, stages + 1)}
        recipe = RECIPE | {
            "model": {"name": "ct_cascade", "stages": STAGES[:stages], "xray_size": self.options.xray_size,
                      "xray_dim": XRAY_DIM},
            "data": {"name": "ct", "path": str(data), "global_batch_size": batch, "num_threads": 1},
            "train": {"duration": f"{steps}ba", "eval_every": f"{steps}ba", "grad_clip_norm": 1.0, "log_accuracy": False},
            "checkpoint": {"every": f"{steps}ba", "keep_best": 0},
            "phases": phases} | others
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(recipe, indent=1))  # which is YAML, too
        return path

    def train(self, name, recipe):
        run = self.folder / name
        if not (run / "done").exists():
            self.paceline("train", recipe, "--run-dir", run, *self.options.settings)
            (run / "done").touch()
        return run

    def evaluated(self, run, *settings):
        told = json.loads(self.paceline("eval", run, "--json", *self.options.settings, *settings))
        return {name.split("/")[-1]: value for name, value in told["metrics"].items()}


def trained_rebuilt(quality, data, rate):
    """The mean PSNR of val's patients, by its sampler as it is and mended, the better of both."""
    torch.manual_seed(1)
    side, size = STAGES[0]["volume_size"], quality.options.xray_size
    model = rebuilt.Rebuilt((rebuilt.Shape(side, 64, 4, 4, side // STAGES[0]["patch"], (64, 32)),),
                            rebuilt.Widths((16, 32, 128), 256, 64))
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01, fused=True)
    kept = rebuilt.schedule()

    def loaded(split):
        """Depth first, from the front, as images show rows and columns: its best case."""
        return (prepared.volumes(data, split, side).permute(0, 2, 1, 3).flip(1, 2, 3), prepared.xrays(data, split, size))
    volumes, xrays = loaded("train")
    for step in range(quality.options.steps):
        chosen = torch.randint(len(volumes), (16,))
        loss = rebuilt.training_loss(model, kept, volumes[chosen], xrays[chosen], PHYSICS[0])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 250 == 249:
            print(f"  step {step + 1}: {loss.item():.4f}", flush=True)
    model.eval()
    volumes, xrays = loaded("val")
    return max(prepared.psnr(rebuilt.samples(model, kept, xrays, side, is_mended=is_mended), volumes)
               for is_mended in (False, True))


def upsampled_first_stage(quality, data, run):
    """The PSNR of the first stage's volumes made as fine as the second's: by its twin, with the run's weights."""
    weights = quality.folder / "weights.safetensors"
    quality.paceline("export", run, "-o", weights, "--weights", "ema")
    first, second = STAGES[:2]
    shape = ct_cascade_twin.Stage(first["volume_size"], first["patch"], first["dim"], first["depth"], first["heads"],
                                  xray_size=quality.options.xray_size, xray_dim=XRAY_DIM)
    model = ct_cascade_twin.Denoiser(shape, is_fast=True)
    prefix = "stages.0."
    model.load_state_dict({name.removeprefix(prefix): tensor for name, tensor in
                           safetensors.torch.load_file(weights).items() if name.startswith(prefix)})
    torch.manual_seed(1)
    xrays = prepared.xrays(data, "val", quality.options.xray_size)
    with torch.inference_mode():
        context = model.encode(xrays)
        drawn = ct_diffusion.sampled(lambda x, step: model.denoise(x, step, context),
                                     torch.randn(len(xrays), *(shape.side,) * 3), 50)
        finer = F.interpolate(drawn[:, None], size=(second["volume_size"],) * 3, mode="trilinear")[:, 0]
    return prepared.psnr(finer, prepared.volumes(data, "val", second["volume_size"]))


def learnt_by_heart(quality, data, number):
    """The PSNR of one patient, whom stage `number` alone has learnt."""
    patient = prepared.alone(data, quality.folder / "alone")
    stage = STAGES[number]
    recipe = quality.recipe(f"alone-{number + 1}", patient, HEART_STEPS * quality.options.steps, 1, 1, phases={})
    text = json.loads(recipe.read_text())
    text["model"]["stages"] = [stage]
    text["data"]["side"] = stage["volume_size"]
    text["task"] = text["task"] | {"physics_weight": PHYSICS[number]}
    recipe.write_text(json.dumps(text, indent=1))
    run = quality.train(f"alone-{number + 1}", recipe)
    return quality.evaluated(run, "--weights", "ema")["psnr"]


def rows(quality):
    """Title, what is reached in dB, must and goal."""
    data = quality.data()
    run = quality.train("ours", quality.recipe("ours", data, quality.options.steps, TRAINED, 16))
    wrong = prepared.shuffled(data, quality.folder / "shuffled", quality.options.xray_size)

    def told(folder, metric):
        return lambda: quality.evaluated(run, "--weights", "ema", f"data.path={folder}")[metric]
    first = quality.figure("stage 1", told(data, "psnr_stage1"))
    both = quality.figure("cascade", told(data, "psnr"))
    finer = quality.figure("stage 1 upsampled", lambda: upsampled_first_stage(quality, data, run))
    theirs = max(quality.figure(f"rebuilt, lr {rate}", lambda rate=rate: trained_rebuilt(quality, data, rate))
                 for rate in REBUILT_RATES)
    yield "stage 1 - repository's model rebuilt", first - theirs, 6, 15
    yield "stage 2 from real stage 1 - stage 1 upsampled", both - finer, 1, 2
    yield "cost of shuffled X-rays: stage 1", first - quality.figure("stage 1, shuffled", told(wrong, "psnr_stage1")), 6, 9
    yield "cost of shuffled X-rays: cascade", both - quality.figure("cascade, shuffled", told(wrong, "psnr")), 6, 9
    for number, stage in enumerate(STAGES):
        reached = quality.figure(f"one patient, patch {stage['patch']}", lambda number=number: learnt_by_heart(quality, data, number))
        yield f"one patient overfitted, patch {stage['patch']}", reached, 35, 35


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--patients", type=int, default=400)
    parser.add_argument("--xray-size", type=int, default=128)
    parser.add_argument("settings", nargs="*")
    options = parser.parse_intermixed_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    torch.set_flush_denormal(True)
    rebuilt.check_size()
    found = list(rows(Quality(options)))
    print("\n| | reached, dB | must | goal |\n|---|---|---|---|")
    for title, reached, must, goal in found:
        print(f"| {title} | {reached:.1f} | ≥ {must} | ≥ {goal} |")
    if missed := [title for title, reached, must, _ in found if reached < must]:
        raise SystemExit("missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
