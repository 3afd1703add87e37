"""paceline data synth --kind phantom: patients in a medical user's layout, and what data prepare ct makes of them."""

import array
import gzip
import math
import signal
import struct
import subprocess
import time
import unittest
import zlib

from paceline_process import PACELINE, RunTest, environment, paceline

SIZE = 16
XRAY = 32
WINDOW = (-1000, 3000)


def read_nifti(path):
    """The header's fields that matter, and the values: by the format's own description."""
    content = gzip.decompress(path.read_bytes())
    code = struct.unpack_from("<h", content, 70)[0]
    return {"header": struct.unpack_from("<i", content, 0)[0], "dim": struct.unpack_from("<8h", content, 40), "type": code,
            "forms": struct.unpack_from("<2h", content, 252), "pixdim": struct.unpack_from("<8f", content, 76),
            "rows": [struct.unpack_from("<4f", content, 280 + 16 * row) for row in range(3)],
            "offset": struct.unpack_from("<f", content, 108)[0], "units": content[123],
            "description": content[148:228].rstrip(b"\0").decode(), "magic": content[344:348],
            "values": array.array({4: "h", 2: "B"}[code], content[352:])}


def read_png(path):
    """Width, height, bits, kind of colour and the chunks of a PNG file, whose checksums are checked."""
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(content):
        length, name = struct.unpack_from(">I4s", content, place)
        data = content[place + 8:place + 8 + length]
        assert zlib.crc32(name + data) == struct.unpack_from(">I", content, place + 8 + length)[0]
        chunks[name] = chunks.get(name, b"") + data
        place += 12 + length
    return struct.unpack_from(">2I2B", chunks[b"IHDR"]), chunks


def psnr(first, second):
    clamped = [[min(max(value, WINDOW[0]), WINDOW[1]) for value in values] for values in (first, second)]
    mean = sum((a - b) ** 2 for a, b in zip(*clamped)) / len(first)
    return 10 * math.log10((WINDOW[1] - WINDOW[0]) ** 2 / mean)


class Phantom(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.set = cls.root / "patients"
        cls.made = cls.synth(cls.set, "--patients", 12)
        assert cls.made.code == 0, str(cls.made)

    @staticmethod
    def synth(folder, *options):
        return paceline("data", "synth", folder, "--kind", "phantom", "--size", SIZE, "--xray-size", XRAY, *options)

    @staticmethod
    def content(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def scan(self, number, ending=".nii.gz"):
        name = f"phantom_{number:06}"
        return read_nifti(self.set / name / (name + ending))

    def test_files_are_what_their_formats_say(self):
        voxel = 400 / SIZE
        first = (voxel - 400) / 2
        for ending, code in ((".nii.gz", 4), ("_organs.nii.gz", 2)):
            told = self.scan(3, ending)
            self.assertEqual((told["header"], told["magic"], told["type"]), (348, b"n+1\0", code))
            self.assertEqual(told["dim"], (3, SIZE, SIZE, SIZE, 1, 1, 1, 1))
            self.assertEqual(told["forms"], (1, 1))
            self.assertEqual(told["pixdim"][1:4], (voxel,) * 3)
            self.assertEqual(told["rows"], [(voxel, 0, 0, first), (0, voxel, 0, first), (0, 0, voxel, first)])
            self.assertEqual((told["offset"], told["units"]), (352, 2))
            self.assertEqual(told["description"], "synthetic, not for diagnosis")
            self.assertEqual(len(told["values"]), SIZE ** 3)
        self.assertGreaterEqual(set(self.scan(3, "_organs.nii.gz")["values"]), {0, 1, 2, 5})
        for view in ("pa", "lat"):
            header, chunks = read_png(self.set / "phantom_000003" / f"phantom_000003_{view}_drr.png")
            self.assertEqual(header, (XRAY, XRAY, 16, 0))
            self.assertIn(b"synthetic, not for diagnosis", chunks[b"tEXt"])

    def test_patients_have_to_be_looked_at(self):
        scans = [self.scan(number)["values"] for number in range(12)]
        sums = [sum(values) for values in zip(*scans)]
        pairs = [psnr(a, b) for i, a in enumerate(scans) for b in scans[:i]]
        self.assertLessEqual(sum(pairs) / len(pairs), 17)
        to_mean = [psnr(scan, [(all_of_it - own) / 11 for all_of_it, own in zip(sums, scan)]) for scan in scans]
        self.assertLessEqual(sum(to_mean) / len(to_mean), 20, "the mean of the other patients")
        self.assertGreater(sum(to_mean) / len(to_mean), 17)

    def test_more_patients_change_none(self):
        few = self.root / "few"
        self.assertEqual(self.synth(few, "--patients", 2, "--threads", 1).code, 0)
        all_files = self.content(self.set)
        for path, content in self.content(few).items():
            if path.name != "paceline-synth.txt":
                self.assertEqual(all_files[path], content, path)
        again = self.synth(few, "--patients", 2)
        self.assertIn("holds this data set already", again.err)
        other = self.synth(few, "--patients", 2, "--seed", 2)
        self.assertEqual(other.code, 2)
        self.assertIn("holds another synthetic set", other.err)
        self.assertEqual(self.synth(self.root / "seed", "--patients", 1, "--seed", 2).code, 0)
        changed = self.content(self.root / "seed")
        self.assertTrue(all(all_files[path] != content for path, content in changed.items()))

    def test_killed_it_leaves_nothing_at_its_place(self):
        folder = self.root / "killed"
        process = subprocess.Popen([PACELINE, "data", "synth", folder, "--kind", "phantom", "--size", "32", "--patients",
                                    "5000"], env=environment(), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not list(self.root.glob("killed.tmp-*/phantom_*/*.png")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        self.assertEqual(process.wait(), -signal.SIGKILL)
        self.assertTrue(list(self.root.glob("killed.tmp-*/phantom_*/*.png")), "it was killed amid its work")
        self.assertFalse(folder.exists())
        self.assertEqual(self.synth(folder, "--patients", 12).code, 0)
        self.assertEqual(self.content(folder), self.content(self.set))

    def test_options_belong_to_kinds(self):
        for text, options in (("--patients is not an option of sets of images", ("--patients", 3)),
                              ("--classes is not an option of --kind phantom", ("--kind", "phantom", "--classes", 3)),
                              ("excludes", ("--kind", "phantom", "--min-size", 30)),
                              ("--projector", ("--kind", "phantom", "--projector", "raytrix")),
                              ("size is 4, expected 8", ("--kind", "phantom", "--size", 4)),
                              ("fov_mm is 0", ("--kind", "phantom", "--fov-mm", 0))):
            result = paceline("data", "synth", self.root / "refused", *options)
            self.assertEqual(result.code, 2, str(result))
            self.assertIn(text, result.err)
            self.assertFalse((self.root / "refused").exists())
        self.assertIn("--full-scale", paceline("data", "synth", "--help").out)


if __name__ == "__main__":
    unittest.main()
