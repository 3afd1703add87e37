"""What ./dev install leaves: programs, recipes and a library that need neither the clone nor their first place."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from paceline_process import BUILD, RECIPE, TINY_VIT, checkpoint_digests, checkpoints, environment, read_metrics

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TREES = (str(SOURCE / ".deps"), str(SOURCE / "src"), str(BUILD.resolve()))
# Runs a command where the clone is empty; the kernel lets only some users do so.
HIDING = ["unshare", "--map-root-user", "--mount", "sh", "-c",
          f'mount -t tmpfs none "{SOURCE}" && cd / && exec "$@"', "sh"]

EVERY_TARGET = """
cmake_minimum_required(VERSION 3.25)
project(every_target LANGUAGES CXX)
find_package(paceline REQUIRED)
cmake_path(SET include_dir NORMALIZE ${paceline_DIR}/../../../include)
file(GLOB_RECURSE headers RELATIVE ${include_dir} ${include_dir}/paceline/*.h)
list(TRANSFORM headers PREPEND "#include <")
list(TRANSFORM headers APPEND ">\\n")
list(JOIN headers "" includes)
file(WRITE ${CMAKE_BINARY_DIR}/main.cpp "${includes}
int main() { return paceline::callbacks::EarlyStop({}).name() == \\"early_stop\\" ? 0 : 1; }\\n")
add_executable(every_target ${CMAKE_BINARY_DIR}/main.cpp)
file(GLOB modules RELATIVE ${include_dir}/paceline ${include_dir}/paceline/*)
list(TRANSFORM modules PREPEND paceline::)
target_link_libraries(every_target PRIVATE ${modules})
"""

TWO_FOLDERS = """
cmake_minimum_required(VERSION 3.25)
project(two_folders LANGUAGES CXX)
add_subdirectory(minimal)
add_subdirectory(ddp_own_loop)
"""


def run(*command, **changes):
    result = subprocess.run(list(map(str, command)), env=environment(**changes), capture_output=True, text=True)
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout + result.stderr


def install(prefix):
    """As ./dev install does where the build is its own; a build folder made by hand has no preset."""
    preset = BUILD / ".preset"
    if preset.exists():
        return run(SOURCE / "dev", "install", prefix, "--preset", preset.read_text().strip())
    return run("cmake", "--install", BUILD, "--prefix", prefix)


def listing(prefix):
    """Of every file its size and when it was written."""
    return {path.relative_to(prefix): (path.stat().st_size, path.stat().st_mtime_ns)
            for path in prefix.rglob("*") if path.is_file() and path.name != "installed_files.txt"}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paceline-install-")
        cls.root = pathlib.Path(cls.folder.name)
        first = cls.root / "first place"
        install(first)
        cls.prefix = cls.root / "moved to c++"  # what is special to a shell and to regular expressions
        first.rename(cls.prefix)
        cls.program = cls.prefix / "bin" / "paceline"
        shutil.copytree(SOURCE / "examples", cls.root / "examples")
        can_hide = subprocess.run([*HIDING, "true"], capture_output=True).returncode == 0
        cls.away = HIDING if can_hide else []

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def configure(self, source, *options):
        folder = self.root / f"build-{source.name}"
        run(*self.away, "cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", *options)
        self.assert_names_no_tree((folder / "build.ninja").read_text())
        return folder

    def build(self, source, *options):
        folder = self.configure(source, *options)
        run(*self.away, "ninja", "-C", folder)
        program = folder / source.name
        self.assert_names_no_tree(run("ldd", program))
        return program

    def assert_names_no_tree(self, text):
        for tree in TREES:
            self.assertNotIn(tree, text)

    def test_it_trains_where_no_clone_is(self):
        recipe = self.root / "recipe.yaml"
        recipe.write_text(RECIPE.replace("MODEL", TINY_VIT).replace("DATA", "shapes"))
        run(*self.away, self.program, "data", "synth", self.root / "shapes", "--classes", 4, "--train-per-class", 15,
            "--val-per-class", 5, "--min-size", 40, "--max-size", 64)
        run(*self.away, self.program, "train", recipe, "--nproc", 2, "--run-dir", self.root / "run",
            f"data.path={self.root / 'shapes'}")
        self.assertTrue((self.root / "run" / "checkpoints" / "last").exists())
        self.assertIn("LibTorch 2.11", run(*self.away, self.program, "info"))

    def test_its_libraries_are_its_own_or_the_systems(self):
        for name in ("bin/paceline", "libexec/paceline-rank", "lib/libpaceline_remote.so", "lib/libpaceline_ct.so"):
            found = run("ldd", self.prefix / name)
            self.assertNotIn("not found", found, name)
            self.assert_names_no_tree(found)
            for path in re.findall(r"=> (/.*) \(0x", found):
                self.assertRegex(path, rf"^({re.escape(str(self.prefix))}|/lib|/usr/lib)", f"{name} loads {path}")

    def test_no_file_of_the_package_names_a_clone(self):
        for path in self.prefix.rglob("*.cmake"):
            self.assert_names_no_tree(path.read_text())

    def test_it_brings_the_recipes(self):
        recipes = self.prefix / "share" / "paceline" / "recipes"
        for recipe in sorted(recipes.glob("*.yaml")):
            run(*self.away, self.program, "config", "check", recipe)
        self.assertTrue((recipes / "base" / "imagenet.yaml").exists())

    def test_minimal(self):
        program = self.build(self.root / "examples" / "minimal")
        self.assertIn("loss of the last step", run(*self.away, program))

    def test_ddp_own_loop(self):
        program = self.build(self.root / "examples" / "ddp_own_loop")
        sums = set()
        for ranks in (1, 2):
            out = run(*self.away, self.program, "launch", "--nproc", ranks, "--", program)
            sums |= {round(float(text), 4) for text in re.findall(r"weights sum to (\S+)", out)}
        self.assertEqual(len(sums), 1, f"one and two ranks must learn the same: {sums}")

    def test_own_component(self):
        program = self.build(self.root / "examples" / "own_component")
        recipe = self.root / "examples" / "own_component" / "recipe.yaml"
        losses = set()
        for ranks in (1, 2):
            folder = self.root / f"own-{ranks}"
            run(*self.away, self.program, "launch", "--nproc", ranks, "--", program, "train", recipe, "--run-dir", folder)
            losses.add(round(float((folder / "last_loss.txt").read_text()), 3))
        self.assertEqual(len(losses), 1, f"one and two ranks must learn the same: {losses}")
        self.assertLess(losses.pop(), 1)
        self.assertIn("error", run(*self.away, program, "eval", folder))
        self.assertIn("own_component train|eval|", run(*self.away, program, "--help"))
        listed = run(*self.away, program, "list")
        for name in ("series", "line", "regression", "clamp", "last_loss"):
            self.assertIn(name, listed)
        wrong = subprocess.run([program, "config", "check", recipe, "model.doubledd=1"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean model.doubled?", wrong.stderr)
        other = subprocess.run([program, "train", recipe, "task=classification", "--dry-run"], capture_output=True, text=True)
        self.assertEqual(other.returncode, 2, other.stderr)
        self.assertIn("needs a data set with labels", other.stderr)

    def test_segmentation(self):
        """Labels of voxels, of which paceline knows nothing, are learnt as images' are: on ranks, exactly resumed."""
        program = self.build(self.root / "examples" / "segmentation")
        recipe = self.root / "examples" / "segmentation" / "recipe.yaml"
        small = ("data.size=8", "data.num_samples=32", "model.channels=4", "checkpoint.every=3ba",
                 "schedule={name: constant}")

        def train(name, ranks, steps, *options):
            folder = self.root / f"segmentation-{name}"
            run(*self.away, self.program, "launch", "--nproc", ranks, "--", program, "train", recipe,
                "--run-dir", folder, f"train.duration={steps}ba", *small, *options)
            return folder

        runs = {name: train(name, ranks, 6, f"parallel.strategy={name}")
                for name, ranks in (("none", 1), ("ddp", 2), ("fsdp", 2))}
        losses = [[line["val/loss"] for line in read_metrics(folder) if "val/loss" in line][-1]
                  for folder in runs.values()]
        self.assertLess(max(losses) - min(losses), 1e-3, f"one and two ranks must learn the same: {losses}")
        for name in ("ddp", "fsdp"):
            train(f"stopped-{name}", 2, 3, f"parallel.strategy={name}")
            resumed = train(f"stopped-{name}", 2, 6, f"parallel.strategy={name}", "--resume", "auto")
            last, reference = checkpoints(resumed)[-1], checkpoints(runs[name])[-1]
            self.assertEqual(last.name, reference.name)
            self.assertEqual(checkpoint_digests(last), checkpoint_digests(reference))
        self.assertIn("val/dice", run(*self.away, program, "eval", resumed))
        written = []
        for ranks in (1, 2):
            out = self.root / f"organs-{ranks}"
            run(*self.away, self.program, "launch", "--nproc", ranks, "--", program, "predict", resumed, "-o", out)
            written.append((out / "organs.npy").read_bytes())
        self.assertEqual(written[0], written[1])
        self.assertIn(b"'shape': (8, 8, 8, 8)", written[0])
        self.assertEqual(len((out / "samples.csv").read_text().splitlines()), 1 + 8)
        run(*self.away, program, "train", recipe, "data.subset=16", "--dry-run")
        moved = ("data.train_transforms=[{name: random_flip, axes: [-2]}, {name: random_crop, size: [8, 8, 8]}]",)
        log = run(*self.away, program, "train", recipe, "data.num_samples=64", *moved, "--dry-run")
        for text in ("64 training and 16 validation samples, volume 1 x 8 x 8 x 8, organs 8 x 8 x 8",
                     "batches: 8 samples a step", "forward per sample"):
            self.assertIn(text, log)
        packed = self.root / "packed phantoms"
        run(*self.away, program, "data", "pack", recipe, "data.size=8", "data.num_samples=8", "-o", packed)
        self.assertIn("volume float32 1 x 8 x 8 x 8", run(*self.away, program, "data", "info", packed))
        for command, message in ((("train", recipe, "task=classification", "--dry-run"), "needs a data set with labels"),
                                 (("train", recipe, "model=resnet18", "--dry-run"), "the model reads images"),
                                 (("train", recipe, "data.size=10", "--dry-run"), "multiples of 4"),
                                 (("train", recipe, "data.sampler=class_balanced", "--dry-run"), "with classes"),
                                 (("train", recipe, "loss.label_smoothing=0.1", "--dry-run"), "has a loss of its own"),
                                 (("train", recipe, "data.image_size=8", "--dry-run"), "data.image_size: only for images"),
                                 (("train", recipe, "checkpoint.monitor=val/top1", "--dry-run"), "is no metric")):
            wrong = subprocess.run([program, *command], capture_output=True, text=True)
            self.assertEqual(wrong.returncode, 2, wrong.stderr)
            self.assertIn(message, wrong.stderr)

    def test_every_target_links_and_every_header_compiles(self):
        modules = {path.name for path in (self.prefix / "include" / "paceline").iterdir()}
        archives = {path.stem.removeprefix("libpaceline_") for path in (self.prefix / "lib" / "paceline").glob("*.a")}
        self.assertEqual(modules, archives, "a target without headers, or headers without a target")
        source = self.root / "every_target"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(EVERY_TARGET)
        run(*self.away, self.build(source, "-DCMAKE_CXX_FLAGS_RELEASE=-O0"))

    def test_two_folders_of_a_project_find_it(self):
        source = self.root / "two_folders"
        shutil.copytree(SOURCE / "examples", source)
        (source / "CMakeLists.txt").write_text(TWO_FOLDERS)
        self.configure(source)

    def test_a_second_installation_changes_nothing_and_takes_away_what_is_gone(self):
        before = listing(self.prefix)
        gone = self.prefix / "include" / "paceline" / "base" / "gone.h"
        kept = self.root / "kept.h"
        for path in (gone, kept):
            path.touch()
        with (self.prefix / "lib" / "paceline" / "installed_files.txt").open("a") as file:
            file.write(f"include/paceline/base/gone.h\n../kept.h\n{kept}\n")
        install(self.prefix)
        self.assertFalse(gone.exists())
        self.assertTrue(kept.exists(), "outside the prefix nothing is removed")
        self.assertEqual(listing(self.prefix), before)


if __name__ == "__main__":
    unittest.main()
