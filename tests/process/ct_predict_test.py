"""What `paceline predict` and `eval` give of a cascade that makes CT volumes of X-rays, as users meet it."""

import array
import csv
import gzip
import json
import statistics
import struct
import unittest
import zlib

from ct_pictures_test import LEAST_SIDE, read_png
from paceline_process import RunTest, make_phantoms, paceline
from prepare_ct_test import dicom_element

PATIENTS = 24
SIDE = 24
XRAY = 32
CONFIG = 2
DATA = 3

RECIPE = """
run:        {seed: 3}
task:       {name: ct_diffusion, sampling_steps: 3}
model:      {name: ct_cascade, xray_size: 32, xray_dim: 64,
             stages: [{volume_size: 12, patch: 4, dim: 32, depth: 1, heads: 2},
                      {volume_size: 24, patch: 8, dim: 32, depth: 1, heads: 2}]}
data:       {name: ct, global_batch_size: 8, num_threads: 1}
train:      {duration: 1ep}
optimizer:  {name: adamw, lr: 2e-3}
algorithms: {ema: {smoothing: 0.9}}
checkpoint: {every: 1ep}
loggers:    {jsonl: }
phases:
  stage1: {model: {num_stages: 1}, data: {side: 12}}
  stage2: {model: {num_stages: 2}, data: {side: 24}, start_from: best}
"""


def read_nifti(path):
    """Type, sizes, rows of the sform, description and values, by the format's own description."""
    content = gzip.decompress(path.read_bytes())
    code = struct.unpack_from("<h", content, 70)[0]
    values = array.array({4: "h", 16: "f"}[code], content[352:])
    return {"type": code, "sizes": struct.unpack_from("<3h", content, 42), "values": values,
            "rows": [struct.unpack_from("<4f", content, 280 + 16 * row) for row in range(3)],
            "description": content[148:228].rstrip(b"\0").decode()}


