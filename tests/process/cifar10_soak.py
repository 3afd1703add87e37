"""The recipe cifar10-fast on CIFAR-10 itself, at PACELINE_CIFAR10: an hour on two cores."""

import json
import os
import pathlib
import unittest

from paceline_process import RunTest, paceline

RECIPE = pathlib.Path(__file__).resolve().parents[2] / "recipes" / "cifar10-fast.yaml"


@unittest.skipUnless("PACELINE_CIFAR10" in os.environ, "PACELINE_CIFAR10 names no folder of CIFAR-10")
class Cifar10(RunTest):
    def test_reaches_the_published_accuracy(self):
        run = self.run_directory("run")
        self.train(RECIPE, "--run-dir", run, f"data.path={os.environ['PACELINE_CIFAR10']}", "train.precision=fp32",
                   timeout=4 * 3600)
        result = paceline("eval", f"{run}@last", "--flip", "--shift", 1, "--json")
        self.assertEqual(result.code, 0, str(result))
        top1 = json.loads(result.out)["metrics"]["val/top1"]
        print(f"\ntop-1 of CIFAR-10 {top1:.4f}", flush=True)
        self.assertGreaterEqual(top1, 0.935)


if __name__ == "__main__":
    unittest.main()
