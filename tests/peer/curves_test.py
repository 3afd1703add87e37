"""A ResNet-18 learns drawn digits as well as under torchvision and PyTorch, over three seeds; how long both took is printed."""

import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import time
import unittest

from paceline_process import RunTest, environment, paceline, read_metrics

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
PEER = pathlib.Path(__file__).with_name("torch_training.py")
SEEDS = (1, 2, 3)
TIMEOUT_S = 900
ENVIRONMENT = environment(OMP_WAIT_POLICY="passive")

# What both do. Of 0, 1 and 2 workers the peer takes the least time, wall and CPU, with WORKERS on two cores.
SETTINGS = {"side": 32, "padding": 2, "batch": 50, "epochs": 10, "lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4}
WORKERS = 0
RECIPE = """
run:       {name: digits, seed: SEED}
model:     {name: resnet18}
data:
  name: image_folder
  path: DATA
  image_size: SIDE
  global_batch_size: BATCH
  train_transforms:
    - {name: random_crop, size: SIDE, padding: PADDING}
    - {name: normalize}
  eval_transforms:
    - {name: normalize}
train:     {duration: EPOCHSep, precision: fp32, channels_last: true, log_accuracy: false}
optimizer: {name: sgd, lr: LR, momentum: MOMENTUM, weight_decay: WEIGHT_DECAY}
schedule:  {name: cosine, warmup: 1ep}
checkpoint: {every: EPOCHSep}
loggers:   {jsonl: }
"""


class Training:
    """A finished training: the top-1 accuracy after each epoch, and what it took from start to end of its process."""

    def __init__(self, work):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        work()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wall_s = time.perf_counter() - begin
        self.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.curve = []


class Curves(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digits = cls.root / "digits"
        made = paceline("data", "synth", cls.digits, "--like", "digits", "--train-per-class", 200, "--val-per-class", 100,
                        "--seed", 1)
        assert made.code == 0, made

    def by_paceline(self, seed):
        text = RECIPE
        for name, value in (SETTINGS | {"seed": seed, "data": self.digits}).items():
            text = text.replace(name.upper(), str(value))
        recipe, run = self.write_recipe(text=text, name=f"{seed}.yaml"), self.run_directory(str(seed))
        training = Training(lambda: self.train(recipe, "--run-dir", run, timeout=TIMEOUT_S, env=ENVIRONMENT))
        training.curve = [line["val/top1"] for line in read_metrics(run) if line.get("event") == "eval"]
        return training

    def by_torch(self, seed):
        settings = json.dumps(SETTINGS | {"seed": seed, "workers": WORKERS})
        told = []
        training = Training(lambda: told.append(subprocess.run(
            [str(PYTHON), str(PEER), str(self.digits), str(self.root / f"{seed}.pt"), settings], capture_output=True,
            text=True, timeout=TIMEOUT_S, env=ENVIRONMENT)))
        self.assertEqual(told[0].returncode, 0, told[0].stderr)
        training.curve = json.loads(told[0].stdout)
        return training

    def test_final_accuracy_is_the_peers(self):
        ours, theirs = [], []
        for number, seed in enumerate(SEEDS):
            # In turn, so that what slows the machine for a while does not slow one side alone.
            for is_ours in ((True, False) if number % 2 == 0 else (False, True)):
                (ours if is_ours else theirs).append(self.by_paceline(seed) if is_ours else self.by_torch(seed))
        self.print_report(ours, theirs)
        our_top1, their_top1 = ([training.curve[-1] for training in side] for side in (ours, theirs))
        self.assertEqual({len(training.curve) for training in ours + theirs}, {SETTINGS["epochs"]})
        variance = (statistics.variance(our_top1) + statistics.variance(their_top1)) / 2
        standard_error = math.sqrt(2 * variance / len(SEEDS))  # of the difference of two means
        self.assertGreaterEqual(statistics.mean(our_top1) - statistics.mean(their_top1), -standard_error)

    @staticmethod
    def print_report(ours, theirs):
        print("\nepoch  paceline  PyTorch   (top-1, mean over seeds)")
        for epoch, (a, b) in enumerate(zip(zip(*(t.curve for t in ours)), zip(*(t.curve for t in theirs))), 1):
            print(f"{epoch:5}  {statistics.mean(a):8.4f} {statistics.mean(b):8.4f}")
        for name, side in (("paceline", ours), ("PyTorch", theirs)):
            print(f"{name}: final top-1 {[round(t.curve[-1], 4) for t in side]}, wall {[round(t.wall_s, 1) for t in side]} s, "
                  f"CPU {[round(t.cpu_s, 1) for t in side]} s")
        for what in ("wall_s", "cpu_s"):
            ratios = sorted(getattr(a, what) / getattr(b, what) for a, b in zip(ours, theirs))
            print(f"{what} ratio paceline / PyTorch: median {statistics.median(ratios):.3f}, {ratios[0]:.3f} to {ratios[-1]:.3f}")
        print(f"load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)


if __name__ == "__main__":
    unittest.main()
