"""What tools/new_component.py writes passes the checks of the tree; that it compiles is tried by hand."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("algorithm", "callback", "dataset", "logger", "loss", "model", "sampler", "schedule", "transform")


class NewComponent(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for part in ("src", "tools", "tests/unit"):
            shutil.copytree(SOURCE / part, self.tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        (self.tree / "cmake").mkdir()
        for file in (".clang-format", "cmake/install_manifest.txt"):
            shutil.copy(SOURCE / file, self.tree / file)
        subprocess.run(["git", "init", "--quiet", self.tree], check=True)

    def run_tool(self, tool, *arguments):
        return subprocess.run([sys.executable, "-B", self.tree / "tools" / tool, *arguments], capture_output=True,
                              text=True)

    def refused(self, *arguments):
        done = self.run_tool("new_component.py", *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_a_component_of_each_kind_passes_the_checks(self):
        for kind in KINDS:
            done = self.run_tool("new_component.py", kind, f"quite_new_{kind}")
            self.assertEqual(done.returncode, 0, done.stderr)
            files = done.stdout.splitlines()[:-1]
            self.assertEqual(len(files), 5, "header, source, test, the list and the manifest")
            for file in files:
                self.assertTrue((self.tree / file).exists(), file)
        listed = (self.tree / "src/paceline/app/recipe/builtin.cpp").read_text()
        self.assertIn("  registries.datasets.add<data::QuiteNewDatasetConfig>();\n", listed)
        self.assertIn('#include "paceline/models/quite_new_model/quite_new_model.h"\n', listed)
        for check in ("check_style.py", "check_layers.py", "install_headers.py"):
            done = self.run_tool(check)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if shutil.which("clang-format"):
            new = [path for path in self.tree.rglob("*quite_new_*") if path.is_file()]
            self.assertEqual(len(new), 3 * len(KINDS))
            subprocess.run(["clang-format", "--dry-run", "--Werror", *new], check=True)

    def test_names_that_cannot_be_are_refused(self):
        for name in ("Upper", "two__scores", "1st", "with-dash", "../up", "", "x" * 41):
            self.assertIn("is no name", self.refused("loss", name))
        self.assertIn("says nothing", self.refused("loss", "utils"))
        self.assertIn("exists", self.refused("transform", "random_crop"))
        self.assertIn("already", self.refused("schedule", "cosine"))
        self.assertIn("already", self.refused("dataset", "npy"))
        self.assertIn("kinds are algorithm,", self.refused("planet", "mars"))
        self.assertIn("kinds are algorithm,", self.refused("loss"))


if __name__ == "__main__":
    unittest.main()
