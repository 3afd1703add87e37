"""What `paceline predict` and `export` give out of a run, as users meet it."""

import ast
import csv
import json
import math
import struct
import unittest

from paceline_process import RunTest, paceline, settings

CONFIG = 2
DATA = 3
SMALL = settings("train.duration=2ba", "checkpoint.every=2ba", "schedule=constant")


def read_npy(path):
    """The shape and the float32 values of a file, without NumPy."""
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    assert data[:8] == b"\x93NUMPY\x01\x00" and header["descr"] == "<f4" and not header["fortran_order"], header
    return header["shape"], struct.unpack(f"<{math.prod(header['shape'])}f", data[10 + length:])


def header_of(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])


def metadata_of(path):
    return header_of(path)["__metadata__"]


class Predict(RunTest):
    def setUp(self):
        self.run_dir = self.run_directory(self.id())

    def test_rows_are_samples_in_order(self):
        self.train(self.write_recipe(), "--run-dir", self.run_dir, *SMALL)
        written = {}
        for ranks in (1, 3):
            out = self.root / f"predicted-{ranks}"
            result = paceline("predict", self.run_dir, "-o", out, "--nproc", ranks, cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
            self.assertEqual(sorted(path.name for path in out.iterdir()),
                             ["predictions.json", "probabilities.npy", "samples.csv"])
            shape, written[ranks] = read_npy(out / "probabilities.npy")
            self.assertEqual(shape, (20, 4))
        for one, three in zip(written[1], written[3]):
            self.assertAlmostEqual(one, three, delta=1e-5)
        with open(out / "samples.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["index"]) for row in rows], list(range(20)))
        evaluated = json.loads(paceline("eval", self.run_dir, "--json", cwd=self.root).out)
        right = sum(max(range(4), key=lambda i: written[1][4 * row + i]) == int(sample["label"])
                    for row, sample in enumerate(rows))
        self.assertAlmostEqual(right / 20, evaluated["metrics"]["val/top1"])
        for row in rows:
            self.assertIn("/" + row["class"] + "/", row["sample"])
        facts = json.loads((out / "predictions.json").read_text())
        self.assertEqual((facts["samples"], facts["class_names"]), (20, evaluated["class_names"]))
        again = paceline("predict", self.run_dir, "-o", out, cwd=self.root)
        self.assertNotEqual(again.code, 0)
        self.assertIn("it is there already", again.err)
        self.assertEqual(paceline("predict", self.run_dir, cwd=self.root).code, CONFIG, "it needs images or -o")

    def test_images_are_told_in_order(self):
        self.train(self.write_recipe(), "--run-dir", self.run_dir, *SMALL)
        self.assertEqual(paceline("predict", self.run_dir, "-o", self.root / "all", cwd=self.root).code, 0)
        shape, values = read_npy(self.root / "all" / "probabilities.npy")
        classes = json.loads((self.root / "all" / "predictions.json").read_text())["class_names"]
        wanted = {}
        with open(self.root / "all" / "samples.csv", newline="") as file:
            for row, sample in enumerate(csv.DictReader(file)):
                wanted[sample["sample"]] = values[4 * row:4 * row + 4]
        files = sorted(map(str, (self.data / "val").rglob("*.*")))
        self.assertEqual(sorted(wanted), files)
        for arguments in ([self.data / "val"], [f"{self.data}/val/*/*", "data.num_threads=2"],
                          [*files, "--nproc", 3], [self.data / "val", "data.global_batch_size=3"]):
            told = paceline("predict", self.run_dir, *arguments, "--topk", 3, "--json", cwd=self.root)
            self.assertEqual(told.code, 0, str(told))
            lines = [json.loads(line) for line in told.out.splitlines()]
            self.assertEqual([line["path"] for line in lines], files)
            for line in lines:
                best = sorted(range(4), key=lambda label: -wanted[line["path"]][label])[:3]
                self.assertEqual([each["label"] for each in line["classes"]], best)
                for each in line["classes"]:
                    self.assertEqual(each["class"], classes[each["label"]])
                    self.assertAlmostEqual(each["probability"], wanted[line["path"]][each["label"]], delta=1e-5)
        told = paceline("predict", self.run_dir, files[0], "--topk", 1, cwd=self.root)
        label = max(range(4), key=lambda label: wanted[files[0]][label])
        self.assertEqual(told.out, f"{files[0]}  {classes[label]}  {wanted[files[0]][label]:.4f}\n")

    def test_a_bad_image_is_told_and_the_others_are_classified(self):
        self.train(self.write_recipe(), "--run-dir", self.run_dir, *SMALL)
        folder = self.root / "mixed"
        folder.mkdir()
        good = sorted((self.data / "val").rglob("*.*"))[:3]
        for number, path in enumerate(good):
            (folder / f"{number}{path.suffix}").write_bytes(path.read_bytes())
        (folder / "1-bad.jpg").write_text("no image")
        for ranks in (1, 2):
            told = paceline("predict", self.run_dir, folder, "gone.jpg", "--json", "-o", self.root / f"mixed-{ranks}",
                            "--nproc", ranks, cwd=self.root)
            self.assertEqual(told.code, DATA, str(told))
            lines = [json.loads(line) for line in told.out.splitlines()]
            names = sorted(path.name for path in folder.iterdir())
            self.assertEqual([line["path"].rpartition("/")[2] for line in lines], [*names, "gone.jpg"])
            self.assertEqual([("error" in line) for line in lines],
                             ["bad" in line["path"] or line["path"] == "gone.jpg" for line in lines])
            self.assertRegex(told.err, "error: .*1-bad.jpg: ")
            self.assertRegex(told.err, "error: gone.jpg: cannot open")
            self.assertIn("2 of 5 images could not be read", told.err)
            self.assertEqual(read_npy(self.root / f"mixed-{ranks}" / "probabilities.npy")[0], (3, 4))
        only_bad = paceline("predict", self.run_dir, folder / "1-bad.jpg", cwd=self.root)
        self.assertEqual((only_bad.code, only_bad.out), (DATA, ""))
        empty = self.root / "no-images"
        empty.mkdir()
        self.assertIn("no image is in this folder", paceline("predict", self.run_dir, empty, cwd=self.root).err)

    def told(self, what, *arguments):
        """The classes of the validation images, and what was said beside them."""
        result = paceline("predict", what, self.data / "val", "--json", *arguments, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return [json.loads(line) for line in result.out.splitlines()]

    def assert_same_classes(self, actual, expected):
        self.assertEqual(len(actual), len(expected))
        for one, other in zip(actual, expected):
            self.assertEqual(one["path"], other["path"])
            self.assertEqual([each["class"] for each in one["classes"]], [each["class"] for each in other["classes"]])
            for each, wanted in zip(one["classes"], other["classes"]):
                self.assertAlmostEqual(each["probability"], wanted["probability"], delta=1e-5)

    def export(self, run, name, *arguments):
        folder = self.root / name
        result = paceline("export", run, "--format", "hf", "-o", folder, *arguments, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return folder

    def test_an_exported_folder_predicts_as_its_checkpoint(self):
        odd = "data.eval_transforms=[{name: resize, size: [40, 33]}, {name: center_crop, size: 32}, " \
              "{name: normalize, mean: [0.4, 0.5, 0.6], std: [0.3, 0.2, 0.1]}]"
        self.train(self.write_recipe(), "--run-dir", self.run_dir, *SMALL, odd)
        folder = self.export(self.run_dir, "exported")
        wanted = self.told(self.run_dir)
        self.assert_same_classes(self.told(folder), wanted)
        self.assert_same_classes(self.told(folder / "model.safetensors", "--nproc", 2), wanted)
        usual = "data.eval_transforms=[{name: resize, size: 40}, {name: center_crop, size: 32}, normalize]"
        self.assert_same_classes(self.told(folder, usual), self.told(self.run_dir, usual))
        metrics = [json.loads(paceline("eval", what, "--json", *data, cwd=self.root).out)["metrics"]
                   for what, data in ((self.run_dir, []), (folder, [f"data.path={self.data}"]))]
        self.assertEqual(metrics[0]["val/top1"], metrics[1]["val/top1"])
        self.assertAlmostEqual(metrics[0]["val/loss"], metrics[1]["val/loss"], delta=1e-5)

    def test_a_folder_of_timms_form_is_read_by_its_words(self):
        self.train(self.write_recipe(model="resnet18", name="resnet.yaml"), "--run-dir", self.run_dir, *SMALL)
        folder = self.export(self.run_dir, "of-timm")
        config = json.loads((folder / "config.json").read_text())
        del config["paceline"]
        (folder / "config.json").write_text(json.dumps(config))
        self.assert_same_classes(self.told(folder), self.told(self.run_dir))
        photo = sorted((self.data / "val").glob("*/*"))[0]
        for code, text, what in (
                (CONFIG, "its architecture is 'resnet19'", {"architecture": "resnet19"}),
                (CONFIG, "model.stage", {"model_args": {"stage": 3}}),
                (5, "fc.weight", {"num_classes": 7}),
                (DATA, "is not as timm and", {"architecture": 3})):
            (folder / "config.json").write_text(json.dumps(config | what))
            result = paceline("predict", folder, photo, cwd=self.root)
            self.assertEqual(result.code, code, str(result))
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)
        (folder / "config.json").unlink()
        result = paceline("predict", folder / "model.safetensors", photo, cwd=self.root)
        self.assertEqual(result.code, 5, str(result))
        self.assertIn("Weights alone do not name their model", result.err)

    def test_a_changed_network_is_told_and_rebuilt(self):
        recipe = self.write_recipe(model="resnet18", name="resnet.yaml")
        self.train(recipe, "--run-dir", self.run_dir, *SMALL, "++algorithms.blurpool.min_channels=32")
        file = self.root / "weights.safetensors"
        exported = paceline("export", self.run_dir, "-o", file, cwd=self.root)
        self.assertEqual(exported.code, 0, str(exported))
        self.assertRegex(exported.err, r"torchvision or timm computes something else.*blurpool: \d+ convolutions \(layer")
        record = json.loads(metadata_of(file)["surgery"])
        self.assertEqual(record[0]["algorithm"], "blurpool")
        self.assertEqual(record[0]["layers"]["max-pools"], ["maxpool"])
        self.assertIn("--names composer writes them for", exported.err)
        other = paceline("eval", self.run_dir, "algorithms.blurpool.min_channels=64", cwd=self.root)
        self.assertEqual(other.code, CONFIG, str(other))
        self.assertIn("algorithms.blurpool: it was", other.err)
        self.assert_same_classes(self.told(self.export(self.run_dir, "blurred")), self.told(self.run_dir))

    def test_a_changed_network_is_written_with_composers_names(self):
        self.train(self.write_recipe(model="resnet18", name="resnet.yaml"), "--run-dir", self.run_dir, *SMALL,
                   "++algorithms.blurpool.min_channels=32")
        file = self.root / "composers.safetensors"
        exported = paceline("export", self.run_dir, "--names", "composer", "-o", file, cwd=self.root)
        self.assertEqual(exported.code, 0, str(exported))
        self.assertNotIn("computes something else", exported.err)
        self.assertIn("apply_blurpool(model, replace_convs=True, replace_maxpools=True, blur_first=True, min_channels=32)",
                      exported.err)
        header = header_of(file)
        self.assertEqual(header["layer2.0.conv1.conv.weight"]["shape"], [128, 64, 3, 3])
        self.assertEqual(header["layer2.0.conv1.blur_filter"]["shape"], [64, 1, 3, 3])
        self.assertEqual(header["maxpool.filt2d"]["dtype"], "F32")
        self.assertNotIn("layer2.0.conv1.weight", header)
        folder = paceline("export", self.run_dir, "--names", "composer", "--format", "hf", "-o", self.root / "hub")
        self.assertEqual(folder.code, CONFIG, str(folder))
        self.assertIn("--format hf a folder for timm", folder.err)
        self.assertFalse((self.root / "hub").exists())

    def test_composer_has_no_names_for_a_vit(self):
        self.train(self.write_recipe(), "--run-dir", self.run_dir, *SMALL)
        file = self.root / "vit.safetensors"
        refused = paceline("export", self.run_dir, "--names", "composer", "-o", file, cwd=self.root)
        self.assertEqual(refused.code, CONFIG, str(refused))
        self.assertEqual(refused.err.count("error: "), 1, str(refused))
        self.assertRegex(refused.err, "--names composer: .*torchvision's ResNets, and the model is vit.*leave --names out")
        self.assertFalse(file.exists())


if __name__ == "__main__":
    unittest.main()
