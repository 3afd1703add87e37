"""A run that was stopped or killed anywhere ends with the same bits as one that was not."""

import collections
import json
import os
import random
import shutil
import signal
import struct
import sys
import time
import unittest

from paceline_process import (TIMEOUT_S, RunTest, checkpoint_digests, checkpoint_state, checkpoints, kill, paceline,
                              read_events, read_metrics, send, start, step_of, wait_until)
from processes import children

NUM_KILLS = int(os.environ.get("PACELINE_NUM_KILLS", "2"))  # of each strategy and precision


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
        self.assertEqual(checkpoint_digests(checkpoints(run)[-1]), checkpoint_digests(checkpoints(reference)[-1]))

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
            seen = self.steps_of(run)
            wait_until(lambda: process.poll() is not None or self.steps_of(run) > seen, "one more step")
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
        for mode in ("loader", "nearest", "crop"):
            with self.subTest(mode):
                growing = ("data.image_size=64", "data.progressive_resizing={start_size: 32, begin: 3ba, end: 7ba, "
                           f"increment: 16, mode: {mode}}}")
                reference, run = self.run_directory(f"growing-{mode}"), self.run_directory(f"stopped-{mode}")
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

    def test_killed_while_statistics_are_computed_anew(self):
        self.recipe = self.write_recipe(model="resnet18")
        averaged = ("train.duration=7ba", "++algorithms.swa={start: 2ba, end: 7ba, interval: 2ba}",
                    "data={name: synthetic, num_samples: 1800, num_val_samples: 12, num_classes: 4, size: 32, "
                    "image_size: 32, global_batch_size: 12, num_threads: 1}")  # so that the pass takes a while
        reference, run = self.run_directory("whole-pass"), self.run_directory("killed-in-pass")
        self.assertIn("BatchNorm's statistics are computed anew, from ", self.finish(reference, *averaged).err)
        process = start(*self.command(run, *averaged), cwd=self.root)
        log = run / "log.txt"
        wait_until(lambda: log.exists() and "a pass over the training data" in log.read_text(), "the pass")
        kill(process)
        self.assertNotIn("computed anew", log.read_text(), "the pass was over already")
        self.finish(run, *averaged)
        self.assert_same_run(run, reference)

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
        result = paceline(*self.command(reference, "optimizer.momentum=0.5"), "--resume", "auto", cwd=self.root)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("optimizer.momentum: was 0.9, is 0.5", result.err)


