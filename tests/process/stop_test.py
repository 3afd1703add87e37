"""Signals, kills and strangers while ranks start, wait for each other and train; real processes."""

import os
import pathlib
import random
import re
import signal
import socket
import time
import unittest

from paceline_process import (TIMEOUT_S, RunTest, checkpoints, environment, kill, read_metrics, start, wait_until)
from processes import children

NUM_CONNECTIONS = int(os.environ.get("PACELINE_NUM_CONNECTIONS", "300"))
ENDLESS = ["train.duration=1000000ba", "train.eval_every=1000000ba", "checkpoint.every=1000000ba"]


def free_port():
    """None of those that the kernel gives to outgoing connections, one of which might take it meanwhile."""
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(10_000, 30_000))) as server:
                return server.getsockname()[1]
        except OSError:
            continue


def watches_signals(pid):
    """Whether the program blocks SIGTERM, which its watching thread then takes."""
    try:
        blocked = re.search(r"SigBlk:\t(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]
    except OSError:
        return False
    return bool(int(blocked, 16) >> (signal.SIGTERM - 1) & 1)


def processes_of(run):
    """Those that were started for a run directory. What ranks share lies in a memfd, which ends with them."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended meanwhile
        if str(run).encode() in words:
            found.append(int(entry))
    return found


def segments():
    return {name for name in os.listdir("/dev/shm") if name.startswith("paceline")}


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def listening_ports(pid):
    """TCP ports on which this process accepts connections."""
    def link(entry):
        try:
            return os.readlink(f"/proc/{pid}/fd/{entry}")
        except OSError:  # closed meanwhile
            return None
    try:
        own = {link(entry) for entry in os.listdir(f"/proc/{pid}/fd")}
        tables = [pathlib.Path(f"/proc/{pid}/net/{table}").read_text() for table in ("tcp", "tcp6")]
    except OSError:  # the process has ended
        return set()
    ports = set()
    for line in (line for table in tables for line in table.splitlines()[1:]):
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
            ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def visit(port, draw):
    """A stranger who says nothing, garbage, or the store's own first word and then garbage, and leaves."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
            greeting = draw.choice((None, b"", b"\x00\x3c\x85\xf7\x22"))
            if greeting is not None:
                stranger.sendall(greeting + draw.randbytes(draw.randrange(1, 200)))
    except OSError:
        pass  # closed, or gone by now


class StopTest(RunTest):
    def setUp(self):
        self.recipe = self.write_recipe()
        self.started = []

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                kill(process)

    def begin(self, *arguments, env=None):
        process = start("train", self.recipe, *arguments, cwd=self.root, env=env)
        self.started.append(process)
        return process

    def begin_training(self, name, *arguments, env=None):
        """Two ranks in the middle of training: the launcher, the ranks by number, the run."""
        run = self.run_directory(name)
        process = self.begin("--nproc", 2, "--run-dir", run, *ENDLESS, *arguments, env=env)
        metrics = run / "metrics.jsonl"
        wait_until(lambda: process.poll() is not None or (metrics.exists() and metrics.read_text().count("train/loss") > 2),
                   "training")
        self.assertIsNone(process.poll(), process.poll() is not None and process.stdout.read())
        ranks = {self.rank_of(pid): pid for pid in children(process.pid)}
        return process, ranks, run

    def wait_for_steps(self, process, run):
        def logged():
            return (run / "metrics.jsonl").read_text().count("train/loss")
        seen = logged()
        wait_until(lambda: process.poll() is not None or logged() > seen, "more steps")

    def rank_of(self, pid):
        variables = pathlib.Path(f"/proc/{pid}/environ").read_text().split("\0")
        return int(next(entry.split("=")[1] for entry in variables if entry.startswith("RANK=")))

    def end(self, process, number=None):
        """Sends a signal and returns the exit code and the words; an unbounded wait fails."""
        if number is not None:
            process.send_signal(number)
        words, _ = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, words

    def test_a_signal_ends_the_meeting(self):
        for rank, number in ((0, signal.SIGTERM), (1, signal.SIGINT), (1, signal.SIGTERM)):
            with self.subTest(rank=rank, signal=number.name):
                process = self.begin(env=environment(RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=2,
                                                     MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port()))
                wait_until(lambda: watches_signals(process.pid), "the watcher")
                code, words = self.end(process, number)
                self.assertEqual(code, 128 + number, words)
                self.assertIn(f"stopped by {number.name} while waiting for the other ranks", words)

    def test_a_signal_ends_the_wait_for_a_rank_that_never_comes(self):
        process, ranks, _ = self.begin_training("stuck", "--grace", 5)
        os.kill(ranks[1], signal.SIGSTOP)
        time.sleep(1)  # rank 0 waits by now; if not, it will
        begin = time.monotonic()
        code, words = self.end(process, signal.SIGTERM)
        self.assertEqual(code, 143, words)
        self.assertIn("stopped by SIGTERM while waiting for the other ranks in collective", words)
        self.assertLess(time.monotonic() - begin, 30, "rank 0 gives up after 4 s, rank 1 is killed after 5")

    def test_a_rank_that_was_stopped_for_a_while_changes_nothing(self):
        process, ranks, run = self.begin_training("paused")
        for rank in (1, 0):
            os.kill(ranks[rank], signal.SIGSTOP)
            time.sleep(1)
            os.kill(ranks[rank], signal.SIGCONT)
            self.wait_for_steps(process, run)
        code, words = self.end(process, signal.SIGTERM)
        self.assertEqual(code, 143, words)

    def expect_saved(self, run):
        last = max(line["step"] for line in read_metrics(run) if "train/loss" in line)
        self.assertEqual([int(path.name.removeprefix("step-")) for path in checkpoints(run)], [last])

    def test_a_signal_in_training_saves(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process, _, run = self.begin_training(f"saved-{number.name}")
            code, words = self.end(process, number)
            self.assertEqual(code, 128 + number, words)
            self.expect_saved(run)

    def test_slurms_warnings_save_and_end(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            process, _, run = self.begin_training(f"slurm-{number.name}", env=environment(SLURM_JOB_ID=7))
            code, words = self.end(process, number)
            self.assertEqual(code, 128 + number, words)
            self.assertNotIn("failed", words)
            self.expect_saved(run)

    def test_elsewhere_they_are_told_and_end_nothing(self):
        process, ranks, run = self.begin_training("no-slurm")
        process.send_signal(signal.SIGUSR2)
        self.wait_for_steps(process, run)
        code, words = self.end(process, signal.SIGTERM)
        self.assertEqual(code, 143, words)
        self.assertIn("SIGUSR2 is ignored", words)
        self.expect_saved(run)

    def test_a_kill_at_any_moment_of_the_start_leaves_nothing(self):
        draw = random.Random(13)
        run = self.run_directory("killed")
        for _ in range(5):
            process = self.begin("--nproc", 2, "--run-dir", run, "--resume", "auto", *ENDLESS)
            wait_until(lambda: len(children(process.pid)) == 2 or process.poll() is not None, "ranks")
            time.sleep(draw.uniform(0.1, 1.5))
            self.assertIsNone(process.poll(), process.poll() is not None and process.stdout.read())
            self.assertEqual(len(processes_of(run)), 3)
            process.kill()  # alone: its ranks end by themselves
            process.communicate(timeout=TIMEOUT_S)
            wait_until(lambda: not processes_of(run), "the end of the ranks")

    def test_shared_memory_never_has_a_name(self):
        """So that no kill can leave it behind, however short the moment."""
        before, run = segments(), self.run_directory("nameless")
        process = self.begin("--nproc", 2, "--run-dir", run, *ENDLESS)
        while process.poll() is None and not (run / "metrics.jsonl").exists():
            self.assertEqual(segments() - before, set())
        self.assertIsNone(process.poll())

    def test_who_connects_costs_nothing(self):
        process, ranks, _ = self.begin_training("strangers")
        ports = {rank: listening_ports(pid) for rank, pid in ranks.items()}
        self.assertEqual(ports[1], set(), "only the store accepts connections once all ranks are there")
        self.assertEqual(len(ports[0]), 1)
        before = {rank: descriptors(pid) for rank, pid in ranks.items()}
        (port,) = ports[0]
        for _ in range(NUM_CONNECTIONS):
            socket.create_connection(("127.0.0.1", port)).close()
        wait_until(lambda: all(descriptors(pid) <= before[rank] + 5 for rank, pid in ranks.items()), "closed connections")
        code, words = self.end(process, signal.SIGTERM)
        self.assertEqual(code, 143, words)

    def test_strangers_at_the_meeting_disturb_nothing(self):
        """At the store while rank 0 waits, and at whatever listens while the ranks connect."""
        port, draw, run = free_port(), random.Random(29), self.run_directory("strangers-meet")
        def rank(number):
            return self.begin("--run-dir", run, "train.duration=5ba", env=environment(
                RANK=number, WORLD_SIZE=2, LOCAL_RANK=number, LOCAL_WORLD_SIZE=2, MASTER_ADDR="127.0.0.1", MASTER_PORT=port))
        ranks = [rank(0)]
        wait_until(lambda: ranks[0].poll() is not None or port in listening_ports(ranks[0].pid), "the store")
        for _ in range(NUM_CONNECTIONS):
            visit(port, draw)
        ranks.append(rank(1))
        while any(process.poll() is None for process in ranks):
            for process in ranks:
                for listening in listening_ports(process.pid):
                    visit(listening, draw)
        for process in ranks:
            code, words = self.end(process)
            self.assertEqual(code, 0, words)
            self.assertLess(words.count("\n"), 100, words)
        self.assertEqual([line["step"] for line in read_metrics(run) if "train/loss" in line], [1, 2, 3, 4, 5])

    def test_garbage_at_the_store_disturbs_nothing(self):
        process, ranks, run = self.begin_training("garbage")
        (port,) = listening_ports(ranks[0])
        draw = random.Random(7)
        for _ in range(NUM_CONNECTIONS):
            visit(port, draw)
        self.wait_for_steps(process, run)
        code, words = self.end(process, signal.SIGTERM)
        self.assertEqual(code, 143, words)
        self.expect_saved(run)
        self.assertLess(words.count("\n"), 100, words)


if __name__ == "__main__":
    unittest.main()
