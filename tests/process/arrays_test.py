"""Samples of arrays: the tools for data tell them, and a pack of them trains as its source."""

import array
import json
import shutil
import unittest

from odd_data_test import npy
from paceline_process import RunTest, paceline, read_metrics

SIDE = 16


class Arrays(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.arrays = cls.root / "arrays"
        for split, count in (("train", 24), ("val", 8)):
            cls.write(cls.arrays / split, count)

    @staticmethod
    def write(folder, count):
        folder.mkdir(parents=True)
        numbers = 3 * SIDE * SIDE
        pixels = array.array("f", [(i * 37 + j * 11) % 256 / 128 - 1 for i in range(count) for j in range(numbers)])
        (folder / "images.npy").write_bytes(npy("<f4", (count, 3, SIDE, SIDE), pixels.tobytes()))
        (folder / "labels.npy").write_bytes(npy("|u1", (count,), bytes(i % 4 for i in range(count))))

    def run_data(self, *arguments, code=0):
        result = paceline("data", *arguments, cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def test_info_show_verify_and_bench_tell_them(self):
        told = json.loads(self.run_data("info", self.arrays, "--json").out)
        self.assertEqual([field["name"] for field in told["fields"]], ["images", "labels"])
        self.assertEqual(told["fields"][0] | {"mean": 0}, {
            "name": "images", "type": "float32", "sizes": [3, SIDE, SIDE], "smallest": -1.0, "mean": 0,
            "largest": 0.9921875, "not_finite": 0})
        text = self.run_data("info", self.arrays).out
        self.assertIn("24 samples in 4 classes of 3.0 KiB each", text)
        self.assertRegex(text, r"labels uint8 +0 to 3, mean 1.5")
        sheet = self.root / "sheet.png"
        shown = self.run_data("show", self.arrays, "--indices", "1,5", "-o", sheet).out.splitlines()
        self.assertRegex(shown[1], r"^5  .*train: sample 5  images float32 3 x 16 x 16: -1 to 0.99\d+, mean .*  labels int64: 1$")
        self.assertEqual(sheet.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertIn("train: 24 samples", self.run_data("verify", self.arrays).out)
        self.assertIn("images/s", self.run_data("bench", self.arrays, "--samples", 50).out)

    def test_a_pack_trains_as_its_source(self):
        packed = self.root / "packed"
        self.run_data("pack", self.arrays, "-o", packed, "--samples-per-shard", 10)
        told = [json.loads(self.run_data("info", where, "--json").out) for where in (self.arrays, packed)]
        self.assertEqual(told[0]["fields"], told[1]["fields"])
        flips = "data.train_transforms=[{name: random_flip, axes: [-1, -2]}, {name: random_crop, size: [8, 8]}]"
        settings = ["model={name: resnet18}", "train.duration=2ep", "data.global_batch_size=12", "data.image_size=null",
                    "train.eval_every=1ep", flips]
        runs = []
        for name, where in (("arrays", self.arrays), ("packed", packed)):
            runs.append(self.run_directory(f"trained-on-{name}"))
            self.train(self.write_recipe(), "--run-dir", runs[-1], f"data={{name: {name}, path: {where}}}", *settings)
        self.assertEqual(read_metrics(runs[0]), read_metrics(runs[1]))

    def test_samples_of_several_classes_train_and_are_told(self):
        folder = self.root / "sets"
        for split, count in (("train", 24), ("val", 9)):
            self.write(folder / split, count)
            (folder / split / "labels.npy").unlink()
            wanted = array.array("f", [float(i % 4 == c or (i % 2 == 0 and c == 3)) for i in range(count) for c in range(5)])
            (folder / split / "targets.npy").write_bytes(npy("<f4", (count, 5), wanted.tobytes()))
        run = self.run_directory("sets")
        settings = ["model={name: resnet18}", "train.duration=2ep", "data.global_batch_size=12", "data.image_size=null",
                    "train.eval_every=1ep", "task={name: multi_label, metrics: [average_precision, label_accuracy]}",
                    f"data={{name: arrays, path: {folder}}}"]
        refused = paceline("train", self.write_recipe(), *settings, cwd=self.root)
        self.assertEqual(refused.code, 2, str(refused))
        self.assertIn("loss=binary_cross_entropy", refused.err)
        self.train(self.write_recipe(), "--run-dir", run, "loss=binary_cross_entropy", *settings)
        rows = read_metrics(run)
        step = next(row for row in rows if "train/loss" in row)
        self.assertLessEqual({"train/f1_micro", "train/exact_match"}, step.keys())
        last = [row for row in rows if "val/loss" in row][-1]
        for name in ("f1_micro", "exact_match", "average_precision", "label_accuracy"):
            self.assertTrue(0 <= last[f"val/{name}"] <= 1, (name, last))
        told = json.loads(paceline("eval", run, "--json", cwd=self.root).out)
        self.assertEqual(told["metrics"]["val/average_precision"], last["val/average_precision"])
        self.assertEqual(len(told["classes"]), 5)
        self.assertIn("--predictions is for task classification", paceline(
            "eval", run, "--predictions", self.root / "x.csv", cwd=self.root).err)

    def test_bad_input_gets_one_clear_error(self):
        short = self.root / "short"
        shutil.copytree(self.arrays, short)
        (short / "train" / "labels.npy").write_bytes(npy("|u1", (23,), bytes(23)))
        for code, text, arguments in (
                (3, "labels.npy: holds 23 samples by its first axis", ("info", short)),
                (2, "mode pixels is of images", ("pack", self.arrays, "-o", self.root / "x", "--mode", "pixels")),
                (2, "data.image_size: only for images", ("show", self.arrays, "data.image_size=8")),
                (2, "random_horizontal_flip is for images",
                 ("bench", self.arrays, "data.train_transforms=[random_horizontal_flip]")),
                (2, "random_crop.size: [8, 99]",
                 ("bench", self.arrays, "data.train_transforms=[{name: random_crop, size: [8, 99]}]"))):
            result = self.run_data(*arguments, code=code)
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)


if __name__ == "__main__":
    unittest.main()
