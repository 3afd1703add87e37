"""`paceline logs` and `paceline stop`, and what a detached run leaves for them; with a stand-in for paceline-rank."""

import json
import os
import re
import signal
import socket
import subprocess
import unittest

import detach_test
from launch_test import WAIT_SECONDS, clean_environment, wait_until
from processes import is_running


class RunControl(detach_test.DetachCase):
    def test_a_record_holds_no_secret(self):
        _, pid = self.detach("--run-dir", "secret", "wait", "--wandb-key", "sesame", "data.path=https://me:sesame@host/x")
        record = (self.folder / "secret/launcher.json").read_text()
        self.assertEqual(json.loads(record)["command"], ["paceline", "train", "recipes/tiny.yaml"])
        self.assertNotIn("sesame", record)
        self.call("stop", "secret")

    def test_a_detached_run_writes_through_nothing_planted(self):
        victim = self.folder / "victim"
        victim.write_text("mine")
        plants = {"soft": lambda path: path.symlink_to(victim), "hard": lambda path: path.hardlink_to(victim),
                  "pipe": os.mkfifo}
        for kind, plant in plants.items():
            for name in ("launcher.json", "launcher.log"):
                run = self.folder / f"{kind}-{name}"
                run.mkdir()
                plant(run / name)
                result = self.call("train", "r.yaml", "--detach", "--run-dir", run)
                self.assertEqual((result.returncode, victim.read_text()), (5, "mine"), result.stderr)
                self.assertIn(str(run / name), result.stderr)

    def test_logs_shows_regular_files_alone(self):
        _, pid = self.detach("--run-dir", "mine", "wait")
        self.call("stop", "mine")
        log = self.folder / "mine/launcher.log"
        (self.folder / "theirs").write_text("theirs\n")
        for plant in (lambda: log.symlink_to(self.folder / "theirs"), lambda: os.mkfifo(log)):
            log.unlink()
            plant()
            result = self.call("logs", "mine")
            self.assertEqual((result.returncode, result.stdout), (5, ""), result.stderr)
            self.assertIn("launcher.log", result.stderr)

    def test_detach_follow_and_stop(self):
        stdout, pid = self.detach("--nproc", 2, "wait")
        run = re.search(r"runs/tiny-\d{8}-\d{6}", stdout)[0]
        wait_until(lambda: (self.folder / "ready0").exists() and (self.folder / "ready1").exists(), "the ranks are ready")
        record = json.loads((self.folder / run / "launcher.json").read_text())
        self.assertEqual((record["pid"], record["host"], record["exit_code"]), (pid, socket.gethostname(), None))
        self.assertNotEqual(os.getsid(pid), os.getsid(0))

        busy = self.call("train", "r.yaml", "--detach", "--run-dir", run)
        self.assertEqual(busy.returncode, 2)
        self.assertIn("in use by a live run", busy.stderr)

        follower = subprocess.Popen([self.program, "logs", "-f", run], cwd=self.folder, env=clean_environment(),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, follower)
        stopped = self.call("stop", run)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assertIn("exit code 143", stopped.stdout)
        followed, ending = follower.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(follower.returncode, 0)
        for line in (f"[rank 1] argv train recipes/tiny.yaml wait --run-dir {run}", "saved", "[rank 1] saved"):
            self.assertIn(line + "\n", followed)
        self.assertIn("exit code 143", ending)
        self.assertEqual(self.call("logs", run).stdout, followed)
        lines = followed.splitlines(keepends=True)
        for count in (1, 2, len(lines), 10000):
            self.assertEqual(self.call("logs", "-n", count, run).stdout, "".join(lines[-count:]))
        self.assertIn("-n must be", self.call("logs", "-n", "0", run).stderr)
        self.assertIn("is not running", self.call("stop", run).stdout)
        self.assertFalse(is_running(pid))

    def test_stop_says_what_to_do_when_time_is_over(self):
        _, pid = self.detach("--run-dir", "mine", "deaf")
        wait_until(lambda: (self.folder / "ready0").exists(), "the rank is ready")
        result = self.call("stop", "mine", "--timeout", "0")
        self.assertEqual(result.returncode, 4)
        self.assertIn(f"kill -KILL {pid}", result.stderr)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid), "the launcher is gone")
        self.assertIn("was killed", self.call("stop", "mine").stdout)

    def test_errors_of_a_detached_start_are_told_at_once(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            result = self.call("train", "r.yaml", "--nproc", 2, "--detach", "--master-port", port)
        self.assertEqual((result.returncode, result.stdout), (4, ""))

    def test_the_last_lines_of_a_long_log(self):
        _, pid = self.detach("--run-dir", "mine", "wait")
        self.call("stop", "mine")
        lines = [f"{i} " + "x" * (i % 300) + "\n" for i in range(2000)]
        for end in ("", "no end"):
            (self.folder / "mine/launcher.log").write_text("".join(lines) + end)
            told = lines + ([end] if end else [])
            for count in (1, 150, 1999, 3000):
                self.assertEqual(self.call("logs", "mine", "-n", count).stdout, "".join(told[-count:]))
                self.assertEqual(self.call("logs", f"-n{count}", "mine").stdout, "".join(told[-count:]))
                self.assertEqual(self.call("logs", f"--lines={count}", "mine").stdout, "".join(told[-count:]))

    def test_a_run_that_leaves_nothing_is_not_detached(self):
        for option in ("--fast-dev-run", "--fast-dev-run=3", "--dry-run"):
            result = self.call("train", "r.yaml", "--detach", option)
            self.assertEqual(result.returncode, 2)
            self.assertIn("--detach does not go with", result.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_logs_and_stop_of_what_is_no_run(self):
        for verb in ("logs", "stop"):
            result = self.call(verb, "nowhere")
            self.assertEqual(result.returncode, 2)
            self.assertIn("nowhere holds no detached run", result.stderr)
            self.assertNotIn("log.txt", result.stderr)
            (self.folder / "foreground").mkdir(exist_ok=True)
            (self.folder / "foreground/log.txt").write_text("said\n")
            self.assertIn("stands in foreground/log.txt", self.call(verb, "foreground").stderr)
            self.assertEqual(self.call(verb).returncode, 2)


if __name__ == "__main__":
    unittest.main()
