"""Drawn digits are as hard as they are meant to be: a linear model tells few of them by their pixels, a small convolutional
network learns nearly all within two minutes on two cores."""

import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import RunTest, environment, paceline

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
PEERS = pathlib.Path(__file__).parent
TRAIN_PER_CLASS, VAL_PER_CLASS = 1000, 200
TIMEOUT_S = 900


class Digits(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digits = cls.root / "digits"
        made = paceline("data", "synth", cls.digits, "--like", "digits", "--train-per-class", TRAIN_PER_CLASS,
                        "--val-per-class", VAL_PER_CLASS)
        assert made.code == 0, made

    def told_by(self, program):
        result = subprocess.run([str(PYTHON), str(PEERS / program), str(self.digits)], capture_output=True, text=True,
                                timeout=TIMEOUT_S, env=environment(OMP_WAIT_POLICY="passive"))
        self.assertEqual(result.returncode, 0, result.stderr)
        print(f"\n{program}: {result.stdout.strip()}", flush=True)
        return json.loads(result.stdout)

    def test_a_linear_model_tells_at_most_sixty_percent(self):
        fits = self.told_by("linear_digits.py")
        self.assertGreater(max(fit["train"] for fit in fits), 0.5)  # it fits: what it learnt is of no use for others
        self.assertLessEqual(max(fit["val"] for fit in fits), 0.6)

    def test_a_small_convolutional_network_learns_them(self):
        self.assertGreaterEqual(self.told_by("cifar_net_twin.py")[-1], 0.97)


if __name__ == "__main__":
    unittest.main()
