"""`paceline lr-find` and `train --lr-find`, as users meet them."""

import csv
import json
import math
import unittest

from paceline_process import RunTest, checkpoint_digests, paceline, settings

CONFIG = 2
TEST = ("--steps", 30, "--min", 1e-4, "--max", 10)


class LrFind(RunTest):
    def find(self, *arguments):
        result = paceline("lr-find", self.write_recipe(), *arguments, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result

    def test_finds_the_same_on_any_ranks_and_leaves_nothing(self):
        self.write_recipe()
        before = self.all_files()
        found = json.loads(self.find(*TEST, "--json").out)
        self.assertEqual(sorted(found["suggestions"]), ["minimum", "slide", "steepest", "valley"])
        self.assertEqual(found["lr"], found["suggestions"]["valley"])
        self.assertEqual(len(found["rates"]), found["steps"])
        self.assertLess(abs(found["rates"][0] - 1e-4), 1e-12)
        two = json.loads(self.find(*TEST, "--json", "--nproc", 2).out)
        self.assertEqual(found["rates"], two["rates"])
        first = min(found["losses"])
        for one, other in zip(found["losses"], two["losses"]):
            if one > 3 * first:
                break  # where it explodes, so do differences
            self.assertTrue(math.isclose(one, other, rel_tol=1e-3), (one, other))
        self.assertEqual(self.all_files(), before)

    def test_writes_a_picture_and_a_table(self):
        svg, table = self.root / "lr.svg", self.root / "lr.csv"
        out = self.find(*TEST, "--rule", "minimum", "--svg", svg, "--csv", table).out
        self.assertRegex(out, r"minimum +\S+  <- optimizer.lr")
        self.assertIn("optimizer.lr=", out)
        self.assertIn("<polyline", svg.read_text())
        with open(table, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["lr", "loss", "smoothed_loss"])
        self.assertGreaterEqual(len(rows), 6)

    def test_a_run_trains_with_what_it_finds_and_keeps_it(self):
        runs = [self.run_directory("found"), self.run_directory("given")]
        short = settings("train.duration=4ba", "checkpoint.every=2ba")
        recipe = self.write_recipe()
        self.assertIn("lr-find: optimizer.lr=", self.train(recipe, "--run-dir", runs[0], "--lr-find", *short).err)
        lr = next(line for line in (runs[0] / "config.yaml").read_text().splitlines() if line.startswith("  lr: "))
        self.train(recipe, "--run-dir", runs[1], *short, f"optimizer.lr={lr.split()[1]}")
        self.assertEqual(*(checkpoint_digests(run / "checkpoints" / "step-4") for run in runs))
        longer = settings("train.duration=6ba", "checkpoint.every=2ba")
        resumed = self.train(recipe, "--run-dir", runs[0], "--resume", "auto", "--lr-find", *longer)
        self.assertIn(lr, (runs[0] / "config.yaml").read_text())
        self.assertIn("as the run in", resumed.err)

    def test_refuses_what_is_no_test(self):
        recipe = self.write_recipe()
        for arguments, text in ((("--min", 1, "--max", 0.1), "no range of learning rates"),
                                (("--steps", 3), "--steps 6 or more"),
                                (("--steps", 6), "too few points"),
                                (("--like", "composer"), "--like"),
                                (("--svg", "lr.png"), "SVG")):
            result = paceline("lr-find", recipe, *arguments, cwd=self.root)
            self.assertEqual(result.code, CONFIG, str(result))
            self.assertIn(text, result.err)
        for arguments in (("--dry-run",), ("--fast-dev-run",), ("--resume", "elsewhere")):
            result = paceline("train", recipe, "--lr-find", *arguments, cwd=self.root)
            self.assertEqual(result.code, CONFIG, str(result))
            self.assertIn("--lr-find", result.err)


if __name__ == "__main__":
    unittest.main()
