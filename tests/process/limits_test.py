"""What the programs say where the system gives them too little: one message with the cure, no crash."""

import os
import resource
import subprocess
import unittest

from paceline_process import PACELINE, TIMEOUT_S, RunTest, environment

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


if __name__ == "__main__":
    unittest.main()
