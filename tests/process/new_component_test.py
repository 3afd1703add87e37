"""What tools/new_component.py writes passes the checks of the tree and compiles."""

import json
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

from paceline_process import BUILD

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("algorithm", "callback", "dataset", "logger", "loss", "model", "optimizer", "sampler", "schedule", "task",
         "transform")


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
        self.compile_all()

    def compile_all(self):
        """All in one, as tests of `app` are compiled, which see every kind."""
        sources = [path for path in self.tree.rglob("*quite_new_*.cpp")]
        self.assertEqual(len(sources), 2 * len(KINDS), "sources and tests")
        everything = self.tree / "everything.cpp"
        everything.write_text("".join(f'#include "{path}"\n' for path in sources))
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        arguments = shlex.split(next(entry["command"] for entry in commands if "app_test_objects" in entry["command"]))
        if arguments[0].endswith("ccache"):
            arguments = arguments[1:]
        arguments = arguments[:arguments.index("-o")]
        done = subprocess.run([arguments[0], f"-I{self.tree}/src", f"-I{self.tree}/tests", *arguments[1:], "-fsyntax-only",
                               everything], cwd=BUILD, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_that_cannot_be_are_refused(self):
        for name in ("Upper", "two__scores", "1st", "with-dash", "../up", "", "x" * 41):
            self.assertIn("is no name", self.refused("loss", name))
        self.assertIn("says nothing", self.refused("loss", "utils"))
        self.assertIn("exists", self.refused("callback", "early_stop"))
        self.assertIn("has a 'random_crop' already", self.refused("transform", "random_crop"))
        self.assertIn("already", self.refused("schedule", "cosine"))
        self.assertIn("already", self.refused("dataset", "npy"))
        self.assertIn("kinds are algorithm,", self.refused("planet", "mars"))
        self.assertIn("kinds are algorithm,", self.refused("loss"))


if __name__ == "__main__":
    unittest.main()
