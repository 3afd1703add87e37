"""Predicted volumes as nibabel reads them: what they say of themselves, and that they lie where the patient does."""

import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import RunTest, paceline

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
SIDE, XRAY, PATIENTS = 24, 32, 24
FOV_MM = 384
LOWEST_MM = (FOV_MM / SIDE - FOV_MM) / 2  # the middle of a cube's first voxel

RECIPE = """
run:        {seed: 3}
task:       {name: ct_diffusion, sampling_steps: 4}
model:      {name: ct_cascade, xray_size: 32, xray_dim: 64,
             stages: [{volume_size: 12, patch: 2, dim: 48, depth: 2, heads: 2},
                      {volume_size: 24, patch: 4, dim: 32, depth: 1, heads: 2}]}
data:       {name: ct, global_batch_size: 8, num_threads: 1}
train:      {duration: 300ba, grad_clip_norm: 1, eval_every: 300ba, eval_batches: 1}
optimizer:  {name: adamw, lr: 2e-3}
checkpoint: {every: 300ba}
loggers:    {jsonl: }
phases:
  stage1: {model: {num_stages: 1}, data: {side: 12}}
  stage2: {model: {num_stages: 2}, data: {side: 24}, train: {duration: 60ba}}
"""

# Stores each scan as another scanner might: axes in another order and direction, and elsewhere, each 5 mm above the one
# before, by which it is known again.
STORE_OTHERWISE = """
import pathlib, sys
import nibabel, numpy
from nibabel.orientations import apply_orientation, axcodes2ornt, inv_ornt_aff, ornt_transform
CODES = ("LPS", "RAS", "SAR", "PIL", "AIR", "LSA", "IRP")
for number, path in enumerate(sorted(pathlib.Path(sys.argv[1]).glob("*/*[0-9].nii.gz"))):
    image = nibabel.load(path)
    affine = image.affine.copy()
    affine[:3, 3] += (17, -23, 5 * number)
    codes = CODES[number % len(CODES)]
    turn = ornt_transform(nibabel.io_orientation(affine), axcodes2ornt(codes))
    values = apply_orientation(numpy.asanyarray(image.dataobj), turn)
    stored = nibabel.Nifti1Image(values, affine @ inv_ornt_aff(turn, image.shape))
    stored.header.set_xyzt_units("mm")
    stored.to_filename(path)
    assert "".join(nibabel.aff2axcodes(nibabel.load(path).affine)) == codes
"""

# Of each held-out patient what nibabel reads in the volumes drawn of it, and how they agree with its scan, whose voxels
# are found by both affines alone. Argument: a list of patients as JSON.
READ = """
import itertools, json, sys
import nibabel, numpy
from scipy.ndimage import map_coordinates


def scan_at(scan, image):
    '''The scan at the middles of an image's voxels.'''
    to_scan = numpy.linalg.inv(scan.affine) @ image.affine
    places = to_scan[:3, :3] @ numpy.indices(image.shape).reshape(3, -1) + to_scan[:3, 3:]
    return map_coordinates(scan.get_fdata(), places, order=1, mode="nearest").reshape(image.shape)


def difference(left, right):
    return float(numpy.sqrt(numpy.mean((left - right) ** 2)))


told = []
for patient in json.loads(sys.argv[1]):
    images = {name: nibabel.load(f"{patient['folder']}/{name}.nii.gz") for name in ("sample_1", "sample_2", "mean", "deviation")}
    facts = {}
    for name, image in images.items():
        values = numpy.asanyarray(image.dataobj)
        facts[name] = {"affine": image.affine[:3].tolist(), "sform_is_qform": bool(numpy.allclose(image.get_qform(), image.get_sform())),
                       "codes": [int(image.header[key]) for key in ("sform_code", "qform_code")], "shape": image.shape,
                       "type": str(image.get_data_dtype()), "units": image.header.get_xyzt_units()[0],
                       "description": image.header["descrip"].item().decode(), "range": [float(values.min()), float(values.max())]}
    samples = numpy.stack([images[name].get_fdata() for name in ("sample_1", "sample_2")])
    mean, deviation = images["mean"].get_fdata(), images["deviation"].get_fdata()
    truth = scan_at(nibabel.load(patient["scan"]), images["mean"])
    mirrored = {str(axes): difference(numpy.flip(mean, axes), truth) for count in (1, 2, 3)
                for axes in itertools.combinations(range(3), count)}
    swapped = {str(axes): difference(mean.transpose(axes), truth) for axes in itertools.permutations(range(3)) if axes != (0, 1, 2)}
    prepared = numpy.load(patient["volumes"])[patient["index"]].transpose()
    told.append({"facts": facts, "mean": float(numpy.abs(samples.mean(axis=0) - mean).max()),
                 "deviation": float(numpy.abs(samples.std(axis=0, ddof=1) - deviation).max()), "drawn": difference(*samples),
                 "prepared": difference(prepared, truth), "itself": difference(mean, truth), "mirrored": mirrored | swapped})
print(json.dumps(told))
"""


