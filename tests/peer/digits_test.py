"""Drawn digits are as hard as they are meant to be: a linear model tells few of them by their pixels, a small convolutional
network learns nearly all, here as in PyTorch."""

import json
import os
import pathlib
import statistics
import subprocess
import time
import unittest

from paceline_process import RunTest, environment, paceline, read_metrics

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
PEERS = pathlib.Path(__file__).parent
RECIPE = PEERS.parents[1] / "recipes" / "digits-fast.yaml"
SEEDS = (1, 2, 3)
TRAIN_PER_CLASS, VAL_PER_CLASS = 1000, 200
TIMEOUT_S = 900


class Digits(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digits = cls.root / "digits"
        made = paceline("data", "synth", cls.digits, "--kind", "digits", "--train-per-class", TRAIN_PER_CLASS,
                        "--val-per-class", VAL_PER_CLASS)
        assert made.code == 0, made

    def told_by(self, program, *arguments):
        result = subprocess.run([str(PYTHON), str(PEERS / program), str(self.digits), *arguments], capture_output=True,
                                text=True, timeout=TIMEOUT_S, env=environment(OMP_WAIT_POLICY="passive"))
        self.assertEqual(result.returncode, 0, result.stderr)
        print(f"\n{program}: {result.stdout.strip()}", flush=True)
        return json.loads(result.stdout)

    def test_a_linear_model_tells_at_most_sixty_percent(self):
        fits = self.told_by("linear_digits.py")
        self.assertGreater(max(fit["train"] for fit in fits), 0.5)  # it fits: what it learnt is of no use for others
        self.assertLessEqual(max(fit["val"] for fit in fits), 0.6)

    def by_paceline(self, seed):
        """The accuracy at the end, and the seconds that it took from start to end."""
        run, begin = self.run_directory(str(seed)), time.perf_counter()
        self.train(RECIPE, "--run-dir", run, f"data.path={self.digits}", f"run.seed={seed}", "checkpoint.every=null",
                   "checkpoint.keep_best=0", "loggers={jsonl: }", timeout=TIMEOUT_S,
                   env=environment(OMP_WAIT_POLICY="passive"))
        seconds = time.perf_counter() - begin
        return [line["val/top1"] for line in read_metrics(run) if line.get("event") == "eval"][-1], seconds

    def test_a_small_convolutional_network_learns_them_as_its_twin_does(self):
        ours, theirs, seconds = [], [], []
        for seed in SEEDS:
            top1, took = self.by_paceline(seed)
            ours.append(top1)
            seconds.append(took)
            theirs.append(self.told_by("cifar_net_twin.py", json.dumps({"seed": seed}))[-1])
        print(f"paceline: {ours} in {[round(took, 1) for took in seconds]} s, PyTorch: {theirs}", flush=True)
        self.assertGreaterEqual(min(ours), 0.97)
        self.assertGreaterEqual(statistics.mean(ours), statistics.mean(theirs) - 0.003)


if __name__ == "__main__":
    unittest.main()
