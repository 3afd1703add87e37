"""Runs in the background that train: what they are called, and how their start is told."""

import json
import shutil
import unittest

from paceline_process import RunTest, checkpoints, paceline, wait_until


def ended(run):
    """The exit code of a detached run, or nothing while it runs."""
    return json.loads((run / "launcher.json").read_text())["exit_code"]


class DetachedTraining(RunTest):
    def detach(self, *arguments, code=0):
        result = paceline("train", *arguments, "--detach", cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def stop(self, run):
        stopped = paceline("stop", run, cwd=self.root)
        self.assertEqual(stopped.code, 0, str(stopped))

    def test_a_run_is_called_what_it_is_called_in_the_foreground(self):
        recipe = self.write_recipe()
        for arguments, pattern in (((recipe,), r"runs/test-\d{8}-\d{6}"),
                                   ((recipe, "run.name=other", "run.dir=else/where"), r"else/where/other-\d{8}-\d{6}")):
            result = self.detach(*arguments)
            self.assertRegex(result.out, f"\npaceline: {self.root}/({pattern} began training|{pattern} has trained)")
            (made,) = (self.root / pattern.partition("/" + pattern.split("/")[-1])[0]).iterdir()
            self.assertRegex(str(made.relative_to(self.root)), f"^{pattern}$")
            wait_until(lambda: ended(made) is not None, "the run has ended")
            shutil.rmtree(made)
            self.train(*arguments)
            (same,) = made.parent.iterdir()
            self.assertRegex(str(same.relative_to(self.root)), f"^{pattern}$")
            shutil.rmtree(same)

    def test_a_run_that_logs_nothing_begins_all_the_same(self):
        run = self.run_directory("silent")
        quiet = ["~loggers.jsonl", "~loggers.system", "~loggers.tensorboard"]
        result = self.detach(self.write_recipe(), "--run-dir", run, "--nproc", 2, *quiet, "train.duration=1000ep")
        self.assertIn("began training (step 1 after", result.out)
        self.assertFalse((run / "metrics.jsonl").exists())
        self.stop(run)
        step = max(int(path.name.removeprefix("step-")) for path in checkpoints(run))
        result = self.detach(self.write_recipe(), "--run-dir", run, "--resume", "auto", *quiet, "train.duration=1000ep")
        self.assertIn(f"began training (step {step + 1} after", result.out)
        self.stop(run)

    def test_a_run_without_steps_ends_well(self):
        run = self.run_directory("complete")
        self.train(self.write_recipe(), "--run-dir", run)
        result = self.detach(self.write_recipe(), "--run-dir", run, "--resume", "auto")
        self.assertIn("has ended well", result.out)
        self.assertIn("the run was complete already", result.out)

    def test_a_run_whose_directory_moves_fails_at_its_next_save(self):
        run, moved = self.run_directory("moving"), self.run_directory("moved")
        self.detach(self.write_recipe(), "--run-dir", run, "train.duration=100000ep", "schedule=constant",
                    "checkpoint.every=20ep")
        run.rename(moved)
        wait_until(lambda: ended(moved) is not None, "the run has ended")
        self.assertEqual(ended(moved), 5)
        said = (moved / "launcher.log").read_text().splitlines()[-1]
        self.assertIn("was not saved", said)
        self.assertEqual(said.count("is gone"), 1, said)
        self.assertIn("has ended with exit code 5", paceline("stop", moved).out)

    def test_the_cause_of_a_failure_comes_last(self):
        for nproc in (1, 2):
            run = self.run_directory(f"failed-{nproc}")
            result = self.detach(self.write_recipe(), "--run-dir", run, "--nproc", nproc, "data.path=/absent", code=3)
            self.assertIn("ended before its first step", result.err)
            self.assertIn("/absent", result.err.splitlines()[-1])
        result = self.detach(self.write_recipe(), "optimizer.lrr=1", code=2)
        self.assertEqual(result.err.count("there is no such key"), 1, result.err)


if __name__ == "__main__":
    unittest.main()
