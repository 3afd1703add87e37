"""The examples, built against the installed library and run."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from paceline_process import BUILD, environment

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paceline-examples-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "prefix"
        cls.run_command("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_command(cls, *command, **changes):
        result = subprocess.run(list(map(str, command)), env=environment(**changes), capture_output=True, text=True)
        assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
        return result.stdout + result.stderr

    def build(self, name):
        folder = self.root / name
        launcher = "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache" if "CCACHE_BASEDIR" in os.environ else "-Wno-dev"
        self.run_command("cmake", "-G", "Ninja", "-S", SOURCE / "examples" / name, "-B", folder, launcher,
                         "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_command("ninja", "-C", folder)
        return folder / name

    def test_minimal(self):
        self.assertIn("loss of the last step", self.run_command(self.build("minimal")))

    def test_ddp_own_loop(self):
        program = self.build("ddp_own_loop")
        sums = set()
        for ranks in (1, 2):
            out = self.run_command(self.prefix / "bin" / "paceline", "launch", "--nproc", ranks, "--", program)
            sums |= {round(float(text), 4) for text in re.findall(r"weights sum to (\S+)", out)}
        self.assertEqual(len(sums), 1, f"one and two ranks must learn the same: {sums}")

    def test_the_installed_program_runs(self):
        self.assertIn("LibTorch 2.11", self.run_command(self.prefix / "bin" / "paceline", "info"))


if __name__ == "__main__":
    unittest.main()
