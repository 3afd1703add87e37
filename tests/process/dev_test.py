"""./dev and tools/demo.sh, with stand-ins for what they start: what is built, what is said, where it goes."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# Notes what it is asked to build; of three steps the second warns. With a file `broken` it fails like ninja.
NINJA = """#!/bin/bash
echo "ninja $*" >>"$CALLS"
for step in 1 2 3; do
  status=${NINJA_STATUS/'%f'/$step}
  echo "${status/'%t'/3}Building CXX object $step.o"
  if [ $step = 2 ]; then echo "a.cpp:1: warning: odd"; fi
done
if [ -e broken ]; then printf 'FAILED: 3.o\\na.cpp:1: error: wrong\\n'; exit 1; fi
"""

CMAKE = """#!/bin/bash
echo "cmake $*" >>"$CALLS"
"""

# A program whose first metrics come a while after it was started.
PACELINE = """#!/bin/bash
case "$*" in
  *--resume*) ;;
  train*)
    trap 'exit 143' TERM
    sleep 0.5
    mkdir run
    printf '{"event":"eval"}\\n{"event":"eval"}\\n' >run/metrics.jsonl
    while true; do sleep 0.05; done ;;
  eval*) echo '{"metrics": {"val/top1": 0.95}}' ;;
esac
"""


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-dev-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.root.chmod(0o755)
        self.clone = self.root / "clone"
        self.calls = self.root / "calls"
        for name in ("dev", "tools/demo.sh"):
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.clone / name)
        (self.clone / "deps").mkdir()
        (self.clone / "deps" / "debian.txt").write_text("# none\n")
        write_program(self.root / "bin" / "ninja", NINJA)
        write_program(self.root / "bin" / "cmake", CMAKE)
        write_program(self.clone / "build" / "bin" / "paceline", PACELINE)

    def dev(self, *arguments, cwd=None, user=None, **changes):
        env = os.environ | {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "CALLS": str(self.calls),
                            "PACELINE_TORCH_DIR": "/none", "PACELINE_ARROW_DIR": "/none"} | changes
        return subprocess.run([self.clone / "dev", *arguments], cwd=cwd or self.root, env=env, user=user,
                              capture_output=True, text=True, timeout=60)

    def called(self, program):
        return [line.split()[1:] for line in self.calls.read_text().splitlines() if line.startswith(program + " ")]

    def test_demo_builds_only_what_it_runs(self):
        result = self.dev("demo")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual([call[-2:] for call in self.called("ninja")], [["paceline", "paceline-rank"]])
        self.assertIn("== top-1 on the validation images: 95.0 %", result.stdout)

    def test_demo_waits_for_the_first_metrics_without_a_word(self):
        self.assertEqual(self.dev("demo").stderr, "")

    def test_wheels_are_unpacked_without_a_word_of_unzip(self):
        """Also one that has nothing of what is left out."""
        wheels = self.root / "cache" / "paceline" / "wheels"
        wheels.mkdir(parents=True)
        with zipfile.ZipFile(wheels / "arrow-1.0-any.whl", "w") as wheel:
            wheel.writestr("arrow/libarrow.so", "library")
        digest = hashlib.sha256((wheels / "arrow-1.0-any.whl").read_bytes()).hexdigest()
        (self.clone / "deps" / "arrow_wheel.txt").write_text(f"arrow==1.0 --hash=sha256:{digest}\n")
        result = self.dev("build", PACELINE_ARROW_DIR="", XDG_CACHE_HOME=str(self.root / "cache"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual((self.clone / ".deps" / "arrow" / "libarrow.so").read_text(), "library")

    def test_a_build_in_a_pipe_tells_its_progress_once_a_minute(self):
        often = self.dev("build", PACELINE_PROGRESS_EVERY_S="0").stdout
        for step in (1, 2, 3):
            self.assertRegex(often, rf"(?m)^   {step} of 3 steps, \d+ min$")
        self.assertNotIn(" steps, ", self.dev("build").stdout)

    def test_a_build_in_a_pipe_tells_warnings_and_errors_alone(self):
        result = self.dev("build")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("a.cpp:1: warning: odd\n", result.stdout)
        self.assertNotIn("Building", result.stdout)
        (self.clone / "broken").touch()
        result = self.dev("build")
        self.assertEqual(result.returncode, 1)
        self.assertIn("FAILED: 3.o\na.cpp:1: error: wrong\n", result.stdout)
        self.assertIn("dev: the build failed\n", result.stderr)

    def test_install_builds_what_it_installs(self):
        self.dev("install", self.root / "prefix")
        self.assertEqual([call[-1] for call in self.called("ninja")], ["installation"])
        self.assertEqual(self.called("cmake")[-1],
                         ["--install", str(self.clone / "build"), "--prefix", str(self.root / "prefix")])

    def test_install_takes_the_build_of_a_preset(self):
        self.dev("install", self.root / "prefix", "--preset", "asan")
        self.assertEqual(self.called("cmake")[-1][1], str(self.clone / "build" / "asan"))

    def test_gpu_kit_packs_what_it_built_for_cuda(self):
        (self.clone / "deps" / "cuda_wheels.txt").write_text("# none\n")
        (self.clone / "tools" / "gpu_kit.py").write_text("import sys; print(*sys.argv[1:])\n")
        result = self.dev("gpu-kit")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.called("ninja")[0][:2], ["-C", str(self.clone / "build" / "cuda")])
        self.assertLessEqual({"paceline", "paceline-rank", "paceline_cuda", "gpu_test"}, set(self.called("ninja")[0]))
        self.assertIn(f"{self.clone}/build/cuda {self.clone}/build/gpu-kit/paceline-gpu-kit.tar.gz --require-cuda\n",
                      result.stdout)

    def test_a_relative_prefix_is_one_of_the_caller(self):
        elsewhere = self.root / "elsewhere"
        elsewhere.mkdir()
        self.dev("install", "a/prefix", cwd=elsewhere)
        self.assertEqual(self.called("cmake")[-1][-1], str(elsewhere / "a" / "prefix"))

    def assert_refused(self, result, pattern):
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stderr, rf"\Adev: install: {pattern}\n\Z")
        self.assertFalse(self.calls.exists(), "refused before anything is built")

    def test_a_prefix_that_cannot_be_written_is_one_error_at_once(self):
        (self.root / "file").touch()
        self.assert_refused(self.dev("install", self.root / "file" / "prefix"), ".*file.*")
        self.assert_refused(self.dev("install", self.root / "file"), ".*file.*")
        self.assert_refused(self.dev("install", ""), "wants one PREFIX")
        self.assert_refused(self.dev("install"), "wants one PREFIX")
        self.assert_refused(self.dev("install", "a", "b"), "wants one PREFIX.*")
        self.assert_refused(self.dev("install", "--prefix", "a"), "unknown option --prefix")

    def test_a_prefix_of_another_user_is_one_error_at_once(self):
        """Also one whose folders are: an installation that root made."""
        prefix = self.root / "prefix"
        (prefix / "lib").mkdir(parents=True)
        nobody = 65534 if os.getuid() == 0 else None
        (prefix / "lib").chmod(0o555)
        prefix.chmod(0o777)
        self.assert_refused(self.dev("install", prefix, user=nobody), rf"no permission to write into {prefix}/lib.*")
        prefix.chmod(0o555)
        self.assert_refused(self.dev("install", prefix, user=nobody), rf"no permission to write into {prefix}[;,:].*")
        self.assert_refused(self.dev("install", prefix / "deeper", user=nobody), ".*deeper.*")
        prefix.chmod(0o755)


if __name__ == "__main__":
    unittest.main()
