"""A cascade of stages that make CT volumes of X-rays: from phantoms through phases to the end, and through deaths."""

import json
import os
import random
import signal
import time
import unittest

from paceline_process import (RunTest, checkpoint_digests, checkpoints, kill, make_phantoms, paceline, read_metrics, start,
                              wait_until)

NUM_KILLS = int(os.environ.get("PACELINE_NUM_KILLS", "2"))
PATIENTS = 24
STEPS_PER_EPOCH = 3
PHYSICS_WEIGHT = 0.3  # the task's own

RECIPE = """
run:        {seed: 3}
task:       {name: ct_diffusion, sampling_steps: 3}
model:      {name: ct_cascade, xray_size: 32, xray_dim: 64,
             stages: [{volume_size: 12, patch: 4, dim: 32, depth: 1, heads: 2},
                      {volume_size: 24, patch: 8, dim: 32, depth: 1, heads: 2}]}
data:       {name: ct, global_batch_size: 8, num_threads: 1}
train:      {duration: 3ep, grad_clip_norm: 1}
optimizer:  {name: adamw, lr: 2e-3}
algorithms: {ema: {smoothing: 0.9, warmup_power: 0.75}}
checkpoint: {every: 1ba, keep_last: 2, monitor: val/psnr}
loggers:    {jsonl: }
phases:
  stage1: {model: {num_stages: 1}, data: {side: 12}}
  stage2: {model: {num_stages: 2}, data: {side: 24}, start_from: best}
"""


