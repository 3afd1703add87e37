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


IDENTITY = {  # of a series: in which elements who the patient is stands
    (0x0008, 0x0018, "UI"): "1.2.826.77.3", (0x0008, 0x0020, "DA"): "19870605", (0x0008, 0x0050, "SH"): "ACC-8",
    (0x0008, 0x0080, "LO"): "Saint Elsewhere", (0x0008, 0x0090, "PN"): "House^Gregory", (0x0008, 0x103E, "LO"): "Thorax Roe",
    (0x0010, 0x0010, "PN"): "Roe^Richard", (0x0010, 0x0020, "LO"): "MRN-4711", (0x0010, 0x0030, "DA"): "19340101",
    (0x0020, 0x000D, "UI"): "1.2.826.77.1", (0x0020, 0x000E, "UI"): "1.2.826.77.2", (0x0020, 0x4000, "LT"): "Roe coughs",
}


def dicom(z, value, **changes):
    """A slice of 8 x 8 voxels of 2 mm; rows go to the left, columns to the back, as in most CT."""
    elements = {key: text.encode() for key, text in IDENTITY.items()}
    elements |= {(0x0008, 0x0016, "UI"): b"1.2.840.10008.5.1.4.1.1.2", (0x0008, 0x0060, "CS"): b"CT",
                 (0x0020, 0x0032, "DS"): f"-20\\-30\\{z}".encode(), (0x0020, 0x0037, "DS"): b"1\\0\\0\\0\\1\\0",
                 (0x0028, 0x0004, "CS"): b"MONOCHROME2", (0x0028, 0x0030, "DS"): b"2\\2", (0x0028, 0x1052, "DS"): b"-1024",
                 (0x0028, 0x1053, "DS"): b"1"}
    for number, content in ((0x0002, 1), (0x0010, SIDE), (0x0011, SIDE), (0x0100, 16), (0x0101, 12), (0x0102, 11), (0x0103, 0)):
        elements[0x0028, number, "US"] = struct.pack("<H", content)
    elements |= changes.get("elements", {})
    file = bytes(128) + b"DICM" + dicom_element(0x0002, 0x0010, "UI", b"1.2.840.10008.1.2.1")
    for key in sorted(elements):
        file += dicom_element(*key, elements[key])
    pixels = struct.pack(f"<{SIDE ** 2}H", *[value + 1024] * SIDE ** 2)
    return file + struct.pack("<HH2sHI", 0x7FE0, 0x0010, b"OW", 0, len(pixels)) + pixels


def dicom_element(group, number, kind, value):
    value += b" " * (len(value) % 2)
    return struct.pack("<HH2sH", group, number, kind.encode(), len(value)) + value


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
        self.assertEqual((manifest["fov_mm"], manifest["sides"]), (16, [8, 4]))
        self.assertNotIn("seed", manifest, "by which names could be tried")
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

    def write_series(self, folder, **changes):
        """Its files are called in another order than the slices lie."""
        series = self.scans / "Doe^Jane" / folder
        series.mkdir(parents=True, exist_ok=True)
        for index in range(SIDE):
            (series / f"IM{(5 * index) % SIDE}").write_bytes(dicom(2 * index, 10 * index, **changes))
        return series

    def test_makes_volumes_of_dicom_series_without_a_trace_of_who_it_is(self):
        self.write_series("study/1")
        said = self.prepare()
        self.assertIn("13 made now", said.err)
        made = self.content()
        for text in IDENTITY.values():
            self.assertNotIn(text, str(said))
            for path, content in made.items():
                self.assertNotIn(text.encode(), content, path)
        manifest = json.loads((self.output / "ct_manifest.json").read_text())
        patient, = (patient for patient in manifest["patients"] if patient["affine"][2][3] == 0)
        self.assertEqual(patient["affine"], [[2, 0, 0, 6], [0, 2, 0, 16], [0, 0, 2, 0]])
        volumes = made[pathlib.Path(patient["split"], "volume_8.npy")]
        volume = struct.unpack_from(f"<{SIDE ** 3}h", volumes, 128 + patient["index"] * SIDE ** 3 * 2)
        self.assertEqual(volume, tuple(10 * (i // SIDE ** 2) for i in range(SIDE ** 3)))

    def test_what_is_wrong_with_a_series_is_said_without_who_it_is(self):
        series = self.write_series("study/1")
        whole = (series / "IM5").read_bytes()

        def refused(expected, *options):
            result = self.prepare(*options, code=3)
            self.assertEqual(result.err.count("error: "), 1)
            self.assertRegex(result.err, expected)
            for text in IDENTITY.values():
                self.assertNotIn(text, str(result))

        (series / "IM5").unlink()
        refused(r"file \d of 7: lies 4 mm from .*, expected 2: 1 missing between them")
        (series / "IM5").write_bytes(whole[:-5])
        refused("file 6 of 8: is cut short: 5 bytes are missing")
        (series / "IM5").write_bytes(dicom(2, 0, elements={(0x0028, 0x1053, "DS"): b"nan"}))
        refused("file 6 of 8: has a rescale slope that is no finite number")
        (series / "IM5").write_bytes(whole)
        other = self.write_series("study/2", elements={(0x0020, 0x000E, "UI"): b"1.2.826.77.4"})
        refused("has 2 CT series, of 8, 8 slices, expected one; .*--series largest")
        refused("and none is the largest", "--series", "largest")
        (other / "IM0").unlink()
        self.assertIn("; 1 made now", self.prepare("--series", "largest").err)

    def test_help_tells_of_it(self):
        self.assertIn("--fov-mm", paceline("data", "prepare", "ct", "--help").out)
        self.assertIn("data prepare ct --help", paceline("data", "prepare", "--help").out)


if __name__ == "__main__":
    unittest.main()
