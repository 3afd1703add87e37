"""The GPU kit, packed from this build and tried without a GPU: what is in it, and that each of its parts runs to its end."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

from paceline_process import BUILD, environment

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
MOST_BYTES = 60_000_000
PARTS = ("tests", "equal", "graph", "resume", "pinned", "memory", "sanitizer", "speed")


class GpuKit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paceline-kit-test-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.archive = cls.root / "kit.tar.gz"
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "gpu_kit.py", BUILD, cls.archive],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.root / "moved to", filter="data")
        cls.kit = cls.root / "moved to" / "paceline-gpu-kit"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_kit(self, *arguments, python=PYTHON, **changes):
        return subprocess.run([self.kit / "run.sh", *arguments], cwd=self.root, capture_output=True, text=True,
                              env=environment(PACELINE_PYTHON=python, **changes))

    def test_it_is_small_and_stands_alone(self):
        self.assertLessEqual(self.archive.stat().st_size, MOST_BYTES)
        torch = subprocess.run([PYTHON, "-c", "import os, torch; print(os.path.dirname(torch.__file__))"], check=True,
                               capture_output=True, text=True).stdout.strip()
        site = pathlib.Path(torch).parent
        trees = [f"{tree}/".encode() for tree in {SOURCE, BUILD.resolve(), (SOURCE / ".deps").resolve()}]
        for path in filter(pathlib.Path.is_file, self.kit.rglob("*")):
            data = path.read_bytes()
            for tree in trees:
                self.assertNotIn(tree, data, path)
            if data[:4] == b"\x7fELF":
                self.assert_finds_libraries(path, site)

    def assert_finds_libraries(self, path, site):
        """In the kit and beside torch; of the system only the C library, that of C++ and what lies under them."""
        found = subprocess.run(["ldd", path], capture_output=True, text=True, check=True, env=environment(
            LD_LIBRARY_PATH=f"{self.kit / 'lib' / 'system'}:{site / 'torch' / 'lib'}")).stdout
        self.assertNotIn("not found", found, path)
        for library in re.findall(r"=> (\S.*) \(0x", found):
            name = pathlib.Path(library).name
            is_systems = re.match(r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so", name)
            is_ours = library.startswith((str(self.kit), str(site)))
            self.assertTrue(is_ours or is_systems, f"{path.name} takes {library} from this machine")

    def test_every_part_leaves_a_result(self):
        done = self.run_kit("all", "--cpu", "-o", "out put")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for part in PARTS:
            with self.subTest(part):
                result = json.loads((self.root / "out put" / f"{part}.json").read_text())
                self.assertEqual((result["part"], result["on"]), (part, "CPU"))
                self.assertTrue({"date", "driver", "gpus", "clocks", "torch", "program"} <= result.keys())
                self.assertTrue(result["rows"])
                self.assertLess(result["seconds"], 9 * 60)
                for row in result["rows"]:
                    self.assertIn(row["result"], ("passed", "measured", "not run"), row)
                    self.assertTrue(row["why"] or row["result"] != "not run", row)
                if part not in ("sanitizer", "tests"):
                    self.assertIn(True, [row["value"] is not None for row in result["rows"]], part)

    def test_a_python_without_torch_is_refused(self):
        bare = self.root / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
        done = self.run_kit("equal", "--cpu", python=bare / "bin" / "python")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Arun.sh: .* cannot import torch .*pip install torch==2\.11\.0.*\n\Z")
        done = self.run_kit("equal", "--cpu", python=self.root / "none")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Arun.sh: .*none is not there: set PACELINE_PYTHON.*\n\Z")

    def test_without_a_gpu_only_a_trial_runs(self):
        done = self.run_kit("equal", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"torch sees no GPU|is built for CUDA")


if __name__ == "__main__":
    unittest.main()
