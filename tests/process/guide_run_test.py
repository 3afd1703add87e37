"""Runs of the JSON of hybrid ViT cascades, scaled down: in half precision on two ranks, through a death in the second
stage, from the second stage on, and many of them by a sweep."""

import csv
import json
import math
import unittest

from guide_json_test import SIZES, small
from paceline_process import (RunTest, checkpoint_digests, checkpoints, kill, make_phantoms, paceline, read_metrics, start,
                              wait_until)

SHORT = ("model.xray_dim=64", "task.sampling_steps=2", "train.eval_batches=1", "data.subset=8")
EPOCHS = 3  # of the second stage


class GuideRuns(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        _, volumes = make_phantoms(cls.root, 24, SIZES[::-1], 32)
        cls.config = cls.root / "multi_view_config.json"
        document = small() | {"data": {"dataset_path": str(volumes)}}
        document["stage_configs"][1]["num_epochs"] = EPOCHS
        cls.config.write_text(json.dumps(document))

    def command(self, run, *more):
        return ("train", "--config", self.config, "--num_processes=2", "--checkpoint_dir", run, *SHORT, *more)

    def finished(self, run, *more):
        result = paceline(*self.command(run, *more), cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result

    @staticmethod
    def phase(run, number):
        return run / "phases" / f"{number}-stage{number}"

    def ends_like(self, run, other, number=2):
        newest, expected = (checkpoints(self.phase(each, number))[-1] for each in (run, other))
        self.assertEqual(newest.name, expected.name)
        self.assertEqual(checkpoint_digests(newest), checkpoint_digests(expected))

    def test_half_precision_from_the_first_stage_to_the_last_through_a_death(self):
        for precision in ("fp16", "bf16"):
            run = self.run_directory(precision)
            flags = ("--mixed_precision", precision)
            self.finished(run, *flags)
            for number in (1, 2):
                evaluated = [line for line in read_metrics(self.phase(run, number)) if "val/psnr" in line]
                self.assertEqual(len(evaluated), 1 if number == 1 else EPOCHS)
                self.assertTrue(all(math.isfinite(line[key]) for line in evaluated for key in ("val/psnr", "val/loss")))
                self.assertIn(f"precision: {precision}", (self.phase(run, number) / "config.yaml").read_text())
                best = paceline("eval", run / f"stage{number}_best.pt", "--json", cwd=self.root)
                self.assertEqual(best.code, 0, str(best))
                told = json.loads(best.out)
                self.assertIn(str(self.phase(run, number)), told["checkpoint"])
                highest = max(line["val/psnr"] for line in evaluated)
                self.assertAlmostEqual(told["metrics"]["val/psnr"], highest, places=2)
            if precision == "fp16":  # whose loss scale is saved, too
                self.goes_on_after_a_death(run, flags)

    def goes_on_after_a_death(self, run, flags):
        killed, chosen = self.run_directory("killed"), self.run_directory("chosen")
        process = start(*self.command(killed, *flags), cwd=self.root)
        wait_until(lambda: len(checkpoints(self.phase(killed, 2))) > 1, "two checkpoints of the second stage")
        kill(process)
        self.assertFalse((self.phase(killed, 2) / "summary.json").exists(), "it died before its end")
        # Into a directory of its own, and there again; and where it was.
        self.finished(chosen, *flags, "--resume_from", killed / "stage2_best.pt")
        self.assertEqual([path.name for path in (chosen / "phases").iterdir()], ["2-stage2"])
        self.finished(chosen, *flags, "--resume_from", "auto")
        self.finished(killed, *flags, "--resume_from", killed / "stage2_best.pt")
        for other in (chosen, killed):
            self.ends_like(other, run)

    def test_starts_at_the_second_stage(self):
        run, other = self.run_directory("all"), self.run_directory("second")
        self.finished(run)
        said = self.finished(other, "--start_stage", 2, "--resume_from", run / "stage1_best.pt").err
        self.assertIn(f"phase 2 of 2: stage2, from {self.phase(run, 1)}", said)
        self.assertEqual([path.name for path in (other / "phases").iterdir()], ["2-stage2"])
        self.ends_like(other, run)
        result = paceline(*self.command(self.run_directory("none"), "--start_stage", 2), cwd=self.root)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("name the weights of the phase before by --resume", result.err)

    def test_is_planned_and_swept(self):
        plan = paceline("train", self.config, "--dry-run", *SHORT, cwd=self.root)
        self.assertEqual(plan.code, 0, str(plan))
        for text in ("phase 1 of 2: stage1", "phase 2 of 2: stage2", "nothing was trained"):
            self.assertIn(text, plan.err)
        folder = self.root / "sweep"
        result = paceline("sweep", self.config, "optimizer.lr=1e-3,1e-5", "phases.stage2.train.duration=1ep", *SHORT,
                          "--sweep-dir", folder, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        with (folder / "sweep.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["optimizer.lr"], row["state"]) for row in rows], [("1e-3", "done"), ("1e-5", "done")])
        for number, row in enumerate(rows, 1):
            last = read_metrics(self.phase(folder / "trials" / f"{number:04}", 2))
            self.assertEqual(float(row["val/psnr"]), [line["val/psnr"] for line in last if "val/psnr" in line][-1])


if __name__ == "__main__":
    unittest.main()