class Cascade(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, cls.volumes = make_phantoms(cls.root, PATIENTS, (24, 12), 32)

    def setUp(self):
        self.recipe = self.write_recipe(text=RECIPE, name="cascade.yaml")

    def command(self, run, *more):
        return "train", self.recipe, f"data.path={self.volumes}", "--run-dir", run, *more

    def finished(self, run, *more):
        result = paceline(*self.command(run, *more), cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result

    @staticmethod
    def phases(run):
        return [run / "phases" / name for name in ("1-stage1", "2-stage2")]

    def test_stages_are_trained_in_turn_and_through_any_death(self):
        reference = self.run_directory("whole")
        begin = time.monotonic()
        self.finished(reference)
        length = time.monotonic() - begin
        summary = json.loads((reference / "summary.json").read_text())
        self.assertEqual([phase["name"] for phase in summary["phases"]], ["stage1", "stage2"])
        evaluated = [line for line in read_metrics(self.phases(reference)[1]) if "val/psnr" in line]
        self.assertEqual(len(evaluated), 3)
        for key in ("val/psnr_stage1", "val/ssim", "val/hu_mae", "val/projection_error", "val/physics",
                    "val_ema/psnr"):
            self.assertIn(key, evaluated[-1])
        for phase in self.phases(reference):
            trained = [line for line in read_metrics(phase) if "train/loss" in line]
            self.assertEqual(len(trained), 3 * STEPS_PER_EPOCH)
            for line in trained:
                parts = line["train/diffusion"] + PHYSICS_WEIGHT * line["train/physics"]
                self.assertAlmostEqual(line["train/loss"], parts, delta=1e-5 * parts)
                self.assertGreater(line["train/physics"], 0)
        self.assertEqual(len({line["val/psnr_stage1"] for line in evaluated}), 1, "stage 1 rests")
        draws = random.Random(5)
        for number in range(NUM_KILLS):
            run = self.run_directory(f"killed-{number}")
            for _ in range(4):
                process = start(*self.command(run, "--resume", "auto"), cwd=self.root)
                time.sleep(draws.uniform(0.5, length))
                kill(process, draws=draws)
            self.finished(run, "--resume", "auto")
            for own, whole in zip(self.phases(run), self.phases(reference)):
                self.assertEqual(read_metrics(own), read_metrics(whole))
                self.assertEqual(checkpoint_digests(checkpoints(own)[-1]), checkpoint_digests(checkpoints(whole)[-1]))

    @staticmethod
    def is_saving(phase):
        return any("tmp" in path.name for path in (phase / "checkpoints").glob("*"))

    @staticmethod
    def is_evaluating(phase):
        """Whether the step that ends an epoch is done and no evaluation has followed."""
        lines = read_metrics(phase) if (phase / "metrics.jsonl").exists() else []
        trained, evaluated = ([line["step"] for line in lines if key in line] for key in ("train/loss", "val/psnr"))
        return bool(trained) and trained[-1] % STEPS_PER_EPOCH == 0 and trained[-1] not in evaluated

    def stopped_inside(self, process, condition, what):
        """Stops the process where the condition holds, and holds on; what a look sees may be over by then."""
        while True:
            wait_until(lambda: process.poll() is not None or condition(), what, timeout=60)
            self.assertIsNone(process.poll(), f"it ended before {what}")
            os.kill(process.pid, signal.SIGSTOP)
            if condition():
                return
            os.kill(process.pid, signal.SIGCONT)

    def test_dies_inside_validations_and_saves_of_each_stage(self):
        slow = ("task.sampling_steps=60",)  # so that an evaluation takes a while
        reference, run = self.run_directory("slow"), self.run_directory("dies")
        self.finished(reference, *slow)
        for number, phase in enumerate(self.phases(run), 1):
            for what, condition in (("save", self.is_saving), ("evaluation", self.is_evaluating)):
                process = start(*self.command(run, *slow, "--resume", "auto"), cwd=self.root)
                self.stopped_inside(process, lambda: condition(phase), f"stage {number}'s {what}")
                kill(process)
                self.assertTrue(condition(phase), f"stage {number}'s {what} was over")
                self.assertFalse((phase / "summary.json").exists(), "the stage was over")
        self.finished(run, *slow, "--resume", "auto")
        for own, whole in zip(self.phases(run), self.phases(reference)):
            self.assertEqual(read_metrics(own), read_metrics(whole))
            self.assertEqual(checkpoint_digests(checkpoints(own)[-1]), checkpoint_digests(checkpoints(whole)[-1]))

    def test_ranks_train_the_same(self):
        runs = [self.run_directory(name) for name in ("one", "two", "sharded")]
        exact = ("train.precision=fp64", "train.duration=2ba", "checkpoint.every=90ep")
        self.finished(runs[0], *exact)
        self.finished(runs[1], *exact, "--nproc", 2)
        self.finished(runs[2], *exact, "--nproc", 2, "parallel.strategy=fsdp")
        for other in runs[1:]:
            for own, whole in zip(self.phases(other), self.phases(runs[0])):
                for line, expected in zip(read_metrics(own), read_metrics(whole), strict=True):
                    for key, value in expected.items():
                        if key.startswith(("train/", "val")) and isinstance(value, float):
                            self.assertAlmostEqual(line[key], value, delta=1e-6 * (1 + abs(value)), msg=key)

    def test_refuses_what_cannot_be(self):
        flat = self.write_recipe(text=RECIPE[:RECIPE.index("phases:")], name="flat.yaml")
        for settings, texts in {
            ("model.num_stages=2", "data.side=24"): ("stages.0 of ct_cascade are used and not trained", "phases"),
            ("model.num_stages=1", "data.side=24"): ("data.side=12",),
            ("model.num_stages=3",): ("stages lists 2",),
            ("model.num_views=1",): ("names 2",),
            ("model.num_stages=1", "data.side=12", "data.geometry.angles=[0, 45]", "data.xrays=projected"):
                ("data.geometry.angles", "0, 90"),
            ("model.num_stages=1", "data.side=12", "model.xray_size=64"): ("model.xray_size",),
            ("model=resnet18",): ("model ct_cascade",),
            ("data.val_folder=train",): ("data.val_folder", "one of val, test"),
            ("task.sampling_noise=0.5",): ("condition_noise",),
            ("task.sampling_steps=2000",): ("num_timesteps",),
        }.items():
            result = paceline("train", flat, f"data.path={self.volumes}", "--run-dir", self.run_directory("refused"),
                              *settings, cwd=self.root)
            self.assertEqual(result.code, 2, str(result))
            self.assertEqual(result.err.count("error: "), 1, str(result))
            for text in texts:
                self.assertIn(text, result.err)
            self.assertFalse(self.run_directory("refused").exists())


if __name__ == "__main__":
    unittest.main()
