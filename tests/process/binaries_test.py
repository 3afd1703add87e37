"""What the loader is told by each binary that is built and installed: run paths and hardening."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from paceline_process import BUILD, PACELINE, environment

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def readelf(option, path):
    return subprocess.run(["readelf", option, "--wide", path], capture_output=True, text=True, check=True).stdout


def binaries(root):
    """Programs and shared libraries below a folder, not those of a build folder in it or behind a link."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != "CMakeFiles" and
                      not (pathlib.Path(folder) / name / "CMakeCache.txt").exists()]
        for name in files:
            path = pathlib.Path(folder) / name
            if path.is_symlink() or name.endswith(".o"):
                continue
            with path.open("rb") as file:
                header = file.read(18)
            if header[:4] == b"\x7fELF" and header[16] in (2, 3):
                found.append(path)
    return found


def run_paths(path):
    """The entries of DT_RPATH and DT_RUNPATH."""
    return [entry for line in re.findall(r"\((?:RPATH|RUNPATH)\)\s+Library r\w*path: \[(.*)\]", readelf("--dynamic", path))
            for entry in line.split(":")]


class Binaries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paceline-binaries-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.prefix = cls.root / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True)
        cls.built = binaries(BUILD)
        copies = cls.prefix / "lib" / "paceline"  # of LibTorch and Arrow, built by others
        cls.installed = [path for path in binaries(cls.prefix) if copies not in path.parents]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_all_are_looked_at(self):
        names = {path.name for path in self.built}
        ours = {"paceline", "paceline-rank", "libpaceline_remote.so", "libpaceline_ct.so"}
        self.assertLessEqual({*ours, "base_test", "app_test"}, names)
        self.assertLessEqual(ours, {path.name for path in self.installed})

    def test_no_run_path_is_empty_or_relative(self):
        for path in self.built + self.installed:
            for entry in run_paths(path):
                self.assertRegex(entry, r"^(/|\$ORIGIN(/|$))", f"{path}: {entry!r} depends on the working directory")

    def test_what_is_installed_loads_nothing_from_a_source_or_build_tree(self):
        for path in self.installed:
            for entry in run_paths(path):
                for tree in (SOURCE, BUILD.resolve()):
                    self.assertFalse(entry.startswith(f"{tree}/"), f"{path}: {entry} lies in {tree}")

    def test_what_is_installed_does_not_tell_where_it_was_built(self):
        """So ccache takes a unit that one clone has compiled for the same unit of another."""
        for path in self.installed:
            self.assertFalse(f"{SOURCE}/".encode() in path.read_bytes(), path)

    def test_a_planted_library_is_not_loaded(self):
        """Nothing that a program needs is taken from the working directory."""
        planted = self.root / "planted"
        planted.mkdir()
        for path in (BUILD / "bin" / "paceline", BUILD / "libexec" / "paceline-rank", BUILD / "lib" / "libpaceline_remote.so"):
            for name in re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", readelf("--dynamic", path)):
                (planted / name).write_text("planted")
        self.assertTrue((planted / "libturbojpeg.so.0").exists())
        for program in (PACELINE, self.prefix / "bin" / "paceline"):
            result = subprocess.run([program, "info"], cwd=planted, env=environment(), capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, f"{program}: {result.stderr}")

    def test_all_are_hardened(self):
        for path in self.built + self.installed:
            with self.subTest(str(path)):
                segments = readelf("--program-headers", path)
                dynamic = readelf("--dynamic", path)
                self.assertIn("GNU_RELRO", segments)
                self.assertRegex(dynamic, r"BIND_NOW|Flags:.*\bNOW\b")
                stack = re.search(r"GNU_STACK.*?(R\w*)\s+0x", segments)
                self.assertTrue(stack and "E" not in stack[1], "the stack must not be executable")
                self.assertEqual(re.search(r"LOAD.*\bRWE\b", segments), None)
                if path.suffix != ".so":
                    self.assertRegex(dynamic, r"Flags:.*\bPIE\b")

    def test_programs_check_their_stacks_and_buffers(self):
        sanitized = "PACELINE_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()
        for path in (BUILD / "bin" / "paceline", BUILD / "libexec" / "paceline-rank", BUILD / "lib" / "libpaceline_remote.so"):
            symbols = readelf("--dyn-syms", path)
            self.assertIn("__stack_chk_fail", symbols, path)
            if not sanitized:
                self.assertRegex(symbols, r"__\w+_chk@", path)


if __name__ == "__main__":
    unittest.main()