def gray_png(side, values):
    """A PNG file of 16-bit greys."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + struct.pack(f">{side}H", *values[side * y:side * y + side]) for y in range(len(values) // side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", side, len(values) // side, 16, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def dicom_xray(side, values, photometric):
    """A DICOM file of 16-bit greys that says who its patient is."""
    file = bytes(128) + b"DICM" + dicom_element(0x0002, 0x0010, "UI", b"1.2.840.10008.1.2.1")
    elements = {(0x0008, 0x0016, "UI"): b"1.2.840.10008.5.1.4.1.1.1.1", (0x0008, 0x0018, "UI"): b"1.2.826.77.3",
                (0x0008, 0x0060, "CS"): b"DX", (0x0010, 0x0010, "PN"): b"Roe^Richard",
                (0x0028, 0x0004, "CS"): photometric.encode()}
    for number, content in ((0x0002, 1), (0x0010, side), (0x0011, side), (0x0100, 16), (0x0101, 16), (0x0102, 15), (0x0103, 0)):
        elements[0x0028, number, "US"] = struct.pack("<H", content)
    for key in sorted(elements):
        file += dicom_element(*key, elements[key])
    pixels = struct.pack(f"<{len(values)}H", *values)
    return file + struct.pack("<HH2sHI", 0x7FE0, 0x0010, b"OW", 0, len(pixels)) + pixels


class CtPredict(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.phantoms, cls.volumes = make_phantoms(cls.root, PATIENTS, (SIDE, SIDE // 2), XRAY)
        cls.trained = cls.root / "trained"
        (cls.root / "cascade.yaml").write_text(RECIPE)
        result = paceline("train", cls.root / "cascade.yaml", f"data.path={cls.volumes}", "--run-dir", cls.trained, cwd=cls.root)
        assert result.code == 0, str(result)
        manifest = json.loads((cls.volumes / "ct_manifest.json").read_text())
        cls.patients = {split: {patient["patient"]: patient["affine"] for patient in manifest["patients"]
                                if patient["split"] == split} for split in ("train", "val", "test")}

    def predict(self, name, *arguments, code=0):
        result = paceline("predict", self.trained, *arguments, "-o", self.root / name, cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return self.root / name

    def views(self, number=3, names=("frontal", "lateral")):
        patient = f"phantom_{number:06}"
        return [f"{name}={self.phantoms / patient / patient}_{mark}_drr.png" for name, mark in zip(names, ("pa", "lat"))]

    @staticmethod
    def content(folder):
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}

    def test_views_become_volumes(self):
        out = self.predict("named", *self.views(), "--samples", 3, "--steps", 2)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["patient", "predictions.json"])
        made = {path.name.removesuffix(".nii.gz"): read_nifti(path) for path in (out / "patient").iterdir()}
        self.assertEqual(sorted(made), ["deviation", "mean", "sample_1", "sample_2", "sample_3"])
        voxel = 400 / SIDE
        for name, told in made.items():
            self.assertEqual(told["type"], 16 if name == "deviation" else 4)
            self.assertEqual(told["sizes"], (SIDE,) * 3)
            self.assertEqual(told["description"], "synthetic, not for diagnosis")
            for axis, row in enumerate(told["rows"]):
                wanted = [voxel if axis == i else 0 for i in range(3)] + [(voxel - 400) / 2]
                for value, expected in zip(row, wanted):
                    self.assertAlmostEqual(value, expected, places=3)
        samples = list(zip(*(made[f"sample_{i}"]["values"] for i in (1, 2, 3))))
        self.assertGreater(len({values for values in samples}), 100)
        for values, mean, deviation in zip(samples, made["mean"]["values"], made["deviation"]["values"]):
            self.assertTrue(-1000 <= min(values) <= max(values) <= 3000)
            self.assertAlmostEqual(mean, statistics.fmean(values), delta=1.01)
            self.assertAlmostEqual(deviation, statistics.stdev(values), delta=1.01)
        facts = json.loads((out / "predictions.json").read_text())
        self.assertEqual((facts["notice"], facts["unit"]), ("synthetic, not for diagnosis", "HU"))
        self.assertEqual((facts["sampling"]["samples"], facts["sampling"]["steps"], facts["fov_mm"]), (3, 2, 400))
        self.assertEqual([patient["patient"] for patient in facts["patients"]], ["patient"])
        for name, arguments in (("angles", self.views(names=("0", "90.0"))), ("folder", [self.phantoms / "phantom_000003"])):
            again = self.predict(name, *arguments, "--samples", 3, "task.sampling_steps=2")
            patient = "phantom_000003" if name == "folder" else "patient"
            self.assertEqual(self.content(again / patient), self.content(out / "patient"))
        averaged = self.predict("ema", *self.views(), "--samples", 3, "--steps", 2, "--weights", "ema")
        self.assertEqual(json.loads((averaged / "predictions.json").read_text())["weights"], "ema")

    def test_formats_of_xrays_give_the_same(self):
        values = [(x * x + 977 * y) % 65536 for y in range(XRAY) for x in range(XRAY)]
        files = {"a.png": gray_png(XRAY, values), "a.dcm": dicom_xray(XRAY, values, "MONOCHROME2"),
                 "a1": dicom_xray(XRAY, [65535 - value for value in values], "MONOCHROME1")}
        made = []
        for name, content in files.items():
            path = self.root / name
            path.write_bytes(content)
            out = self.predict(f"of-{name}", f"frontal={path}", f"lateral={self.root / 'a.png'}", "--steps", 2)
            self.assertNotIn("Roe", str(self.content(out / "patient")) + (out / "predictions.json").read_text())
            made.append(self.content(out / "patient"))
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], made[2])
        self.assertEqual(set(read_nifti(self.root / "of-a.png" / "patient" / "deviation.nii.gz")["values"]), {0.0})

    def test_held_out_patients_lie_where_their_scans_did(self):
        made = {}
        for ranks in (1, 2):
            out = self.predict(f"test-{ranks}", "data.val_folder=test", "--steps", 2, "--nproc", ranks)
            self.assertEqual({path.name for path in out.iterdir()} - {"predictions.json"}, set(self.patients["test"]))
            self.assertNotIn("phantom_", (out / "predictions.json").read_text())
            for patient, affine in self.patients["test"].items():
                told = read_nifti(out / patient / "sample_1.nii.gz")
                for row, wanted in zip(told["rows"], affine):
                    self.assertEqual([round(value, 3) for value in row], [round(value, 3) for value in wanted])
                made[ranks, patient] = told["values"]
        for patient in self.patients["test"]:
            self.assertLessEqual(max(abs(a - b) for a, b in zip(made[1, patient], made[2, patient])), 1)

    def test_a_folder_of_patients_on_two_ranks(self):
        folder = self.root / "some"
        folder.mkdir()
        for number in (1, 2, 5):
            (folder / f"phantom_{number:06}").symlink_to(self.phantoms / f"phantom_{number:06}")
        out = self.predict("all", folder, "--steps", 2, "--nproc", 2)
        names = [f"phantom_{number:06}" for number in (1, 2, 5)]
        self.assertEqual([patient["patient"] for patient in json.loads((out / "predictions.json").read_text())["patients"]],
                         names)
        self.assertEqual(len({(out / name / "sample_1.nii.gz").read_bytes() for name in names}), 3)

    def test_pictures_of_each_patient(self):
        folder = self.root / "shown-patients"
        folder.mkdir()
        patients = [f"phantom_{number:06}" for number in (1, 2, 5)]
        for patient in patients:
            (folder / patient).symlink_to(self.phantoms / patient)
        made = []
        for ranks in (1, 2):
            shown = self.root / "shown" / f"ranks-{ranks}"
            self.predict(f"of-{ranks}-ranks", folder, "--samples", 2, "--steps", 2, "--pictures", shown, "--nproc", ranks)
            made.append(self.content(shown))
        self.assertEqual(list(made[0]), [f"{patient}_{name}.png" for patient in patients for name in ("slices", "xrays")])
        self.assertEqual(made[0], made[1])
        self.assertEqual(len(set(made[0].values())), 6)
        width, height, _ = read_png(shown / f"{patients[0]}_slices.png")
        self.assertTrue(2 * LEAST_SIDE < width < 4 * LEAST_SIDE, width)  # mean and deviation
        self.assertGreater(height, 3 * LEAST_SIDE)
        _, height, _ = read_png(shown / f"{patients[0]}_xrays.png")
        self.assertTrue(2 * LEAST_SIDE < height < 3 * LEAST_SIDE, height)  # a row for each view

        shown = self.root / "beside-the-truth"
        self.predict("of-prepared", "data.val_folder=test", "--samples", 2, "--steps", 1, "--pictures", shown, "--nproc", 2)
        self.assertEqual({path.name for path in shown.iterdir()},
                         {f"{patient}_{name}.png" for patient in self.patients["test"] for name in ("slices", "xrays")})
        for patient in self.patients["test"]:
            self.assertGreater(read_png(shown / f"{patient}_slices.png")[0], 4 * LEAST_SIDE)

    def test_bad_input_is_one_error(self):
        good = self.views()
        wide = self.root / "wide.png"
        wide.write_bytes(gray_png(8, [0] * 32))
        text = self.root / "text.png"
        text.write_text("no picture")
        lonely = self.root / "lonely"
        (lonely / "anna").mkdir(parents=True)
        (lonely / "anna" / "anna_pa.png").write_bytes(wide.read_bytes())
        (self.root / "there").mkdir()
        empty = self.root / "empty"
        empty.mkdir()
        for code, arguments, texts in (
                (CONFIG, good[:1], ("the lateral X-ray is missing", "frontal=FILE lateral=FILE")),
                (CONFIG, [*good, good[0]], ("the frontal view is named twice",)),
                (CONFIG, [*good, "oblique=a.png"], ("no view is called oblique", "frontal, lateral")),
                (CONFIG, [*good, "45=a.png"], ("no 45 view", "frontal=FILE")),
                (CONFIG, [*good, "photo.png"], ("photo.png", "one after the other")),
                (DATA, [good[0], f"lateral={wide}"], (str(wide), "8 x 4 pixels, expected a square")),
                (DATA, [good[0], f"lateral={text}"], (str(text), "save it as PNG")),
                (DATA, [good[0], "lateral=gone.png"], ("gone.png", "No such file")),
                (DATA, [lonely], ("anna has no lateral X-ray", "ID_lat_drr.png")),
                (DATA, [empty], ("holds no patients", "ID_pa_drr.png")),
                (CONFIG, [wide], ("is no folder of patients", f"frontal={wide}")),
                (CONFIG, [*good, "--pictures", self.root / "refused" / "here"], ("--pictures", "name one beside it")),
                (CONFIG, [*good, "--steps", 2000], ("sampling_steps", "num_timesteps"))):
            result = paceline("predict", self.trained, *arguments, "-o", self.root / "refused", cwd=self.root)
            self.assertEqual(result.code, code, str(result))
            self.assertEqual(result.err.count("error: "), 1, str(result))
            for wanted in texts:
                self.assertIn(wanted, result.err)
            self.assertEqual(list(self.root.glob("refused*")), [])
        result = paceline("predict", self.trained, *good, "-o", self.root / "there", cwd=self.root)
        self.assertIn("it is there already", result.err)
        for arguments in (good, [], [self.phantoms]):
            result = paceline("predict", self.trained, *arguments, cwd=self.root)
            self.assertEqual(result.code, CONFIG, str(result))
            self.assertIn("-o", result.err)

    def test_a_frontal_view_alone(self):
        run, folder = self.root / "frontal", self.root / "frontal-patients"
        result = paceline("train", self.root / "cascade.yaml", f"data.path={self.volumes}", "--run-dir", run, "model.num_views=1",
                          "model.view_types=[frontal]", "data.geometry.angles=[0]", cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        result = paceline("eval", run, "data.val_folder=test", "--steps", 2, "--json", cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        report = json.loads(result.out)
        self.assertEqual([each["patient"] for each in report["patients"]], list(self.patients["test"]))
        self.assertGreater(report["metrics"]["val/psnr"], 0)
        made = {}
        for number in (3, 4):
            patient = f"phantom_{number:06}"
            (folder / patient).mkdir(parents=True)
            (folder / patient / f"{patient}_pa_drr.png").symlink_to(self.phantoms / patient / f"{patient}_pa_drr.png")
            for name, arguments in (("named", self.views(number)[:1]), ("folder", [folder / patient])):
                out = self.root / f"{name}-frontal-{number}"
                result = paceline("predict", run, *arguments, "--steps", 2, "-o", out, cwd=self.root)
                self.assertEqual(result.code, 0, str(result))
                made[name, number] = self.content(out / (patient if name == "folder" else "patient"))
            self.assertEqual(made["named", number], made["folder", number])
        self.assertEqual(read_nifti(self.root / "named-frontal-3" / "patient" / "sample_1.nii.gz")["sizes"], (SIDE,) * 3)
        self.assertNotEqual(made["named", 3], made["named", 4])
        result = paceline("predict", run, *self.views(), "-o", self.root / "refused", cwd=self.root)
        self.assertEqual(result.code, CONFIG, str(result))
        self.assertIn("the network sees no lateral view", result.err)

    def test_other_networks_take_no_xrays(self):
        run = self.run_directory("classes")
        self.train(self.write_recipe(), "--run-dir", run, "train.duration=1ba", "checkpoint.every=1ba", "schedule=constant")
        for arguments, text in ((self.views(), "was trained on images"),
                                ([self.data / "val", "--samples", 2], "--samples: is for networks that draw volumes"),
                                ([self.data / "val", "--pictures", self.root / "none"],
                                 "--pictures: task classification shows none of its predictions")):
            result = paceline("predict", run, *arguments, "-o", self.root / "refused", cwd=self.root)
            self.assertEqual(result.code, CONFIG, str(result))
            self.assertIn(text, result.err)
        self.assertFalse((self.root / "none").exists())

    def test_elsewhere_the_cube_is_told(self):
        away = self.root / "away"
        self.volumes.rename(away)
        try:
            out = self.predict("told", *self.views(), "--fov-mm", 350, "--steps", 1)
            self.assertEqual(json.loads((out / "predictions.json").read_text())["fov_mm"], 350)
            result = paceline("predict", self.trained, *self.views(), "--steps", 1, "-o", self.root / "assumed", cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
            self.assertIn("--fov-mm says another side", result.err)
        finally:
            away.rename(self.volumes)

    def test_evaluates_each_held_out_patient(self):
        reports = []
        table = self.root / "patients.csv"
        for ranks in (1, 2):
            result = paceline("eval", self.trained, "data.val_folder=test", "--samples", 2, "--steps", 2, "--json",
                              "--predictions", table, "--nproc", ranks, cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
            reports.append(json.loads(result.out))
        one, two = reports
        self.assertEqual([each["patient"] for each in one["patients"]], list(self.patients["test"]))
        names = [f"{quality}{mean}{stage}" for stage in ("", "_stage1") for mean in ("", "_mean")
                 for quality in ("psnr", "ssim", "hu_mae", "projection_error")]
        for own, other in zip(one["patients"], two["patients"], strict=True):
            self.assertEqual(sorted(own), sorted(["patient", *names]))
            for name in names:
                self.assertAlmostEqual(own[name], other[name], delta=1e-4 * abs(own[name]))
        for name in names:
            mean = statistics.fmean(each[name] for each in one["patients"])
            self.assertAlmostEqual(one["metrics"]["val/" + name], mean, delta=1e-9 * abs(mean))
            self.assertAlmostEqual(one["metrics"]["val/" + name], two["metrics"]["val/" + name], delta=1e-4 * abs(mean))
        with open(table, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["patient"] for row in rows], list(self.patients["test"]))
        self.assertAlmostEqual(float(rows[0]["psnr_mean"]), two["patients"][0]["psnr_mean"], places=5)
        # What cannot be written is said before anything is read.
        result = paceline("eval", self.trained, "data.path=gone", "--predictions", table.with_suffix(".parquet"), cwd=self.root)
        self.assertEqual(result.code, CONFIG, str(result))
        self.assertIn("a table of patients is written as CSV", result.err)
        text = paceline("eval", self.trained, "--steps", 2, cwd=self.root).out
        for patient in self.patients["val"]:
            self.assertRegex(text, rf"{patient} +2 +sample +[0-9.]+ +")
            self.assertRegex(text, rf"{patient} +1 +sample +[0-9.]+ +")
        self.assertRegex(text, r"all +2 +sample")


if __name__ == "__main__":
    unittest.main()