class SavesFasterThanLoggersWrite(RunTest):
    """A model of 32,000 parameters, saved at every step, which takes less time than loggers let pass before they write."""

    def setUp(self):
        self.recipe = self.write_recipe()

    def command(self, run, strategy, precision):
        # The loss scale overflows in the first steps, and again whenever it has grown.
        scaler = ("train.grad_scaler.init_scale=1e7", "train.grad_scaler.growth_interval=5") if precision == "fp16" else ()
        return ("train", self.recipe, "--nproc", 2, "--run-dir", run, f"train.duration={20 + 30 * NUM_KILLS}ba",
                "train.eval_every=8ba", "checkpoint.every=1ba", "checkpoint.keep_last=2",
                f"parallel.strategy={strategy}", f"train.precision={precision}", *scaler)

    def assert_nothing_lost(self, run, reference, step):
        """Of a run that was killed: each line up to its newest checkpoint, of `step`, is on disk, in every file."""
        if step == 0:
            return
        is_eval_pending = checkpoint_state(checkpoints(run)[-1])["is_eval_pending"]  # to be done after the resume

        def lines(of):
            return [line for line in read_metrics(of) if line["step"] < step + ("event" not in line or not is_eval_pending)]
        wanted = lines(reference)
        self.assertEqual(lines(run), wanted, f"metrics.jsonl lacks lines up to step {step}")
        steps = {line["step"] for line in wanted if "train/loss" in line}
        self.assertEqual(steps, set(range(1, step + 1)))
        self.assertLessEqual(steps, read_events(run)["train/loss"].keys(), f"TensorBoard's files lack steps up to {step}")

    def assert_same_run(self, run, reference):
        self.assertEqual(read_metrics(run), read_metrics(reference))
        self.assertEqual(read_events(run)["train/loss"], read_events(reference)["train/loss"])
        self.assertEqual(read_events(run)["train/loss"],
                         {line["step"]: struct.unpack("<f", struct.pack("<f", line["train/loss"]))[0]
                          for line in read_metrics(run) if "train/loss" in line})
        times = [json.loads(line)["wall_time"] for line in (run / "system.jsonl").read_text().splitlines()]
        self.assertEqual(times, sorted(times))
        last, expected = checkpoints(run)[-1], checkpoints(reference)[-1]
        self.assertEqual(last.name, expected.name)
        self.assertEqual(checkpoint_digests(last), checkpoint_digests(expected))
        self.assertEqual(checkpoint_state(last), checkpoint_state(expected))

    def kill_at_random(self, process, run, step, draws):
        """While ranks start, meet and load, or some steps after their first save.

        Returns what was killed, or None of a run that came to its end before.
        """
        target = draws.choice(("rank", "launcher", "group"))
        if draws.random() < 0.25:
            time.sleep(draws.uniform(0.0, 1.0))
        else:
            until = step + draws.randrange(1, 25)
            wait_until(lambda: process.poll() is not None or any(step_of(path) >= until for path in checkpoints(run)),
                       f"step {until}")
            time.sleep(draws.uniform(0.0, 0.02))
        self.assertIn(process.poll(), (None, 0), process.poll() and process.stdout.read())
        kill(process, target, draws)
        return target if process.returncode != 0 else None

    def start_and_kill(self, command, run, step, draws):
        """Returns what was killed. A run that a busy machine lets come to its end first is put back and started again."""
        before = self.root / f"{run.name}-before"
        for _ in range(20):
            shutil.rmtree(before, ignore_errors=True)
            if run.exists():
                shutil.copytree(run, before, symlinks=True)
            killed = self.kill_at_random(start(*command, "--resume", "auto", cwd=self.root), run, step, draws)
            if killed:
                return killed
            shutil.rmtree(run)
            if before.exists():
                before.rename(run)
        return self.fail("each of 20 runs ended before it was killed")

    def reference(self, strategy, precision):
        run = self.run_directory(f"reference-{strategy}-{precision}")
        if not run.exists():
            result = paceline(*self.command(run, strategy, precision), cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
        return run

    def loses_nothing(self, strategy, precision):
        draws = random.Random(f"{strategy} {precision}")
        reference, run = self.reference(strategy, precision), self.run_directory(f"killed-{strategy}-{precision}")
        if precision == "fp16":
            self.assertGreater(checkpoint_state(checkpoints(reference)[-1])["grad_scaler"]["num_skipped"], 5)
        step, killed, inside, lost = 0, collections.Counter(), 0, []
        for number in range(NUM_KILLS):
            killed[self.start_and_kill(self.command(run, strategy, precision), run, step, draws)] += 1
            inside += any("tmp" in path.name for path in (run / "checkpoints").glob("*"))
            before = step
            step = step_of(checkpoints(run)[-1]) if checkpoints(run) else 0
            self.assertGreaterEqual(step, before, "the newest checkpoint was lost")
            try:
                self.assert_nothing_lost(run, reference, step)
            except AssertionError as error:
                lost.append(f"kill {number}: {error}")
        print(f"{strategy} {precision}: {NUM_KILLS} kills ({dict(killed)}), {inside} of them inside a save, up to step "
              f"{step}; {len(lost)} lost lines", file=sys.stderr)
        self.assertEqual(lost, [])
        result = paceline(*self.command(run, strategy, precision), "--resume", "auto", cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        self.assert_same_run(run, reference)

    def pause_each(self, process, run):
        """Stops each process of a run for a second, in turn; False where the run came to its end before."""
        wait_until(lambda: process.poll() is not None or checkpoints(run), "a checkpoint")
        for pid in (*children(process.pid), process.pid):
            try:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(1)
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                return False
        return True

    def test_processes_that_the_system_stops_for_a_while(self):
        reference = self.reference("fsdp", "fp16")
        for attempt in range(20):
            run = self.run_directory(f"paused-{attempt}")
            process = start(*self.command(run, "fsdp", "fp16"), cwd=self.root)
            is_paused = self.pause_each(process, run)
            output, _ = process.communicate(timeout=TIMEOUT_S)
            self.assertEqual(process.returncode, 0, output)
            if is_paused:
                return self.assert_same_run(run, reference)
        return self.fail("each of 20 runs ended before its processes were stopped")

    def test_killed_at_random_points_of_saving_ddp_fp32(self):
        self.loses_nothing("ddp", "fp32")

    def test_killed_at_random_points_of_saving_ddp_bf16(self):
        self.loses_nothing("ddp", "bf16")

    def test_killed_at_random_points_of_saving_ddp_fp16(self):
        self.loses_nothing("ddp", "fp16")

    def test_killed_at_random_points_of_saving_fsdp_fp32(self):
        self.loses_nothing("fsdp", "fp32")

    def test_killed_at_random_points_of_saving_fsdp_bf16(self):
        self.loses_nothing("fsdp", "bf16")

    def test_killed_at_random_points_of_saving_fsdp_fp16(self):
        self.loses_nothing("fsdp", "fp16")


if __name__ == "__main__":
    unittest.main()
