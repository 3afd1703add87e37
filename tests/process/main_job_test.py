"""Train, evaluate, export: the main job through the real programs."""

import json
import pathlib
import re
import unittest

from paceline_process import (RunTest, checkpoint_tensors, checkpoints, paceline, read_metrics, read_safetensors)


class MainJob(RunTest):
    def test_train_evaluate_export(self):
        run = self.run_directory("main")
        recipe = self.write_recipe(model="resnet18")
        trained = self.train(recipe, "--nproc", 2, "--run-dir", run)
        self.assertIn("2 ranks x 6", trained.err)

        steps = [line for line in read_metrics(run) if "train/loss" in line]
        self.assertEqual([line["step"] for line in steps], list(range(1, 16)))
        self.assertTrue({"train/loss", "train/top1", "train/top5", "train/lr", "epoch"} <= steps[0].keys())
        timed = [line for line in read_metrics(run, timed=True) if "train/loss" in line]
        self.assertTrue({"time/data_wait_ms", "time/forward_ms", "time/backward_ms", "time/optimizer_ms",
                         "time/exposed_communication_ms", "throughput/images_per_s"} <= timed[1].keys())
        self.assertNotIn("throughput/images_per_s", timed[0])  # a rate needs two steps
        evals = [line for line in read_metrics(run) if line.get("event") == "eval"]
        self.assertEqual([line["step"] for line in evals], [5, 10, 15])

        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual((summary["steps"], summary["samples"], summary["world_size"]), (15, 180, 2))
        self.assertEqual(summary["metrics"]["val/loss"], evals[-1]["val/loss"])
        self.assertTrue(list(run.glob("events.out.tfevents.*")))
        self.machine_was_watched(run, summary["system"])
        self.assertIn("global_batch_size: 12", (run / "config.yaml").read_text())

        self.evaluation_equals_the_last_one(run, evals[-1])
        self.export_holds_the_models_tensors(run)

    def machine_was_watched(self, run, summary):
        lines = [json.loads(line) for line in (run / "system.jsonl").read_text().splitlines()]
        self.assertIn(lines[-1]["step"], range(1, 16))
        for line in lines:
            self.assertEqual([rank["rank"] for rank in line["ranks"]], [0, 1])
            for rank in line["ranks"]:
                self.assertGreater(rank["cpu_cores"], 0)
                self.assertGreater(rank["resident_bytes"], 50e6)  # LibTorch alone takes more
        self.assertTrue(0 < summary["cpu_utilization_mean"] <= summary["cpu_utilization_p95"] * 1.01)
        self.assertGreaterEqual(summary["peak_resident_bytes"],
                                max(rank["resident_bytes"] for line in lines for rank in line["ranks"]))

    def evaluation_equals_the_last_one(self, run, last):
        for ranks in (1, 2, 3):
            result = paceline("eval", run, "--json", "--nproc", ranks)
            self.assertEqual(result.code, 0, str(result))
            report = json.loads(result.out)
            self.assertEqual(report["samples"], 20)
            self.assertAlmostEqual(report["metrics"]["val/loss"] / last["val/loss"], 1, places=6)
            self.assertEqual(report["metrics"]["val/top1"], last["val/top1"])

    def export_holds_the_models_tensors(self, run):
        output = self.root / "weights.safetensors"
        result = paceline("export", run, "--format", "safetensors", "-o", output)
        self.assertEqual(result.code, 0, str(result))
        exported = read_safetensors(output)
        saved = checkpoint_tensors(checkpoints(run)[-1])
        self.assertEqual(exported, {k: v for k, v in saved.items() if not k.startswith("optimizer.")})
        self.assertIn("layer4.1.bn2.running_var", exported)
        self.assertEqual(exported["fc.weight"][1], [4, 512])

        # The export is a starting point for another run, also with another number of classes.
        pretrained = self.train(self.write_recipe(model="resnet18"), f"model.pretrained={output}",
                                "model.num_classes=7", "--fast-dev-run")
        self.assertIn("fc", pretrained.err)

    def test_dry_run_trains_and_writes_nothing(self):
        before = set(self.root.iterdir())
        result = self.train(self.write_recipe(), "--dry-run", "run.dir=none")
        for text in ("parameters", "GFLOP", "memory per rank", "activations", "fsdp ", "12 images a step", "nothing was trained"):
            self.assertIn(text, result.err)
        self.assertEqual(set(self.root.iterdir()) - before - {self.root / "recipe.yaml"}, set())

    def test_fast_dev_run_uses_a_scratch_directory(self):
        before = set(self.root.iterdir())
        result = self.train(self.write_recipe(), "--fast-dev-run=3", "--nproc", 2)
        self.assertIn("done after step 3", result.err)
        self.assertEqual(set(self.root.iterdir()) - before - {self.root / "recipe.yaml"}, set())

    def test_fast_dev_run_leaves_no_false_trail(self):
        """It names no file or folder that is gone when it ends, and calls none damaged."""
        for arguments in (["--nproc", 1], ["--nproc", 2], ["--run-dir", self.root, "--resume", "auto"]):
            result = self.train(self.write_recipe(), "--fast-dev-run", *arguments)
            told = result.out + result.err
            self.assertNotIn("not whole", told)
            self.assertNotIn("@best", told)
            for path in re.findall(r"(?<!\w)/[\w./-]+", told):
                self.assertTrue(pathlib.Path(path.rstrip(".:")).exists(), f"{path} is gone: {told}")

    def test_stop_conditions(self):
        recipe = self.write_recipe()
        result = self.train(recipe, "--run-dir", self.run_directory("stop"), "train.stop_when='val/loss < 1e9'")
        self.assertIn("done after step 5", result.err)
        result = self.train(recipe, "--run-dir", self.run_directory("min"), "train.stop_when='val/loss < 1e9'",
                            "train.min_duration=2ep")
        self.assertIn("done after step 10", result.err)
        result = self.train(recipe, "--run-dir", self.run_directory("early"), "train.duration=9ep",
                            "+callbacks.early_stop={monitor: val/loss, mode: min, min_delta: 1e9, patience: 1}")
        self.assertIn("has not improved", result.err)
        result = self.train(recipe, "--run-dir", self.run_directory("clock"), "train.duration=[900ep, 1s]")
        self.assertIn("wall-clock", result.err)

    def test_keeps_the_last_and_the_best_checkpoints(self):
        run = self.run_directory("keep")
        self.train(self.write_recipe(), "--run-dir", run, "checkpoint.keep_last=1", "checkpoint.keep_best=0")
        self.assertEqual([path.name for path in checkpoints(run)], ["step-00000015"])

    def test_gradient_accumulation_and_clipping(self):
        run = self.run_directory("accumulate")
        self.train(self.write_recipe(), "--run-dir", run, "train.grad_accum_steps=5", "train.grad_clip_norm=0.1",
                   "data.global_batch_size=13", "--nproc", 2)
        steps = [line for line in read_metrics(run) if "train/loss" in line]
        self.assertEqual(len(steps), 15)  # 60 images in batches of 13: the fifth of an epoch has 8
        self.assertTrue(all("train/grad_norm" in line for line in steps))


if __name__ == "__main__":
    unittest.main()
