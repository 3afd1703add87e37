"""What `paceline train --detach` waits for and tells, and which directory it takes; with a stand-in for paceline-rank."""

import json
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import time
import unittest

import launch_test
from launch_test import clean_environment, wait_until
from processes import is_running

WAIT_SECONDS = launch_test.WAIT_SECONDS


class DetachCase(launch_test.InstalledCase):
    """paceline-rank is a small Python program that does what its arguments say."""

    RANK_PROGRAM = """\
        import os, pathlib, signal, subprocess, sys, time
        rank = os.environ.get('RANK')
        def tell(name):
            pathlib.Path(name + rank).touch()
        def wait_for(name):
            while not os.path.exists(name):
                time.sleep(0.01)
        def end(code, words):
            print('paceline: error:', words, file=sys.stderr, flush=True)
            sys.exit(code)
        def first_step(number=1):
            os.write(int(os.environ['PACELINE_FIRST_STEP_FD']), f'{number}\\n'.encode())
        def work(step=1):
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('saved', flush=True) or 143))
            first_step(step)
            tell('ready')
            while True:
                time.sleep(600)
        if '--print-run-dir' in sys.argv:
            if 'wrong' in sys.argv:
                end(2, 'tiny.yaml:1: unknown key')
            names = [word.partition('=')[2] for word in sys.argv if word.startswith('name=')]
            print(*names or ['runs/tiny-20260131-174500'])
            sys.exit()
        print('argv', *sys.argv[1:], flush=True)
        if 'wait' in sys.argv:
            work()
        if 'resume' in sys.argv:
            work(13)
        if 'slow' in sys.argv:
            tell('started')
            wait_for('go' + rank)
            work()
        if 'deaf' in sys.argv:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            first_step()
            tell('ready')
            time.sleep(600)
        if 'fail' in sys.argv and rank == sys.argv[sys.argv.index('fail') + 1]:
            print('reading', *range(10), sep='\\n', flush=True)
            end(3, 'the cause: and the cure ' + sys.argv[-1])
        if 'fail' in sys.argv:
            time.sleep(600)
        if 'late' in sys.argv:
            first_step()
            end(3, 'the cause')
        """

    def begin(self, *arguments, **options):
        """Starts `paceline train --detach` without waiting for it."""
        process = subprocess.Popen([self.program, "train", "recipes/tiny.yaml", "--detach", *map(str, arguments)],
                                   env=clean_environment(), cwd=self.folder, text=True,
                                   **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        self.addCleanup(self.end, process)
        return process

    def detach(self, *arguments):
        """Returns what was said and the launcher's pid."""
        result = self.call("train", "recipes/tiny.yaml", "--detach", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        pid = int(re.search(r"pid (\d+)", result.stdout)[1])
        self.addCleanup(self.kill, pid)
        return result.stdout, pid

    def kill(self, pid):
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)

    def wait_for_files(self, *names):
        wait_until(lambda: all((self.folder / name).exists() for name in names), f"there is {names}")

    def pid_of(self, run):
        path = self.folder / run / "launcher.json"
        wait_until(path.exists, "the run is on record")
        pid = json.loads(path.read_text())["pid"]
        self.addCleanup(self.kill, pid)
        return pid


class Detach(DetachCase):
    # What it waits for.

    def test_it_returns_when_every_rank_has_done_a_step(self):
        process = self.begin("--nproc", 2, "--run-dir", "mine", "slow")
        pid = self.pid_of("mine")
        self.assertRegex(process.stdout.readline(), rf"^paceline: started mine in the background, pid {pid}; waiting")
        self.wait_for_files("started0", "started1")
        (self.folder / "go1").touch()
        self.wait_for_files("ready1")
        self.assertIsNone(process.poll())
        (self.folder / "go0").touch()
        stdout, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 0, stderr)
        self.assertRegex(stdout, r"^paceline: mine began training \(step 1 after [\d.]+ m?s\)\n"
                                 r"  follow it:  paceline logs -f mine\n  end it:     paceline stop mine\n$")
        self.assertTrue(is_running(pid))
        self.assertEqual(self.call("stop", "mine").returncode, 0)

    def test_a_resumed_run_names_its_own_step(self):
        self.assertIn("(step 13 after", self.detach("resume", "--run-dir", "mine")[0])
        self.call("stop", "mine")

    def test_a_failure_is_told_and_is_its_own(self):
        for attempt in ("first", "second"):  # what an earlier start has said is not told again
            result = self.call("train", "r.yaml", "--detach", "--run-dir", "mine", "fail", 0, attempt)
            self.assertEqual(result.returncode, 3)
            lines = result.stderr.splitlines()
            self.assertRegex(lines[0], r"^paceline: mine ended before its first step, after [\d.]+ m?s: exit code 3; "
                                       r"the end of mine/launcher.log:$")
            self.assertEqual(lines[-1], f"paceline: error: the cause: and the cure {attempt}")
            self.assertEqual(sum("the cause" in line for line in lines), 1)
            self.assertEqual(json.loads((self.folder / "mine/launcher.json").read_text())["exit_code"], 3)

    def test_a_failure_of_another_rank_is_told_as_in_the_foreground(self):
        arguments = ("train", "r.yaml", "--nproc", 3, "--run-dir", "mine", "fail", 1)
        behind, before = self.call(*arguments, "--detach"), self.call(*arguments)
        self.assertEqual((behind.returncode, before.returncode), (3, 3), behind.stderr)
        self.assertIn("paceline: rank 1 failed first: exit code 3, pid", behind.stderr)
        self.assertEqual(behind.stderr.splitlines()[-1], "  | paceline: error: the cause: and the cure 1")
        self.assertEqual(behind.stderr.splitlines()[-12:], before.stderr.splitlines()[-12:])

    def test_a_failure_right_after_the_first_step_is_no_success(self):
        codes = set()
        for _ in range(10):  # whichever is seen first
            result = self.call("train", "r.yaml", "--detach", "late")
            codes.add(result.returncode)
            if result.returncode == 0:
                self.assertIn("began training (step 1", result.stdout)
            else:
                self.assertIn("ended right after its first step", result.stderr)
                self.assertEqual(result.stderr.splitlines()[-1], "paceline: error: the cause")
        self.assertLessEqual(codes, {0, 3})

    def test_a_run_that_ends_without_a_step_ends_well(self):
        result = self.call("train", "r.yaml", "--detach", "--run-dir", "mine")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\npaceline: mine has ended well after [\d.]+ m?s, without a step; "
                                        r"the end of mine/launcher.log:\nargv train r.yaml --run-dir mine\n$")

    def test_a_killed_launcher_is_not_waited_for(self):
        process = self.begin("--run-dir", "mine", "slow")
        pid = self.pid_of("mine")
        wait_until(lambda: "argv" in (self.folder / "mine/launcher.log").read_text(), "the rank has spoken")
        os.kill(pid, signal.SIGKILL)
        _, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL)
        self.assertIn("mine ended before its first step", stderr)
        self.assertIn("killed by SIGKILL (signal 9); the end of mine/launcher.log:\nargv train", stderr)

    def test_a_program_that_cannot_be_executed_is_told(self):
        rank = self.folder / "libexec/paceline-rank"
        rank.write_text("#!/absent/interpreter\n")
        result = self.call("train", "r.yaml", "--detach", "--run-dir", "mine")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr.splitlines()[-1], "^paceline: error: cannot execute .*/libexec/paceline-rank: No such file")

    def test_whoever_starts_it_may_ignore_sigchld(self):
        for words, code in ((("fail", 0), 3), ((), 0)):
            process = self.begin(*words, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            _, stderr = process.communicate(timeout=WAIT_SECONDS)
            self.assertEqual(process.returncode, code, stderr)

    def test_a_disk_that_takes_no_record_is_told(self):
        def limit(size):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        process = self.begin("--run-dir", "mine", "wait", preexec_fn=lambda: limit(0))
        stdout, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual((process.returncode, stdout), (5, ""), stderr)
        self.assertRegex(stderr, r"^paceline: error: cannot write .*launcher\.json.*: File too large\n$")
        self.assertFalse((self.folder / "ready0").exists())

    def test_a_log_that_takes_no_more_does_not_hide_the_exit_code(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        (self.folder / "mine").mkdir()
        (self.folder / "mine/launcher.log").write_text("x" * 599 + "\n")
        process = self.begin("--run-dir", "mine", "fail", 0, preexec_fn=limit)
        _, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 3, stderr)
        self.assertEqual(stderr.splitlines()[-1], "(nothing)")

    # How the wait ends.

    def test_a_signal_ends_the_wait_alone(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number.name):
                run = number.name
                process = self.begin("--run-dir", run, "slow", start_new_session=True)
                pid = self.pid_of(run)
                self.wait_for_files("started0")
                os.killpg(process.pid, number)  # as a terminal does
                stdout, stderr = process.communicate(timeout=WAIT_SECONDS)
                self.assertEqual(process.returncode, 128 + number, stderr)
                self.assertRegex(stderr, f"^paceline: no longer waiting; {run} goes on in the background\n  follow it:  ")
                self.assertTrue(is_running(pid))
                (self.folder / "go0").touch()
                self.wait_for_files("ready0")
                self.assertIn("exit code 143", self.call("stop", run).stdout)
                for name in ("go0", "started0", "ready0"):
                    (self.folder / name).unlink()

    def test_a_signal_at_any_moment_of_the_start_leaves_a_run_or_nothing(self):
        for delay_ms in range(0, 60, 3):
            run = f"after-{delay_ms}"
            process = self.begin("--run-dir", run, "slow", start_new_session=True)
            time.sleep(delay_ms / 1000)
            os.killpg(process.pid, signal.SIGINT)
            _, stderr = process.communicate(timeout=WAIT_SECONDS)
            if process.returncode == -signal.SIGINT:  # before there was a run
                self.assertFalse((self.folder / run / "launcher.json").exists())
                continue
            self.assertEqual(process.returncode, 130, stderr)
            self.assertIn("goes on in the background", stderr)
            self.assertTrue(is_running(self.pid_of(run)))
            self.assertEqual(self.call("stop", run).returncode, 0)

    def test_a_run_outlives_who_waits_for_it(self):
        process = self.begin("--run-dir", "mine", "slow")
        pid = self.pid_of("mine")
        process.kill()
        process.communicate(timeout=WAIT_SECONDS)
        (self.folder / "go0").touch()
        self.wait_for_files("ready0")
        self.assertTrue(is_running(pid))
        self.call("stop", "mine")

    def test_a_terminal_shows_how_long_it_takes(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = self.begin("--run-dir", "mine", "slow", stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.pid_of("mine")
        text = ""
        while not re.search(r"\d s  argv train", text):
            text += os.read(ours, 65536).decode()
        (self.folder / "go0").touch()
        self.assertEqual(process.wait(WAIT_SECONDS), 0)
        while "paceline stop mine" not in text:
            text += os.read(ours, 65536).decode()
        self.assertRegex(text, r"\r\x1b\[2Kpaceline: mine began training")
        self.call("stop", "mine")

    # Which directory.

    def test_the_rank_program_names_the_directory(self):
        stdout, _ = self.detach("name=/proc/../" + str(self.folder)[1:] + "/else where/big-20260131-174500", "wait")
        run = self.folder / "else where/big-20260131-174500"
        self.assertTrue((run / "launcher.json").exists())
        self.assertIn("else where/big-20260131-174500 began", stdout)
        self.call("stop", run)
        self.assertIn(f"--run-dir", (run / "launcher.log").read_text())

    def test_a_recipe_that_is_refused_is_told_once_and_makes_nothing(self):
        before = set(self.folder.iterdir())
        result = self.call("train", "r.yaml", "--detach", "wrong")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", "paceline: error: tiny.yaml:1: unknown key\n"))
        self.assertEqual(set(self.folder.iterdir()), before)

    def test_runs_that_start_in_one_second_get_their_own_directories(self):
        started = [self.begin("wait") for _ in range(4)]
        for process in started:
            _, stderr = process.communicate(timeout=WAIT_SECONDS)
            self.assertEqual(process.returncode, 0, stderr)
        runs = sorted(path.name for path in (self.folder / "runs").iterdir())
        name = "tiny-20260131-174500"
        self.assertEqual(runs, [name, f"{name}-2", f"{name}-3", f"{name}-4"])
        for run in runs:
            self.assertEqual(self.call("stop", self.folder / "runs" / run).returncode, 0)

    def test_a_directory_takes_one_run_at_a_time(self):
        started = [self.begin("--run-dir", "mine", "wait") for _ in range(4)]
        words = [process.communicate(timeout=WAIT_SECONDS)[1] for process in started]
        self.assertEqual(sorted(process.returncode for process in started), [0, 2, 2, 2], words)
        self.assertEqual(sum("in use by a live run" in text for text in words), 3)
        self.assertIn("exit code 143", self.call("stop", "mine").stdout)
        self.assertEqual((self.folder / "mine/launcher.log").read_text().count("argv"), 1)

    def test_each_machine_waits_for_its_own_ranks(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        machines = ["--nnodes", 2, "--rdzv", f"127.0.0.1:{port}"]
        refused = self.call("train", "r.yaml", "--detach", *machines, "--node-rank", 0)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--detach on several machines needs --run-dir, the same on each", refused.stderr)
        started = [self.begin("--run-dir", "mine", *machines, "--node-rank", node, "slow") for node in range(2)]
        self.wait_for_files("started0", "started1")
        (self.folder / "go1").touch()
        stdout, _ = started[1].communicate(timeout=WAIT_SECONDS)
        self.assertIn("mine began training (step 1 after", stdout)
        self.assertIsNone(started[0].poll())
        (self.folder / "go0").touch()
        self.assertEqual(started[0].wait(WAIT_SECONDS), 0)
        for name in ("launcher", "launcher_node_1"):
            record = json.loads((self.folder / f"mine/{name}.json").read_text())
            self.kill(record["pid"])


if __name__ == "__main__":
    unittest.main()
