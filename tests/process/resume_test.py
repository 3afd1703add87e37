"""A run that was stopped or killed anywhere ends with the same bits as one that was not."""

import json
import os
import random
import signal
import time
import unittest

from paceline_process import (RunTest, checkpoint_tensors, checkpoints, kill, paceline, read_metrics, send, start,
                              wait_until)


class Resume(RunTest):
    RANKS = 2

    def command(self, run, *overrides):
        return ("train", self.recipe, "--nproc", self.RANKS, "--run-dir", run, "checkpoint.every=2ba",
                "checkpoint.keep_last=2", *overrides)

    def finish(self, run, *overrides):
        result = paceline(*self.command(run, *overrides), "--resume", "auto", cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result

    def assert_same_run(self, run, reference):
        self.assertEqual(read_metrics(run), read_metrics(reference))
        self.assertEqual(checkpoints(run)[-1].name, checkpoints(reference)[-1].name)
        self.assertEqual(checkpoint_tensors(checkpoints(run)[-1]), checkpoint_tensors(checkpoints(reference)[-1]))

    def steps_of(self, run):
        try:
            return (run / "metrics.jsonl").read_text().count('"train/loss"')
        except OSError:
            return 0

    def reference(self, model):
        self.recipe = self.write_recipe(model=model, name=f"{model.split(',')[0]}.yaml")
        run = self.run_directory(f"reference-{model.split(',')[0]}")
        if not run.exists():
            result = paceline(*self.command(run), cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
        return run

    def test_stopped_by_a_signal_in_the_middle_of_an_epoch(self):
        reference = self.reference("resnet18")
        for number in (signal.SIGTERM, signal.SIGINT):
            run = self.run_directory(f"stopped-{number}")
            process = start(*self.command(run), cwd=self.root)
            wait_until(lambda: self.steps_of(run) >= 3, "the third step")
            process.send_signal(signal.SIGUSR1)  # as schedulers do; it must not deafen the ranks
            time.sleep(0.2)
            code, output = send(process, number)
            self.assertEqual(code, 128 + number, output)
            self.assertIn("asked for it", output)
            self.finish(run)
            self.assert_same_run(run, reference)
            times = [json.loads(line)["wall_time"] for line in (run / "system.jsonl").read_text().splitlines()]
            self.assertGreaterEqual(len(times), 2)  # both starts ended with a line
            self.assertEqual(times, sorted(times))

    def test_stopped_while_the_images_grow(self):
        self.recipe = self.write_recipe(model="resnet18")
        growing = ("data.image_size=64", "data.progressive_resizing={start_size: 32, begin: 3ba, end: 7ba, "
                   "increment: 16}")
        reference, run = self.run_directory("growing"), self.run_directory("growing-stopped")
        self.finish(reference, *growing)
        process = start(*self.command(run, *growing), cwd=self.root)
        wait_until(lambda: self.steps_of(run) >= 5, "the fifth step")
        self.assertEqual(send(process, signal.SIGTERM)[0], 128 + signal.SIGTERM)
        log = self.finish(run, *growing).err
        self.assertIn("from step 5 on, training images of 48 pixels", log)
        self.assert_same_run(run, reference)

    def test_killed_again_and_again(self):
        reference = self.reference("resnet18")
        draws = random.Random(5)
        run = self.run_directory("killed")
        for _ in range(4):
            process = start(*self.command(run), "--resume", "auto", cwd=self.root)
            time.sleep(draws.uniform(0.8, 3.0))
            kill(process)
        self.finish(run)
        self.assert_same_run(run, reference)

    def test_killed_inside_a_save(self):
        reference = self.reference("resnet18")
        run = self.run_directory("killed-saving")
        process = start(*self.command(run), cwd=self.root)
        folder = run / "checkpoints"
        wait_until(lambda: process.poll() is not None or any("tmp" in path.name for path in folder.glob("*")),
                   "a checkpoint being written", timeout=60)
        kill(process)
        self.finish(run)
        self.assert_same_run(run, reference)

    def test_killed_at_random_points_of_saving(self):
        self.recipe = self.write_recipe(model="resnet18")
        run = self.run_directory("killed-at-random")
        folder = run / "checkpoints"
        draws = random.Random(11)
        newest = -1
        for number in range(int(os.environ.get("PACELINE_NUM_KILLS", "10"))):
            process = start(*self.command(run, "train.duration=1000ep", "checkpoint.every=1ba",
                                          "parallel.strategy=fsdp"), "--resume", "auto", cwd=self.root)
            complete = set(checkpoints(run))
            wait_until(lambda: process.poll() is not None or set(checkpoints(run)) - complete,
                       "a checkpoint of this start")
            wait_until(lambda: process.poll() is not None or any("tmp" in path.name for path in folder.glob("*")),
                       "a checkpoint being written")
            self.assertIsNone(process.poll(), f"start {number} ended by itself")
            time.sleep(draws.uniform(0.0, 0.2))
            kill(process)
            exported = paceline("export", run, "-o", self.root / "killed.safetensors")  # verifies every file
            self.assertEqual(exported.code, 0, f"kill {number}: {exported}")
            step = int(checkpoints(run)[-1].name.removeprefix("step-"))
            self.assertGreater(step, newest)
            newest = step

    def test_killed_inside_validation(self):
        reference = self.reference("resnet18")
        run = self.run_directory("killed-validating")
        process = start(*self.command(run), cwd=self.root)
        wait_until(lambda: self.steps_of(run) >= 5, "the end of the first epoch")
        kill(process)
        self.finish(run)
        self.assert_same_run(run, reference)

    def test_a_complete_run_has_nothing_left_to_do(self):
        reference = self.reference("resnet18")
        before = read_metrics(reference)
        self.assertIn("complete already", self.finish(reference).err)
        self.assertEqual(read_metrics(reference), before)

    def test_what_may_not_change(self):
        reference = self.reference("resnet18")
        result = paceline(*self.command(reference, "optimizer.lr=0.5"), "--resume", "auto", cwd=self.root)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("optimizer.lr", result.err)
        self.assertIn("0.05", result.err)
        self.assertIn("0.5", result.err)


if __name__ == "__main__":
    unittest.main()
