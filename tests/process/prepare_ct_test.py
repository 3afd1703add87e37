"""paceline data prepare ct: what it makes of a folder of scans, says and refuses."""

import fcntl
import gzip
import json
import pathlib
import shutil
import struct
import unittest

from paceline_process import RunTest, environment, paceline

SIDE = 8


def nifti(value, sform_code=1):
    """A NIfTI-1 file of 8 x 8 x 8 voxels of 2 mm, all of one value but for the first."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, SIDE, SIDE, SIDE, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 4, 16)
    struct.pack_into("<8f", header, 76, 1, 2, 2, 2, 1, 1, 1, 1)
    struct.pack_into("<3f", header, 108, 352, 1, 0)
    struct.pack_into("<b", header, 123, 2)
    struct.pack_into("<2h", header, 252, 0, sform_code)
    struct.pack_into("<12f", header, 280, 2, 0, 0, 5, 0, 2, 0, 6, 0, 0, 2, 7)
    header[344:348] = b"n+1\0"
    return bytes(header) + struct.pack(f"<{SIDE ** 3}h", -value, *[value] * (SIDE ** 3 - 1))


class PrepareCt(RunTest):
    def setUp(self):
        self.scans = self.root / f"scans-{self._testMethodName}"
        self.output = self.root / f"volumes-{self._testMethodName}"
        for number in range(12):
            self.write_scan(number, nifti(number))

    def write_scan(self, number, content):
        patient = f"Doe^John-{number}"
        file = self.scans / (f"{patient}.nii" if number % 2 else f"{patient}/{patient}.nii.gz")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if number % 2 else gzip.compress(content))

    def prepare(self, *options, code=0, env=None):
        result = paceline("data", "prepare", "ct", self.scans, self.output, "--fov-mm", 16, "--sides", "8,4", "--seed", 1,
                          *options, env=env)
        self.assertEqual(result.code, code, str(result))
        self.assertNotIn("Doe", str(result))
        return result

    def content(self):
        return {path.relative_to(self.output): path.read_bytes() for path in self.output.rglob("*") if path.is_file()}

    def test_makes_arrays_and_does_not_make_them_twice(self):
        self.assertIn("12 made now", self.prepare().err)
        made = self.content()
        self.assertIn("; 0 made now", self.prepare().err)
        self.assertEqual(self.content(), made)
        manifest = json.loads((self.output / "ct_manifest.json").read_text())
        self.assertEqual((manifest["fov_mm"], manifest["sides"], manifest["seed"]), (16, [8, 4], 1))
        self.assertEqual(len({patient["patient"] for patient in manifest["patients"]}), 12)
        for patient in manifest["patients"]:
            self.assertEqual(patient["affine"], [[2, 0, 0, 5], [0, 2, 0, 6], [0, 0, 2, 7]])
            self.assertEqual(patient["spacing_mm"], [2, 2, 2])
            volumes = made[pathlib.Path(patient["split"], "volume_8.npy")]
            volume = struct.unpack_from(f"<{SIDE ** 3}h", volumes, 128 + patient["index"] * SIDE ** 3 * 2)
            self.assertEqual(volume[0], -volume[1])
            halves = made[pathlib.Path(patient["split"], "volume_4.npy")]
            half = struct.unpack_from("<2h", halves, 128 + patient["index"] * (SIDE // 2) ** 3 * 2)
            self.assertAlmostEqual(half[0], volume[1] * 6 / 8, delta=0.51)
            self.assertEqual(half[1], volume[1])
        self.assertNotIn(b"Doe", b"".join(made.values()))

    def test_made_patients_go_straight_through(self):
        patients, output = self.root / "patients", self.root / "made"
        self.assertEqual(paceline("data", "synth", patients, "--kind", "phantom", "--patients", 14, "--size", 8,
                                  "--xray-size", 8).code, 0)
        prepare = ("data", "prepare", "ct", patients, output, "--sides", "8,4", "--seed", 1)
        for size, options in ((8, ()), (4, ("--flip-xrays-vertical",))):
            shutil.rmtree(output, ignore_errors=True)
            result = paceline(*prepare, "--xray-size", size, *options)
            self.assertEqual(result.code, 0, str(result))
            self.assertIn("14 made now", result.err)
            self.assertIn(f"xrays_{size}.npy", result.err)
            manifest = json.loads((output / "ct_manifest.json").read_text())
            self.assertEqual(manifest["xrays"], {"views": ["frontal", "lateral"], "size": size,
                                                 "flip_vertically": bool(options)})
            counts = {split: sum(patient["split"] == split for patient in manifest["patients"])
                      for split in ("train", "val", "test")}
            for split, count in counts.items():
                self.assertEqual((output / split / f"xrays_{size}.npy").exists(), count > 0)
                if count:
                    array = (output / split / f"xrays_{size}.npy").read_bytes()
                    self.assertIn(b"'<u2'", array[:128])
                    self.assertIn(f"({count}, 2, {size}, {size})".encode(), array[:128])
                    self.assertEqual(len(array), 128 + count * 2 * size * size * 2)
        self.assertIn("; 0 made now", paceline(*prepare, "--xray-size", 4, "--flip-xrays-vertical").err)
        other = paceline(*prepare, "--xray-size", 8)
        self.assertEqual(other.code, 2)
        self.assertIn("name another folder", other.err)
        (patients / "phantom_000003" / "phantom_000003_lat_drr.png").unlink()
        missing = paceline(*prepare, "--xray-size", 4, "--flip-xrays-vertical")
        self.assertEqual(missing.code, 3)
        self.assertIn("has no lateral X-ray, and 1 of 14 patients lack one", missing.err)
        self.assertNotIn("phantom_000003", missing.err)
        told = json.loads(paceline("data", "info", output, "--format", "arrays", "data.fields=[volume_8]", "--json").out)
        self.assertEqual(told["samples"], counts["train"])
        self.assertIn("name others in data.fields", paceline("data", "info", output, "--format", "arrays").err)
        shutil.rmtree(output)
        self.assertEqual(paceline(*prepare, "--no-xrays").code, 0)
        self.assertFalse(list(output.rglob("xrays_*")))

    def test_a_second_call_at_once_is_refused(self):
        self.output.mkdir()
        with open(self.output / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write("process 12 on ward")
            lock.flush()
            result = self.prepare(code=2)
            self.assertIn("is written by process 12 on ward at this time; wait for it", result.err)
            self.assertFalse((self.output / "train").exists())
        self.assertIn("12 made now", self.prepare().err)
        self.assertFalse((self.output / "lock").exists())

    def test_the_data_set_arrays_reads_them(self):
        self.prepare()
        told = json.loads(paceline("data", "info", self.output, "--format", "arrays", "--json").out)
        manifest = json.loads((self.output / "ct_manifest.json").read_text())
        self.assertEqual(told["samples"], sum(patient["split"] == "train" for patient in manifest["patients"]))

    def test_goes_on_after_what_it_could_not_read(self):
        self.write_scan(3, nifti(3, sform_code=0))
        self.write_scan(4, nifti(4)[:700])
        result = self.prepare(code=3)
        self.assertEqual(result.err.count("error: "), 1)
        self.assertIn("2 of 12 scans cannot be used", result.err)
        self.assertIn("has no affine (neither sform nor qform)", result.err)
        self.assertIn("is cut short", result.err)
        self.write_scan(3, nifti(3))
        self.write_scan(4, nifti(4))
        self.assertIn("; 2 made now", self.prepare().err)

    def test_damaged_output_is_made_again(self):
        self.prepare()
        made = self.content()
        path = self.output / "train" / "volume_4.npy"
        path.write_bytes(made[pathlib.Path("train", "volume_4.npy")][:-1] + b"\x55")
        result = self.prepare()
        self.assertIn("is damaged, and is made again", result.err)
        self.assertIn("; 1 made now", result.err)
        self.assertEqual(self.content(), made)

    def test_refuses_what_it_cannot_do(self):
        for code, text, options in ((2, "halved once or more often", ("--sides", "8,3")),
                                    (2, "a cube of 0 mm", ("--fov-mm", "0")),
                                    (2, "X-rays of 0 pixels a side", ("--xray-size", "0")),
                                    (2, "excludes", ("--xray-size", "8", "--no-xrays")),
                                    (2, "--threads", ("--threads", "-1"))):
            result = paceline("data", "prepare", "ct", self.scans, self.output, *options)
            self.assertEqual(result.code, code, str(result))
            self.assertIn(text, result.err)
            self.assertFalse((self.output / "train").exists())
        self.prepare()
        self.assertIn("name another folder", self.refused("--seed", 2))
        self.assertIn("CT scans need /absent.so, which cannot be loaded",
                      self.prepare(code=2, env=environment(PACELINE_CT_PLUGIN="/absent.so")).err)

    def refused(self, *options):
        result = paceline("data", "prepare", "ct", self.scans, self.output, "--fov-mm", 16, "--sides", "8,4", *options)
        self.assertEqual(result.code, 2, str(result))
        return result.err

    def test_help_tells_of_it(self):
        self.assertIn("--fov-mm", paceline("data", "prepare", "ct", "--help").out)
        self.assertIn("data prepare ct --help", paceline("data", "prepare", "--help").out)


if __name__ == "__main__":
    unittest.main()
