"""`paceline sweep`, as users meet it: trials, what is left after kills and signals, promotions, ablations and errors."""

import csv
import json
import math
import os
import signal
import statistics
import unittest
import xml.etree.ElementTree

from paceline_process import (RECIPE, RunTest, checkpoint_digests, checkpoints, paceline, read_metrics, start,
                              wait_until)
from processes import children, is_running

CONFIG, DATA, CHECKPOINT, SOME_FAILED = 2, 3, 5, 1
SHORT = ("train.duration=1ep", "schedule.warmup=0ba", "loggers={jsonl: }")
LONG = ("train.duration=40ep", "train.eval_every=40ep", "checkpoint.every=4ba", "loggers={jsonl: }")


def rows_of(folder, name="sweep.csv"):
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def run_of(folder, number):
    return folder / "trials" / f"{number:04}"


def steps_of(run):
    return [line["step"] for line in read_metrics(run) if "train/loss" in line]


class SweepTest(RunTest):
    def setUp(self):
        self.folder = self.root / self.id().rpartition(".")[2]
        self.recipe = self.write_recipe()

    def command(self, *arguments):
        return ("sweep", self.recipe, *arguments, "--sweep-dir", self.folder)

    def sweep(self, *arguments, code=0):
        result = paceline(*self.command(*arguments), cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def start(self, *arguments):
        process = start(*self.command(*arguments), cwd=self.root)
        self.addCleanup(process.stdout.close)
        return process

    def expect_same_weights(self, run, *overrides):
        """A run by itself with these overrides ends with the same bits."""
        alone = self.root / f"{self.folder.name}-alone"
        self.train(self.recipe, *overrides, "--run-dir", alone)
        self.assertEqual(checkpoint_digests(checkpoints(run)[-1]), checkpoint_digests(checkpoints(alone)[-1]))


class Grid(SweepTest):
    def test_each_combination_is_a_run(self):
        keys = ("optimizer.lr=0.001,0.05", "model.depth=1,2")
        result = self.sweep(*keys, *SHORT)
        rows = rows_of(self.folder)
        self.assertEqual([(row["optimizer.lr"], row["model.depth"]) for row in rows],
                         [("0.001", "1"), ("0.001", "2"), ("0.05", "1"), ("0.05", "2")])
        self.assertEqual({row["state"] for row in rows}, {"done"})
        for number, row in enumerate(rows, 1):
            summary = json.loads((run_of(self.folder, number) / "summary.json").read_text())
            self.assertEqual(float(row["val/top1"]), summary["metrics"]["val/top1"])
            self.assertGreater(float(row["step_ms"]), 0)
        told = json.loads((self.folder / "sweep.json").read_text())
        best = max(rows, key=lambda row: (float(row["val/top1"]), -int(row["trial"])))
        self.assertEqual(told["best"], int(best["trial"]))
        table = result.out.splitlines()
        self.assertEqual(table[0].split(), ["trial", "optimizer.lr", "model.depth", "val/top1", "time", "ms/step"])
        self.assertEqual(table[1].split()[0], best["trial"], "the best comes first")
        self.assertEqual(len(table), 5)
        self.assertRegex(result.err, r"paceline: 4/4 done; best val/top1 [\d.]+ of trial ")
        self.assertNotIn("\033", result.err, "plain lines in a pipe")
        xml.etree.ElementTree.parse(self.folder / "sweep.svg")
        self.expect_same_weights(run_of(self.folder, 3), "optimizer.lr=0.05", "model.depth=1", *SHORT)

        logs = [(run_of(self.folder, number).parent / f"{number:04}.log").read_bytes() for number in range(1, 5)]
        again = self.sweep(*keys, *SHORT)
        self.assertEqual(again.out, result.out)
        self.assertEqual(logs, [(run_of(self.folder, number).parent / f"{number:04}.log").read_bytes()
                                for number in range(1, 5)], "nothing that is finished is repeated")
        other = self.sweep("optimizer.lr=0.001,0.06", "model.depth=1,2", *SHORT, code=CONFIG)
        self.assertIn("optimizer.lr was 0.001,0.05, is 0.001,0.06", other.err)
        self.recipe.write_text(self.recipe.read_text().replace("seed: 3", "seed: 4"))
        self.assertIn("run.seed: was 3, is 4", self.sweep(*keys, *SHORT, code=CONFIG).err)

    def test_goes_on_after_kill_9_at_any_moment(self):
        keys = ("optimizer.lr=0.001,0.002,0.003", *LONG)
        process = self.start(*keys)
        wait_until(lambda: (run_of(self.folder, 1) / "summary.json").exists() and checkpoints(run_of(self.folder, 2)),
                   "a finished trial and one in progress")
        ranks = children(process.pid)
        process.kill()
        process.communicate()
        self.assertTrue(ranks)
        wait_until(lambda: not any(map(is_running, ranks)), "the end of the trial")
        before = (self.folder / "trials" / "0001.log").read_bytes()
        self.assertLess(steps_of(run_of(self.folder, 2))[-1], 200, "the second was in progress")
        self.sweep(*keys)
        self.assertEqual((self.folder / "trials" / "0001.log").read_bytes(), before)
        self.assertIn("resumed", (self.folder / "trials" / "0002.log").read_text())
        self.assertEqual([row["state"] for row in rows_of(self.folder)], ["done"] * 3)
        self.assertEqual(steps_of(run_of(self.folder, 2)), list(range(1, 201)))
        self.expect_same_weights(run_of(self.folder, 2), "optimizer.lr=0.002", *LONG)

    def test_a_run_that_ended_unseen_is_taken_as_it_is(self):
        """The sweep was killed between the end of a trial and its own record of it."""
        keys = ("optimizer.lr=0.001,0.002", *SHORT)
        self.sweep(*keys)
        path = self.folder / "sweep.json"
        told = json.loads(path.read_text())
        metrics = told["trials"][1]["metrics"]
        told["trials"][1] |= {"state": "waiting", "metrics": []}
        path.write_text(json.dumps(told))
        log = (self.folder / "trials" / "0002.log").read_bytes()
        self.sweep(*keys)
        self.assertEqual(json.loads(path.read_text())["trials"][1]["metrics"], metrics)
        self.assertEqual((self.folder / "trials" / "0002.log").read_bytes(), log)

    def test_a_signal_stops_trials_as_it_stops_training(self):
        keys = ("optimizer.lr=0.001,0.002", *LONG)
        process = self.start(*keys)
        wait_until(lambda: checkpoints(run_of(self.folder, 1)), "a checkpoint")
        second = self.sweep(*keys, code=CHECKPOINT)
        self.assertIn(f"is in use by process {process.pid}", second.err)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, output)
        self.assertIn("the same command goes on", output)
        summary = json.loads((run_of(self.folder, 1) / "summary.json").read_text())
        self.assertEqual(summary["ended_by"], "signal", "it has saved")
        self.assertEqual([row["state"] for row in rows_of(self.folder)], ["waiting"] * 2)
        self.sweep(*keys)
        self.assertEqual([row["state"] for row in rows_of(self.folder)], ["done"] * 2)
        self.assertEqual(steps_of(run_of(self.folder, 1)), list(range(1, 201)))

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core cannot be shared out")
    def test_jobs_run_side_by_side_on_cores_of_their_own(self):
        process = self.start("optimizer.lr=0.001,0.002,0.003", *LONG, "--jobs", 2)
        runs = [run_of(self.folder, number) for number in (1, 2)]
        wait_until(lambda: all((run / "metrics.jsonl").exists() for run in runs), "two trials in progress")
        first, second = (os.sched_getaffinity(pid) for pid in children(process.pid))
        self.assertTrue(first and second)
        self.assertFalse(first & second, "each has cores of its own")
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual([row["state"] for row in rows_of(self.folder)], ["done"] * 3)

    def test_phases_are_compared_by_their_last(self):
        recipe = self.write_recipe(name="phases.yaml", text=RECIPE + "\nphases:\n  head: {}\n  whole: {}\n")
        result = paceline("sweep", recipe, "optimizer.lr=0.001,0.05", *SHORT, "--sweep-dir", self.folder, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        for number, row in enumerate(rows_of(self.folder), 1):
            summary = json.loads((run_of(self.folder, number) / "phases" / "2-whole" / "summary.json").read_text())
            self.assertEqual(float(row["val/top1"]), summary["metrics"]["val/top1"])


class Random(SweepTest):
    def test_more_trials_leave_the_first_as_they_are(self):
        keys = ("optimizer.lr=log(1e-4,1e-1)", "model.depth=int(1,2)", *SHORT, "--metric", "val/loss")
        self.sweep(*keys, "--trials", 2, "--seed", 7)
        two = rows_of(self.folder)
        log = (self.folder / "trials" / "0001.log").read_bytes()
        self.sweep(*keys, "--trials", 3, "--seed", 7)
        three = rows_of(self.folder)
        self.assertEqual(three[:2], two)
        self.assertEqual((self.folder / "trials" / "0001.log").read_bytes(), log)
        self.assertEqual(len({row["optimizer.lr"] for row in three}), 3)
        best = json.loads((self.folder / "sweep.json").read_text())["best"]
        self.assertEqual(best, int(min(three, key=lambda row: float(row["val/loss"]))["trial"]), "less of a loss is better")


class Halving(SweepTest):
    KEYS = ("optimizer.lr=1e-5,0.01,0.02,0.05", "loggers={jsonl: }")
    OPTIONS = ("--strategy", "halving", "--min-duration", "1ep", "--max-duration", "4ep", "--reduction-factor", 2,
               "--metric", "val/loss")

    def test_promotes_from_checkpoints(self):
        self.sweep(*self.KEYS, *self.OPTIONS)
        told = json.loads((self.folder / "sweep.json").read_text())
        self.assertEqual([(rung["duration"], rung["trials"]) for rung in told["rungs"]], [("1ep", 4), ("2ep", 2), ("4ep", 1)])
        metrics = [trial["metrics"] for trial in told["trials"]]
        self.assertEqual(sorted(map(len, metrics)), [1, 1, 2, 3])
        first = sorted(range(4), key=lambda index: metrics[index][0])
        self.assertEqual({index for index in range(4) if len(metrics[index]) > 1}, set(first[:2]), "the best go on")
        for index, values in enumerate(metrics):
            steps = {1: 5, 2: 10, 3: 20}[len(values)]
            self.assertEqual(steps_of(run_of(self.folder, index + 1)), list(range(1, steps + 1)), "no step twice")
        winner = max(range(4), key=lambda index: len(metrics[index]))
        rate = self.KEYS[0].partition("=")[2].split(",")[winner]
        self.expect_same_weights(run_of(self.folder, winner + 1), f"optimizer.lr={rate}", self.KEYS[1],
                                 "train.duration=4ep")

    def test_goes_on_after_a_kill_between_rungs(self):
        process = self.start(*self.KEYS, *self.OPTIONS)
        sweep = self.folder / "sweep.json"
        wait_until(lambda: sweep.exists() and any(len(trial["metrics"]) > 1 for trial in json.loads(sweep.read_text())["trials"]),
                   "a promoted trial")
        process.kill()
        process.communicate()
        self.sweep(*self.KEYS, *self.OPTIONS)
        whole = json.loads(sweep.read_text())["trials"]
        other = self.root / "uninterrupted"
        result = paceline("sweep", self.recipe, *self.KEYS, *self.OPTIONS, "--sweep-dir", other, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual([trial["metrics"] for trial in whole],
                         [trial["metrics"] for trial in json.loads((other / "sweep.json").read_text())["trials"]])


class Ablation(SweepTest):
    def test_tells_what_each_algorithm_does(self):
        algorithms = ("+algorithms.ema.half_life=4ba", "+algorithms.mixup.alpha=0.2", *SHORT)
        result = self.sweep("--ablate", "--seeds", 2, *algorithms, "--metric", "val/loss")
        rows = rows_of(self.folder)
        self.assertEqual([(row["without"], row["run.seed"]) for row in rows],
                         [("nothing", "3"), ("ema", "3"), ("mixup", "3"), ("nothing", "4"), ("ema", "4"), ("mixup", "4")])
        loss = {(row["without"], row["run.seed"]): float(row["val/loss"]) for row in rows}
        for row in rows_of(self.folder, "ablation.csv"):
            deltas = [loss["nothing", seed] - loss[row["part"], seed] for seed in ("3", "4")]
            self.assertAlmostEqual(float(row["metric_difference"]), statistics.mean(deltas))
            self.assertAlmostEqual(float(row["metric_standard_error"]), statistics.stdev(deltas) / math.sqrt(2))
        self.assertIn("val/loss difference", result.out)
        self.assertEqual(loss["nothing", "3"], loss["ema", "3"], "an average beside the weights changes none")
        self.assertNotEqual(loss["nothing", "3"], loss["mixup", "3"])


class Errors(SweepTest):
    def test_a_recipe_that_is_wrong_for_all_is_told_before_the_first(self):
        for code, text, arguments in (
                (CONFIG, "did you mean optimizer.lr?", ("optimizer.lrr=0.1,0.2",)),
                (CONFIG, "did you mean optimizer.lr?", ("optimizer.lrr=1", "model.depth=1,2")),
                (DATA, "nowhere", ("data.path=nowhere", "optimizer.lr=0.1,0.2")),
                (CONFIG, "train.eval_every is null", ("train.eval_every=null", "optimizer.lr=0.1,0.2")),
                (CONFIG, "wants a key with several values", ("optimizer.lr=0.1",)),
                (CONFIG, "did you mean --jobs?", ("optimizer.lr=1,2", "--job", 2)),
                (CONFIG, "the recipe has none", ("--ablate",)),
                (CONFIG, "counted in different units",
                 ("optimizer.lr=1,2", "--strategy", "halving", "--min-duration", "5ba"))):
            result = self.sweep(*arguments, code=code)
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)
            self.assertFalse(list(self.folder.glob("trials/*")), "none was started")

    def test_a_failed_trial_is_a_row(self):
        keys = (f"data.path={self.data},nowhere", "model.depth=1,0", *SHORT)
        result = self.sweep(*keys, code=SOME_FAILED)
        rows = rows_of(self.folder)
        self.assertEqual([row["state"] for row in rows], ["done", "failed", "failed", "failed"])
        self.assertEqual([row["exit_code"] for row in rows], ["0", "2", "3", "2"])
        self.assertIn("model.depth", rows[1]["error"])
        self.assertIn("nowhere", rows[2]["error"])
        self.assertNotIn("\n", "".join(row["error"] for row in rows))
        self.assertIn("3 of 4 trials failed", result.err)
        log = self.folder / "trials" / "0002.log"
        before = log.read_bytes()
        self.sweep(*keys, code=SOME_FAILED)
        self.assertEqual(log.read_bytes(), before, "what failed stays so")
        self.sweep(*keys, "--retry-failed", code=SOME_FAILED)
        self.assertEqual(log.read_bytes(), 2 * before, "unless it is tried again")

    def test_a_trial_that_is_killed_is_a_row(self):
        process = self.start("optimizer.lr=0.001,0.002", *LONG)
        wait_until(lambda: checkpoints(run_of(self.folder, 1)), "a trial in progress")
        for pid in children(process.pid):
            os.kill(pid, signal.SIGKILL)
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, SOME_FAILED, output)
        rows = rows_of(self.folder)
        self.assertEqual([(row["state"], row["exit_code"]) for row in rows], [("failed", "137"), ("done", "0")])
        self.assertIn("killed by SIGKILL (signal 9), perhaps as the machine's memory was full", rows[0]["error"])
        self.sweep("optimizer.lr=0.001,0.002", *LONG, "--retry-failed")
        self.assertEqual(steps_of(run_of(self.folder, 1)), list(range(1, 201)), "from its last checkpoint")

    def test_a_metric_that_no_run_has(self):
        result = self.sweep("optimizer.lr=0.001,0.002", *SHORT, "--metric", "val/top7", code=SOME_FAILED)
        self.assertIn("the run has no metric val/top7; it has val/", result.out)

    def test_help_tells_all(self):
        result = paceline("sweep", "--help")
        self.assertEqual(result.code, 0, str(result))
        for option in ("--strategy", "--trials", "--seed", "--metric", "--mode", "--jobs", "--sweep-dir", "--retry-failed",
                       "--min-duration", "--max-duration", "--reduction-factor", "--ablate", "--seeds", "--nproc"):
            self.assertIn(option, result.out)


if __name__ == "__main__":
    unittest.main()
