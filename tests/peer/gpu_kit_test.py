"""The GPU kit, packed from this build and tried without a GPU: what is in it, and that each of its parts runs to its end."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

from paceline_process import BUILD, environment

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools"))

from hardware_page import read_results, section  # noqa: E402

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
MOST_BYTES = 60_000_000
PARTS = ("tests", "equal", "graph", "resume", "pinned", "memory", "cascade", "sanitizer", "speed")
# Imported in place of torch.
OTHER_TORCH = """
import types
__version__ = "2.10.0+cu130"
version = types.SimpleNamespace(cuda="13.0")
cuda = types.SimpleNamespace(device_count=lambda: 0)
"""


class GpuKit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paceline-kit-test-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.archive = cls.root / "kit.tar.gz"
        cls.scratch = cls.root / "scratch"
        cls.scratch.mkdir()
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "gpu_kit.py", BUILD, cls.archive],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.root / "moved to", filter="data")
        cls.kit = cls.root / "moved to" / "paceline-gpu-kit"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def environment(self, python=PYTHON, **changes):
        return environment(PACELINE_PYTHON=python, TMPDIR=self.scratch, **changes)

    def run_kit(self, *arguments, **changes):
        return subprocess.run([self.kit / "run.sh", *arguments], cwd=self.root, capture_output=True, text=True,
                              env=self.environment(**changes))

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
        self.assertEqual(list(self.scratch.iterdir()), [], "the scratch folders are gone")
        self.assert_page_takes(self.root / "out put")

    def assert_page_takes(self, folder):
        """As if they were of a GPU: the page of a trial shows what it would show of those."""
        for part in PARTS:
            path = folder / f"{part}.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | {"on": "GPU", "gpus": ["GPU A"]}))
        written = section(read_results(folder))
        self.assertNotIn("Not run.", written)
        self.assertEqual(written.count("**1 x GPU A, "), len(PARTS))
        rows = [line for line in written.splitlines() if line.startswith("| ")]
        self.assertGreater(len(rows), 3 * len(PARTS))
        self.assertEqual({line.replace("\\|", "").count("|") for line in rows}, {5}, "cells of each row")

    def test_a_python_without_torch_is_refused(self):
        bare = self.root / "bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
        done = self.run_kit("equal", "--cpu", python=bare / "bin" / "python")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Arun.sh: .* cannot import torch .*pip install torch==2\.11\.0.*\n\Z")
        done = self.run_kit("equal", "--cpu", python=self.root / "none")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Arun.sh: .*none is not there: set PACELINE_PYTHON.*\n\Z")

    def test_another_torch_is_refused(self):
        (self.root / "other").mkdir()
        (self.root / "other" / "torch.py").write_text(OTHER_TORCH)
        done = self.run_kit("equal", "--cpu", PYTHONPATH=self.root / "other")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Arun.sh: .* has torch 2\.10\.0\+cu130, and these programs are linked with 2\.11\.0\n\Z")

    def test_what_cannot_begin_says_why(self):
        (self.root / "file").touch()
        for arguments, words in ((["speeed", "--cpu"], "invalid choice: 'speeed'"), ([], "PART"),
                                 (["equal", "--cpu", "-o", "file/results"], "run.sh: cannot write results to .*Not a directory")):
            with self.subTest(arguments):
                done = self.run_kit(*arguments)
                self.assertEqual((done.returncode, "Traceback" in done.stderr), (2, False), done.stderr)
                self.assertRegex(done.stderr, words)

    def test_an_interrupted_part_keeps_its_rows_and_leaves_no_process(self):
        part = "tests" if (self.kit / "bin" / "gpu_test").exists() else "equal"  # which takes its time
        process = subprocess.Popen(["nohup", self.kit / "run.sh", part, "--cpu", "-o", "cut"], cwd=self.root, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment())
        for line in process.stdout:
            if line.startswith("  "):  # its first row
                break
        process.send_signal(signal.SIGHUP)  # which nohup is there to ignore
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)  # nothing that it started keeps the pipe open
        self.assertEqual((process.returncode, "Traceback" in said), (130, False), said)
        rows = json.loads((self.root / "cut" / f"{part}.json").read_text())["rows"]
        self.assertEqual(rows[-1]["why"], "it was interrupted")
        self.assertGreater(len(rows), 1)
        self.assertEqual([path.name for path in (self.root / "cut").iterdir()], [f"{part}.json"])
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_without_a_gpu_only_a_trial_runs(self):
        done = self.run_kit("equal", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"torch sees no GPU|is built for CUDA")


if __name__ == "__main__":
    unittest.main()
