"""What the programs say where the system gives them too little: one message with the cure, no crash."""

import os
import resource
import shutil
import subprocess
import unittest

from paceline_process import PACELINE, TIMEOUT_S, RunTest, checkpoint_digests, checkpoints, environment, paceline

NOBODY = 65534


def limited(limits):
    """Sets limits in the new process; as another user, since root knows no limit of processes."""
    def apply():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for kind, value in limits.items():
            resource.setrlimit(kind, (value, value))
    return apply


class LimitsTest(RunTest):
    def setUp(self):
        self.recipe = self.write_recipe()
        self.root.chmod(0o777)

    def train_limited(self, *arguments, **limits):
        kinds = {getattr(resource, name): value for name, value in limits.items()}
        return subprocess.run([PACELINE, "train", self.recipe, "train.duration=2ba", "schedule=constant", *arguments], cwd=self.root,
                              env=environment(), preexec_fn=limited(kinds), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)

    def expect_told(self, result, cure, codes):
        self.assertIn(result.returncode, codes, result.stdout)
        self.assertIn(cure, result.stdout)
        for word in ("unexpected", "internal error", "terminate called", "choose another port", "is not the store"):
            self.assertNotIn(word, result.stdout)

    def test_too_few_processes_and_threads(self):
        for number in (1, 4, 16, 24):
            for ranks in (1, 2):
                with self.subTest(limit=number, ranks=ranks):
                    self.expect_told(self.train_limited("--nproc", str(ranks), RLIMIT_NPROC=number), "ulimit -u", (2,))

    def test_too_few_descriptors(self):
        for number in (10, 16, 22, 60):
            with self.subTest(limit=number):
                self.expect_told(self.train_limited("--nproc", "2", RLIMIT_NOFILE=number), "ulimit -n", (2,))

    def test_the_soft_limit_of_descriptors_is_raised(self):
        def soft():
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (48, hard))
        result = subprocess.run([PACELINE, "train", self.recipe, "train.duration=2ba", "schedule=constant", "--nproc", "2"], cwd=self.root,
                                env=environment(), preexec_fn=soft, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result.stdout)

    def train_on_a_small_disk(self, option, *arguments):
        """In a mount namespace of its own: OPTION DISK COPY COMMAND...; what the disk holds at the end is in `copy`."""
        disk, copy = self.root / f"disk-{option}", self.root / f"copy-{option}"
        disk.mkdir()
        script = """mount -t tmpfs -o "$1" paceline "$2" || exit 77
                    disk=$2 copy=$3; shift 3; "$@"; code=$?; cp -r "$disk" "$copy"; exit $code"""
        result = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", option,
                                 disk, copy, PACELINE, "train", self.recipe, "--run-dir", disk / "run",
                                 *map(str, arguments)], cwd=self.root, env=environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)
        if result.returncode == 77 or not copy.exists():
            self.skipTest(f"this machine lets nobody mount a small disk: {result.stdout}")
        return result, copy / "run"

    @unittest.skipUnless(shutil.which("unshare"), "the command unshare is not installed")
    def test_a_disk_without_room_or_inodes(self):
        """One message, and what was saved before is whole: with more room the run ends with the same bits."""
        arguments = ("--nproc", 2, "checkpoint.every=1ba", "checkpoint.keep_last=100", "train.duration=15ba")
        reference = self.root / "runs" / "with-room"
        self.train(self.recipe, "--run-dir", reference, *arguments)
        for option, has_saved in (("nr_inodes=12", False), ("nr_inodes=25", True), ("size=100k", False), ("size=1m", True)):
            with self.subTest(option):
                result, run = self.train_on_a_small_disk(option, *arguments)
                self.assertEqual(result.returncode, 5, result.stdout)
                for text in ("No space left on device", "free some space"):
                    self.assertIn(text, result.stdout)
                self.assertEqual(bool(checkpoints(run)), has_saved, result.stdout)
                if has_saved:
                    self.assertEqual(paceline("eval", run, cwd=self.root).code, 0)
                self.train(self.recipe, "--run-dir", run, "--resume", "auto", *arguments)
                self.assertEqual(checkpoint_digests(checkpoints(run)[-1]), checkpoint_digests(checkpoints(reference)[-1]))


if __name__ == "__main__":
    unittest.main()