class NiftiPeers(RunTest):
    def python(self, *arguments):
        result = subprocess.run([str(PYTHON), "-c", *map(str, arguments)], capture_output=True, text=True)
        if "No module named" in result.stderr:
            self.skipTest(result.stderr.splitlines()[-1])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def made(self, *command):
        result = paceline(*command, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))

    def held_out(self):
        """The patients of whom volumes were drawn, after a little training."""
        scans, volumes = self.root / "scans", self.root / "volumes"
        self.made("data", "synth", scans, "--kind", "phantom", "--patients", PATIENTS, "--size", SIDE, "--xray-size", XRAY,
                  "--fov-mm", FOV_MM)
        self.python(STORE_OTHERWISE, scans)
        self.made("data", "prepare", "ct", scans, volumes, "--sides", f"{SIDE},{SIDE // 2}", "--xray-size", XRAY,
                  "--fov-mm", FOV_MM, "--seed", 1)
        (self.root / "cascade.yaml").write_text(RECIPE)
        self.made("train", "cascade.yaml", f"data.path={volumes}", "--run-dir", "run")
        self.made("predict", "run", "--samples", 2, "-o", "drawn")
        patients = []
        for patient in json.loads((volumes / "ct_manifest.json").read_text())["patients"]:
            if patient["split"] != "val":
                continue
            number = round((patient["affine"][2][3] - LOWEST_MM) / 5)
            name = f"phantom_{number:06}"
            patients.append({"scan": f"{scans}/{name}/{name}.nii.gz", "folder": f"{self.root}/drawn/{patient['patient']}",
                             "volumes": f"{volumes}/val/volume_{SIDE}.npy", "index": patient["index"],
                             "affine": patient["affine"], "offset": 5 * number})
        return patients

    def test_volumes_lie_where_patients_do(self):
        patients = self.held_out()
        self.assertGreaterEqual(len(patients), 2)
        for patient, told in zip(patients, json.loads(self.python(READ, json.dumps(patients))), strict=True):
            voxel = FOV_MM / SIDE
            true = [[voxel, 0, 0, LOWEST_MM + 17], [0, voxel, 0, LOWEST_MM - 23], [0, 0, voxel, LOWEST_MM + patient["offset"]]]
            self.assertEqual(patient["affine"], true)
            for name, facts in told["facts"].items():
                self.assertEqual(facts["affine"], true)
                self.assertTrue(facts["sform_is_qform"])
                self.assertEqual((facts["codes"], facts["shape"], facts["units"]), ([1, 1], [SIDE] * 3, "mm"))
                self.assertEqual(facts["description"], "synthetic, not for diagnosis")
                self.assertEqual(facts["type"], "float32" if name == "deviation" else "int16")
                low, high = facts["range"]
                self.assertTrue((0 if name == "deviation" else -1000) <= low < high <= 3000, facts)
            self.assertLessEqual(told["mean"], 1.01, "samples are rounded, and so is their mean")
            self.assertLessEqual(told["deviation"], 1.01)
            self.assertGreater(told["drawn"], 1, "samples are draws")
            self.assertLess(told["prepared"], 1e-6)
            for turned, difference in told["mirrored"].items():
                self.assertLess(told["itself"], 0.95 * difference, f"the patient looks more like the volume turned by {turned}")


if __name__ == "__main__":
    unittest.main()
