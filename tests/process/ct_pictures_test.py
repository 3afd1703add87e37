"""Pictures of a cascade's evaluations: files of a run, `paceline eval --pictures`, a full disk; and X-rays that do not fit
their volumes, which no run is trained on."""

import json
import shutil
import struct
import unittest
import zlib

from paceline_process import RunTest, make_phantoms, paceline, prepare_scans

SIDE = 16  # voxels
XRAY_SIZE = 32
LEAST_SIDE = 192  # of an image in a picture
RECIPE = f"""
run:        {{name: cascade, seed: 3}}
task:       {{name: ct_diffusion, sampling_steps: 2, samples: 2}}
model:      {{name: ct_cascade, xray_size: {XRAY_SIZE}, xray_dim: 64, num_stages: 1,
             stages: [{{volume_size: {SIDE}, patch: 4, dim: 16, depth: 1, heads: 2}}]}}
data:       {{name: ct, path: DATA, side: {SIDE}, full_scale: 3, global_batch_size: 4, num_threads: 1}}
train:      {{duration: 3ba, eval_every: 1ba}}
optimizer:  {{name: adamw, lr: 1e-3}}
schedule:   {{name: constant}}
checkpoint: {{every: 3ba}}
loggers:    {{pictures: {{keep: 2}}}}
"""


def read_png(path):
    """Width, height and rows of RGB pixels; of the filters those that libpng's fast writer uses are all."""
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n", path
    at, data = 8, b""
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at:at + 8])
        body = content[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert (depth, colour) == (8, 2), path
        data += body if kind == b"IDAT" else b""
        at += size + 12
    raw, rows, before = zlib.decompress(data), [], bytes(3 * width)
    for y in range(height):
        line = raw[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        row = bytearray(line[1:])
        for i in range(len(row)):
            left, up, corner = (row[i - 3] if i > 2 else 0), before[i], (before[i - 3] if i > 2 else 0)
            guess = left + up - corner
            paeth = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[line[0]]) & 255
        before = bytes(row)
        rows.append(before)
    return width, height, rows


class CtPictures(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.phantoms, cls.volumes = make_phantoms(cls.root, 24, (SIDE,), XRAY_SIZE)

    def run_recipe(self, name, *more, volumes=None):
        recipe = self.root / "cascade.yaml"
        recipe.write_text(RECIPE.replace("DATA", str(volumes or self.volumes)))
        run = self.root / name
        return run, paceline("train", recipe, "--run-dir", run, *more)

    def test_runs_and_evaluations_show_slices_and_xrays(self):
        run, result = self.run_recipe("run")
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("the truth's own physics loss is ", result.err)
        names = ["val_slices.png", "val_xrays.png"]
        self.assertEqual(sorted(str(path.relative_to(run / "pictures")) for path in run.glob("pictures/*/*")),
                         [f"step-0000000{step}/{name}" for step in (2, 3) for name in names])
        # Truth, sample, mean, difference and deviation, in three planes.
        width, height, rows = read_png(run / "pictures/step-00000003/val_slices.png")
        self.assertGreater(width, 5 * LEAST_SIDE)
        self.assertGreater(height, 3 * LEAST_SIDE)
        self.assertTrue(any(row[i] != row[i + 2] for row in rows for i in range(0, len(row), 3)), "a difference has colour")
        width, height, _ = read_png(run / "pictures/step-00000003/val_xrays.png")
        self.assertGreater(width, 3 * LEAST_SIDE)
        self.assertTrue(2 * LEAST_SIDE < height < 3 * LEAST_SIDE, height)

        folder = self.root / "shown" / "here"
        result = paceline("eval", run, "--pictures", folder)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(sorted(path.name for path in folder.iterdir()), names)
        for name in names:  # of the same weights, patients and draws
            self.assertEqual((folder / name).read_bytes(), (run / "pictures/step-00000003" / name).read_bytes())

        result = paceline("train", self.root / "cascade.yaml", "--run-dir", run, "--resume", "auto", "train.duration=5ba")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(sorted(path.name for path in (run / "pictures").iterdir()), ["step-00000004", "step-00000005"])

    def test_pictures_that_cannot_be_written_end_no_run(self):
        run = self.root / "unwritable"
        recipe = self.root / "cascade.yaml"
        recipe.write_text(RECIPE.replace("DATA", str(self.volumes)))
        run.mkdir()
        (run / "pictures").write_text("no folder")
        result = paceline("train", recipe, "--run-dir", run)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.err.count("the pictures logger could not write one"), 1, str(result))
        self.assertEqual(json.loads((run / "summary.json").read_text())["pictures"]["failed_writes"], 6)

    def test_a_task_without_pictures_says_so(self):
        recipe = self.write_recipe()
        run = self.run_directory("images")
        self.train(recipe, "--run-dir", run, "train.duration=6ba", "checkpoint.every=6ba")
        self.assertFalse((run / "pictures").exists())
        result = paceline("eval", run, "--pictures", self.root / "none")
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("--pictures: task classification shows none", result.err)

    def test_swapped_views_are_refused_before_the_first_step(self):
        swapped = self.root / "swapped"
        shutil.copytree(self.phantoms, swapped)
        frontal = sorted(swapped.rglob("*_pa_drr.png"))
        self.assertEqual(len(frontal), 24, sorted(swapped.rglob("*"))[:10])
        for path in frontal:
            lateral = path.with_name(path.name.replace("_pa_drr", "_lat_drr"))
            aside = path.with_name("aside.png")
            path.rename(aside)
            lateral.rename(path)
            aside.rename(lateral)
        volumes = self.root / "volumes-of-swapped"
        result = prepare_scans(swapped, volumes, (SIDE,), XRAY_SIZE)
        self.assertEqual(result.code, 0, str(result))
        run, result = self.run_recipe("refused", volumes=volumes)
        self.assertEqual(result.code, 3, str(result))
        self.assertEqual(result.err.count("error: "), 1, str(result))
        for text in ("data.validate_alignment: X-rays are not those of the volumes", "view 1 looks like view 2",
                     "patient "):
            self.assertIn(text, result.err)
        self.assertNotIn("pa_drr", result.err)
        self.assertFalse((run / "checkpoints").exists())
        self.assertEqual(paceline("data", "info", volumes).code, 0)
        run, result = self.run_recipe("allowed", "data.validate_alignment=false", volumes=volumes)
        self.assertEqual(result.code, 0, str(result))


if __name__ == "__main__":
    unittest.main()
