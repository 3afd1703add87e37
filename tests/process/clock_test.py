"""A system clock that jumps by hours and years while a run goes on changes nothing but the stamps of its lines."""

import json
import signal
import time
import unittest

from paceline_process import (BUILD, RunTest, checkpoint_digests, checkpoints, environment, read_events, read_metrics, send,
                              start, wait_until)

CLOCK = BUILD / "lib" / "libjumping_clock.so"
HOUR_S = 3600


@unittest.skipUnless("PACELINE_SANITIZE:STRING=\n" in (BUILD / "CMakeCache.txt").read_text(),
                     "a sanitizer wants to be loaded first")
class ClockTest(RunTest):
    def run_to_its_end(self, run, **variables):
        begin = time.monotonic()
        result = self.train(self.recipe, "--nproc", 2, "--run-dir", run, "--resume", "auto", *self.overrides,
                            env=environment(**variables))
        self.elapsed_s += time.monotonic() - begin
        return result

    def stopped_in_the_middle(self, run, **variables):
        begin = time.monotonic()
        process = start("train", self.recipe, "--nproc", 2, "--run-dir", run, *self.overrides, cwd=self.root,
                        env=environment(**variables))
        wait_until(lambda: process.poll() is not None or len(checkpoints(run)) > 2, "checkpoints")
        code, words = send(process, signal.SIGTERM)
        self.elapsed_s += time.monotonic() - begin
        self.assertEqual(code, 143, words)

    def test_a_clock_that_jumps(self):
        self.recipe = self.write_recipe()
        # Of these durations the first to come ends the run: ten years would be more than an hour.
        self.overrides = ("train.duration=[150ba, 1h]", "checkpoint.every=1ba", "train.eval_every=20ba")
        reference, run = self.run_directory("reference"), self.run_directory("jumping")
        self.elapsed_s = 0
        self.run_to_its_end(reference)
        self.elapsed_s = 0
        self.stopped_in_the_middle(run, LD_PRELOAD=CLOCK)
        self.run_to_its_end(run, LD_PRELOAD=CLOCK)

        stamps = [line["wall_time"] for line in read_metrics(run, timed=True)]
        self.assertGreater(max(stamps) - min(stamps), HOUR_S, "the clock did not jump")
        self.assertEqual(read_metrics(run), read_metrics(reference))
        self.assertEqual(read_events(run)["train/loss"], read_events(reference)["train/loss"])
        self.assertEqual(checkpoint_digests(checkpoints(run)[-1]), checkpoint_digests(checkpoints(reference)[-1]))
        self.assert_durations_are_true(run)

    def assert_durations_are_true(self, run):
        for line in read_metrics(run, timed=True):
            for key, value in line.items():
                if key.startswith("time/") and key.endswith("_ms"):
                    self.assertTrue(0 <= value <= 1000 * self.elapsed_s, f"{key} {value}")
                elif key.startswith("time/") or key.startswith("throughput/"):
                    self.assertGreaterEqual(value, 0, key)
        summary = json.loads((run / "summary.json").read_text())
        self.assertTrue(0 < summary["elapsed_s"] <= self.elapsed_s, summary["elapsed_s"])
        self.assertGreaterEqual(summary["images_per_s"], summary["samples"] / self.elapsed_s)


if __name__ == "__main__":
    unittest.main()
