"""data: {name: ct}: what is told and shown of a folder that paceline data prepare ct has made, and what is refused."""

import json
import unittest

from paceline_process import RunTest, environment, make_phantoms, paceline
from prepare_ct_test import nifti

PATIENTS = 12  # of which, by seed 1, some are in each split


class CtData(RunTest):
    def setUp(self):
        scans = self.root / f"scans-{self._testMethodName}"
        scans.mkdir()
        self.volumes = self.root / f"volumes-{self._testMethodName}"
        for number in range(PATIENTS):
            (scans / f"patient-{number}.nii").write_bytes(nifti(100 * number - 500))
        result = paceline("data", "prepare", "ct", scans, self.volumes, "--fov-mm", 16, "--sides", "8,4", "--seed", 1)
        self.assertEqual(result.code, 0, str(result))
        manifest = json.loads((self.volumes / "ct_manifest.json").read_text())
        self.patients = {split: [patient["patient"] for patient in manifest["patients"] if patient["split"] == split]
                         for split in ("train", "val", "test")}

    def info(self, *settings, env=None):
        result = paceline("data", "info", self.volumes, "data.xray_size=16", *settings, "--json", env=env)
        self.assertEqual(result.code, 0, str(result))
        return json.loads(result.out)

    def refused(self, *settings, code=2):
        result = paceline("data", "info", self.volumes, "data.xray_size=16", *settings)
        self.assertEqual(result.code, code, str(result))
        self.assertEqual(result.err.count("error: "), 1, str(result))
        return result.err

    def test_info_tells_of_volumes_and_their_xrays(self):
        told = self.info()
        self.assertEqual((told["samples"], told["classes"]), (len(self.patients["train"]), 0))
        volume, xrays, fov = told["fields"]
        self.assertEqual((volume["name"], volume["type"], volume["sizes"]), ("volume", "int16", [8, 8, 8]))
        self.assertEqual((xrays["name"], xrays["type"], xrays["sizes"]), ("xrays", "float32", [2, 16, 16]))
        self.assertEqual((fov["smallest"], fov["largest"]), (16, 16))
        self.assertGreater(xrays["largest"], -0.6)
        self.assertEqual(self.info("data.side=4")["fields"][0]["sizes"], [4, 4, 4])
        self.assertNotEqual(self.info("data.side=4")["fingerprint"], told["fingerprint"])
        evaluated = self.info("--split", "val")["samples"], self.info("--split", "val", "data.val_folder=test")["samples"]
        self.assertEqual(evaluated, (len(self.patients["val"]), len(self.patients["test"])))

    def test_show_prints_and_draws_patients(self):
        picture = self.root / "patients.png"
        for more in ((), ("--augmented", "data.augment={flip: true, turn_degrees: 10, photons: 1e5}")):
            result = paceline("data", "show", self.volumes, "data.xray_size=16", "--indices", "1", "-o", picture, *more)
            self.assertEqual(result.code, 0, str(result))
            self.assertIn(f"patient {self.patients['train'][1]}  volume ", result.out)
            self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
        self.assertIn("volume float32 8 x 8 x 8: -0.", result.out)
        self.assertIn("xrays float32 2 x 16 x 16: ", result.out)

    def test_projections_are_made_once(self):
        cache = self.root / "cache"
        env = environment(XDG_CACHE_HOME=cache)
        told = self.info("data.cache_in_memory=1GiB", env=env)
        kept = {path: path.stat().st_ino for path in cache.rglob("ct-xrays/*/*")}
        self.assertEqual(len(kept), len(self.patients["train"]))
        self.assertEqual(self.info("data.cache_in_memory=1GiB", env=env), told)
        self.assertEqual({path: path.stat().st_ino for path in cache.rglob("ct-xrays/*/*")}, kept)
        self.assertEqual(self.info(), told)

    def test_refuses_what_cannot_be(self):
        self.assertIn("has volumes of 8, 4 voxels a side and none of 64", self.refused("data.side=64"))
        self.assertIn("got [3000, -1000]", self.refused("data.hu_window=[3000, -1000]"))
        self.assertIn("a cone beam needs source_to_detector_mm, too",
                      self.refused("data.geometry.source_to_isocentre_mm=1000"))
        self.assertIn("write projected", self.refused("data.xrays=files", "data.augment.flip=true"))
        self.assertIn("holds no xrays_SIZE.npy", self.refused("data.xrays=files", code=3))

    def test_xrays_of_files_are_taken(self):
        _, volumes = make_phantoms(self.root, 14, (16,), 32)
        files, projected = (json.loads(paceline("data", "info", volumes, *more, "--json").out) for more in
                            ((), ("data.xrays=projected", "data.xray_size=32")))
        self.assertEqual([field["sizes"] for field in files["fields"]], [[16, 16, 16], [2, 32, 32], []])
        self.assertNotEqual(files["fingerprint"], projected["fingerprint"])
        lateral = json.loads(paceline("data", "info", volumes, "data.geometry.angles=[90]", "--json").out)["fields"][1]
        self.assertEqual(lateral["sizes"], [1, 32, 32])
        self.assertNotEqual(lateral["mean"], files["fields"][1]["mean"])
        # What was drawn of the patients themselves is what the volumes cast.
        self.assertAlmostEqual(files["fields"][1]["mean"], projected["fields"][1]["mean"], delta=0.01)
        for code, text, setting in ((3, "holds 2 views of each patient, but data.geometry.angles names 3",
                                     "data.geometry.angles=[0, 45, 90]"),
                                    (2, "holds X-rays of 32 rows and none of 64", "data.xray_size=64"),
                                    (2, "write data.xrays: projected", "data.augment.shift_mm=5")):
            result = paceline("data", "info", volumes, setting)
            self.assertEqual(result.code, code, str(result))
            self.assertIn(text, result.err)

    def test_a_damaged_volume_is_named(self):
        path = self.volumes / "train" / "volume_8.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        self.assertIn(f"what it holds of patient {self.patients['train'][-1]} has another checksum", self.refused(code=3))
        path.write_bytes(content[:-100])
        self.assertIn("volume_8.npy: is cut short", self.refused(code=3))


if __name__ == "__main__":
    unittest.main()
