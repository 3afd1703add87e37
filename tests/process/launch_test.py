"""The launcher `paceline` with real processes: what ranks are given, how they end.

paceline-rank is replaced by small Python programs, so that each case takes a fraction of a second.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from processes import is_running

BUILD = pathlib.Path(os.environ.get("PACELINE_BUILD", pathlib.Path(__file__).parents[2] / "build"))
SOURCE = pathlib.Path(__file__).parents[2]
PACELINE = BUILD / "bin/paceline"
WAIT_SECONDS = 60  # an upper bound for a loaded machine; nothing is timed
LAUNCH_VARIABLES = re.compile(r"(RANK|WORLD_SIZE|LOCAL_.*|GROUP_.*|ROLE_.*|NODE_RANK|MASTER_.*|TORCHELASTIC_.*"
                              r"|PACELINE_RUN_ID|OMP_.*|SLURM_.*|PMI_.*|OMPI_.*|CUDA_VISIBLE_DEVICES)$")


def clean_environment(**variables):
    environment = {name: value for name, value in os.environ.items() if not LAUNCH_VARIABLES.match(name)}
    return {**environment, **{name: str(value) for name, value in variables.items()}}


def python(code):
    """A program that runs `code` with what the cases need; ranks tell each other how far they are by files."""
    return [sys.executable, "-c", textwrap.dedent("""\
        import os, signal, sys, time
        rank = os.environ.get('RANK')
        def tell(name):
            open(name, 'w').close()
        def wait_for(*names):
            while not all(map(os.path.exists, names)):
                time.sleep(0.01)
        """) + textwrap.dedent(code)]


def wait_until(condition, what):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.02)


def has_pending(pid, number):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(bits, 16) >> (number - 1) & 1 for bits in re.findall(r"^(?:SigPnd|ShdPnd):\t(\w+)", text, re.MULTILINE))


class LauncherCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_paceline(self, *arguments, program=PACELINE, **variables):
        return subprocess.run([program, *map(str, arguments)], env=clean_environment(**variables), cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAIT_SECONDS)

    def launch(self, nproc, code, *options, **variables):
        return self.run_paceline("launch", "--nproc", nproc, *options, "--", *python(code), **variables)

    def start(self, nproc, code, *options, **variables):
        """Starts ranks in the background; each must print "ready". Returns the launcher and the ranks' pids."""
        process = subprocess.Popen([PACELINE, "launch", "--nproc", str(nproc), *options, "--",
                                    *python("print('pid', os.getpid(), flush=True)\n" + textwrap.dedent(code))],
                                   env=clean_environment(**variables), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.end, process)
        pids, ready = {}, 0
        while ready < nproc:
            line = process.stdout.readline()
            self.assertTrue(line, "the ranks ended before they were ready: " + (process.stderr.read() if not line else ""))
            if found := re.search(r"^(?:\[rank (\d+)\] )?pid (\d+)$", line):
                pids[int(found[1] or 0)] = int(found[2])
            ready += line.rstrip().endswith("ready")
        return process, pids

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()


class LaunchTest(LauncherCase):
    # What a rank is given.

    def test_environment_of_each_rank(self):
        result = self.launch(2, """
            names = ['RANK', 'LOCAL_RANK', 'WORLD_SIZE', 'LOCAL_WORLD_SIZE', 'GROUP_RANK', 'GROUP_WORLD_SIZE',
                     'ROLE_RANK', 'ROLE_WORLD_SIZE', 'ROLE_NAME', 'MASTER_ADDR', 'TORCHELASTIC_RUN_ID',
                     'TORCHELASTIC_RESTART_COUNT', 'TORCHELASTIC_MAX_RESTARTS', 'OMP_WAIT_POLICY']
            print('contract', *[os.environ[name] for name in names])
            print('shared', os.environ['MASTER_PORT'], os.environ['PACELINE_RUN_ID'], os.environ['OMP_NUM_THREADS'])
            """)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = sorted(result.stdout.splitlines())
        self.assertEqual(lines[0], "[rank 0] contract 0 0 2 2 0 1 0 2 default 127.0.0.1 none 0 0 passive")
        self.assertEqual(lines[2], "[rank 1] contract 1 1 2 2 0 1 1 2 default 127.0.0.1 none 0 0 passive")
        shared = {line.split("] ")[1] for line in (lines[1], lines[3])}
        self.assertEqual(len(shared), 1, shared)
        _, port, run_id, threads = shared.pop().split()
        self.assertTrue(0 < int(port) < 65536)
        self.assertRegex(run_id, r"^[0-9a-f]{32}$")
        self.assertLessEqual(int(threads) * 2, max(2, len(os.sched_getaffinity(0))))

    def test_ranks_that_end_while_others_start(self):
        """A rank that starts holds copies of the launcher's descriptors for a moment: 1 in 20 was reaped twice."""
        for _ in range(40):
            result = subprocess.run([PACELINE, "launch", "--nproc", "2", "--", "/bin/sh", "-c", "exit $((3 + RANK))"],
                                    capture_output=True, text=True, env=clean_environment())
            self.assertIn(result.returncode, (3, 4), result.stderr)
            self.assertIn("failed first: exit code", result.stderr)

    def test_rank_0_can_serve_at_the_port_it_is_given(self):
        result = self.launch(2, """
            import socket
            if rank == '0':
                server = socket.create_server((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))
                server.accept()[0].sendall(b'hello')
            else:
                while True:
                    try:
                        peer = socket.create_connection((os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])))
                        break
                    except ConnectionRefusedError:
                        time.sleep(0.01)
                print(peer.recv(5).decode())
            """)
        self.assertEqual((result.returncode, result.stdout), (0, "[rank 1] hello\n"), result.stderr)

    def test_users_thread_settings_stay(self):
        result = self.launch(2, "print(os.environ['OMP_NUM_THREADS'])", OMP_NUM_THREADS=7)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[rank 0] 7", "[rank 1] 7"])

    def test_torchruns_spellings_of_several_nodes(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        result = self.run_paceline("launch", "--nproc_per_node=2", "--nnodes", 2, "--node_rank", 1, "--master_addr",
                                   "10.0.0.1", "--master-port", port, "--", *python("""
            print(rank, os.environ['WORLD_SIZE'], os.environ['MASTER_ADDR'], os.environ['MASTER_PORT'])"""))
        self.assertEqual(sorted(result.stdout.splitlines()),
                         [f"[rank 2] 2 4 10.0.0.1 {port}", f"[rank 3] 3 4 10.0.0.1 {port}"], result.stderr)

    def test_one_rank_takes_the_launchers_place(self):
        process = subprocess.Popen([PACELINE, "launch", "--", *python("print(os.getpid(), rank)")],
                                   env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stdout, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual((stdout, stderr), (f"{process.pid} 0\n", ""))

    def test_under_torchrun_srun_and_mpirun_it_is_one_rank(self):
        for variables in ({"RANK": 1, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 1},
                          {"SLURM_PROCID": 1, "SLURM_NTASKS": 2, "SLURM_LOCALID": 1, "SLURM_STEP_ID": 0},
                          {"OMPI_COMM_WORLD_RANK": 1, "OMPI_COMM_WORLD_SIZE": 2, "OMPI_COMM_WORLD_LOCAL_RANK": 1,
                           "OMPI_COMM_WORLD_LOCAL_SIZE": 2}):
            with self.subTest(variables=variables):
                process = subprocess.Popen([PACELINE, "launch", "--", *python("print(os.getpid(), rank)")],
                                           env=clean_environment(**variables), stdout=subprocess.PIPE, text=True)
                stdout, _ = process.communicate(timeout=WAIT_SECONDS)
                self.assertEqual(stdout, f"{process.pid} {variables.get('RANK')}\n")
                refused = self.launch(4, "print('never')", **variables)
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn("rank 1 of 2", refused.stderr)

    # Output.

    def test_lines_stay_whole_and_are_prefixed(self):
        result = self.launch(3, """
            for number in range(200):
                stream = (sys.stdout, sys.stderr)[number % 2]
                for piece in ('<', rank * 50, '>', '\\n'):
                    stream.write(piece)
                    stream.flush()
            sys.stdout.write('no newline at the end')
            """)
        self.assertEqual(result.returncode, 0, result.stderr)
        for output, extra in ((result.stdout, 3), (result.stderr, 1)):
            lines = output.splitlines()
            self.assertEqual(len(lines), 300 + extra)
            for line in lines:
                self.assertRegex(line, r"^(\[rank (\d)\] (<\2{50}>|no newline at the end)|paceline: 3 ranks .*)$")

    def test_per_rank_log_files(self):
        result = self.launch(2, "print('out', rank); print('err', rank, file=sys.stderr)", "--log-dir", "logs/here")
        self.assertEqual(result.returncode, 0, result.stderr)
        for rank in range(2):
            lines = (self.folder / f"logs/here/rank_000{rank}.log").read_text().splitlines()
            self.assertEqual(sorted(lines), [f"err {rank}", f"out {rank}"])

    def test_a_reader_that_leaves_does_not_stop_the_ranks(self):
        process, _ = self.start(2, """
            print('ready', flush=True)
            for number in range(20000):
                print('x' * 100)
            open(f'done{rank}', 'w')
            """)
        process.stdout.close()
        self.assertEqual(process.wait(WAIT_SECONDS), 0)
        self.assertTrue((self.folder / "done0").exists() and (self.folder / "done1").exists())
        process.stdout = open(os.devnull)  # for the clean-up

    def test_rank_0_keeps_the_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([PACELINE, "launch", "--nproc", "2", "--",
                                    *python("os.write(1, f'{rank} {os.isatty(1)} {os.isatty(2)}\\n'.encode())")],
                                   env=clean_environment(), stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.assertEqual(process.wait(WAIT_SECONDS), 0)
        text = ""
        with contextlib.suppress(OSError):  # how a terminal ends that nobody holds open
            while True:
                text += os.read(ours, 65536).decode()
        self.assertIn("\n0 True True\r\n", text)
        self.assertIn("\n[rank 1] 1 False False\r\n", text)

    # Failures.

    def test_first_failures_code_and_last_words(self):
        result = self.launch(3, """
            if rank != '1':
                time.sleep(600)
            for number in range(30):
                print('step', number)
            print('the reason', file=sys.stderr)
            sys.exit(3)
            """)
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, r"paceline: rank 1 failed first: exit code 3, pid \d+\n")
        report = [line for line in result.stderr.splitlines() if line.startswith("  | ")]
        self.assertEqual(len(report), 20)
        self.assertIn("  | step 29", report)
        self.assertIn("  | the reason", report)
        self.assertNotIn("  | step 5", report)

    def test_the_words_that_a_rank_leaves_come_last(self):
        for log_dir in ((), ("--log-dir", self.folder / "logs")):
            for _ in range(2):  # what an earlier start left is not told again
                result = self.launch(3, """
                    import json
                    if rank == '1':
                        with open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w') as file:
                            json.dump({'message': {'message': 'the cause\\nand the cure', 'extraInfo': None}}, file)
                        sys.exit(3)
                    print('a consequence', file=sys.stderr)
                    sys.exit(4)
                    """, *log_dir)
                self.assertEqual(result.returncode, 3)
                self.assertEqual(result.stderr.splitlines()[-2:], ["  | the cause", "  | and the cure"])
            result = self.launch(2, "sys.exit(5) if rank == '1' else time.sleep(600)", *log_dir)
            self.assertNotIn("the cause", result.stderr)

    def test_without_a_temporary_folder_ranks_are_told_by_their_output(self):
        result = self.launch(2, "print('the reason', file=sys.stderr)\nsys.exit(3)", TMPDIR="/absent")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.splitlines()[-1], "  | the reason")

    def test_a_killed_rank(self):
        result = self.launch(2, """
            if rank == '0':
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(600)
            """)
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        self.assertIn("rank 0 failed first: killed by SIGKILL (signal 9)", result.stderr)

    def test_whoever_starts_us_may_ignore_sigchld(self):
        def ignoring(*command):
            return subprocess.run(list(map(str, command)), env=clean_environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=WAIT_SECONDS,
                                  preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        for _ in range(5):  # the kernel may be quicker than the launcher, or not
            result = ignoring(PACELINE, "launch", "--nproc", 2, "--", *python("sys.exit(3)"))
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertNotIn("pidfd", result.stderr)
        # A rank's own children are its own to reap.
        result = ignoring(PACELINE, "launch", "--nproc", 2, "--", *python("""
            import subprocess
            sys.exit(subprocess.run(['false']).returncode)
            """))
        self.assertEqual(result.returncode, 1, result.stderr)

    def test_a_rank_that_lost_its_peer_is_not_blamed(self):
        result = self.launch(2, """
            if rank == '0':
                wait_for('here')
                sys.exit(4)
            tell('here')
            time.sleep(0.1)
            sys.exit(3)
            """)
        self.assertEqual(result.returncode, 3)
        self.assertIn("rank 1 failed first", result.stderr)

    def test_a_wrong_recipe_is_told_once(self):
        result = self.launch(3, """
            if rank == '0':
                tell('here')
                time.sleep(0.1)
                print('recipe.yaml:3: unknown key', file=sys.stderr)
            wait_for('here')
            sys.exit(2)
            """)
        self.assertEqual(result.returncode, 2)
        self.assertIn("[rank 0] recipe.yaml:3: unknown key", result.stderr)
        self.assertNotIn("failed first", result.stderr)

    def test_others_are_asked_first_and_killed_after_the_grace_period(self):
        result = self.launch(3, """
            if rank == '0':
                wait_for('here1', 'here2')
                sys.exit(7)
            signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True) or (rank == '1' and sys.exit(0)))
            tell('here' + rank)
            while True:
                time.sleep(600)
            """, "--grace", "3")
        self.assertEqual(result.returncode, 7)
        self.assertIn("[rank 1] asked\n", result.stdout)
        self.assertIn("[rank 2] asked\n", result.stdout)
        self.assertIn("killed", result.stderr)

    def test_others_are_told_how_much_time_a_failure_leaves_them(self):
        result = self.launch(2, """
            import ctypes
            if rank == '0':
                wait_for('here')
                sys.exit(7)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            tell('here')
            signals = ctypes.create_string_buffer(128)
            signals[1] = 0x40  # SIGTERM's bit
            info = (ctypes.c_int * 32)()
            ctypes.CDLL(None).sigwaitinfo(signals, info)
            print(f'{info[6]} ms', flush=True)  # si_value
            """, "--grace", "3")
        self.assertEqual(result.returncode, 7)
        self.assertIn("[rank 1] 3000 ms\n", result.stdout)

    def test_helpers_of_a_failed_rank_are_killed(self):
        result = self.launch(2, """
            import subprocess
            helper = subprocess.Popen(['sleep', '600'])
            print('helper', helper.pid, flush=True)
            if rank == '1':
                sys.exit(3)
            time.sleep(600)
            """)
        self.assertEqual(result.returncode, 3)
        helpers = [int(pid) for pid in re.findall(r"helper (\d+)", result.stdout)]
        self.assertEqual(len(helpers), 2)
        for pid in helpers:
            wait_until(lambda: not is_running(pid), f"helper {pid} is gone")

    def test_no_rank_survives_the_launcher(self):
        process, pids = self.start(2, """
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            print('ready', flush=True)
            time.sleep(600)
            """)
        self.assertTrue(all(map(is_running, pids.values())))
        process.kill()
        process.wait(WAIT_SECONDS)
        for pid in pids.values():
            wait_until(lambda: not is_running(pid), f"rank {pid} is gone")

    # Signals.

    def test_signals_reach_each_rank_once_and_the_ranks_decide(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(signal=number.name):
                process, _ = self.start(2, f"""
                    got = []
                    signal.signal({int(number)}, lambda *_: got.append(1))
                    print('ready', flush=True)
                    while not got:
                        time.sleep(0.01)
                    time.sleep(0.2)
                    print('got', len(got))
                    sys.exit({code})
                    """)
                # To the whole group, as a terminal does; the ranks are in groups of their own.
                os.killpg(process.pid, number)
                stdout, stderr = process.communicate(timeout=WAIT_SECONDS)
                self.assertEqual(process.returncode, code, stderr)
                self.assertEqual(sorted(stdout.splitlines()), ["[rank 0] got 1", "[rank 1] got 1"])
                self.assertNotIn("failed", stderr)

    def test_ranks_without_a_handler_end_by_the_signal(self):
        process, _ = self.start(2, "signal.signal(signal.SIGINT, signal.SIG_DFL); print('ready', flush=True); time.sleep(600)")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 130)

    def test_a_second_ctrl_c_kills(self):
        process, pids = self.start(2, """
            signal.signal(signal.SIGINT, lambda *_: print('first', flush=True))
            print('ready', flush=True)
            while True:
                time.sleep(600)
            """)
        process.send_signal(signal.SIGINT)
        for _ in range(2):
            self.assertIn("first", process.stdout.readline())
        time.sleep(0.3)  # a key pressed once must not count twice
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(any(map(is_running, pids.values())))

    def test_ranks_that_ignore_a_signal_are_killed_after_the_grace_period(self):
        process, pids = self.start(2, """
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print('ready', flush=True)
            time.sleep(600)
            """, "--grace", "0.5")
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 143, stderr)
        self.assertIn("ranks that have not stopped in time are killed", stderr)
        self.assertFalse(any(map(is_running, pids.values())))

    def test_slurms_warning_stops_ranks_in_their_own_time(self):
        code = """
            got = []
            for number in (signal.SIGUSR1, signal.SIGUSR2):
                signal.signal(number, lambda number, _: got.append(number))
            print('ready', flush=True)
            while not got:
                time.sleep(0.01)
            time.sleep(1.5 if rank == '1' else 0)
            sys.exit(128 + got[0])
            """
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            process, _ = self.start(2, code, "--grace", "60", SLURM_JOB_ID=1)
            process.send_signal(number)
            _, stderr = process.communicate(timeout=WAIT_SECONDS)
            self.assertEqual((process.returncode, stderr.count("failed")), (128 + number, 0), stderr)

    def test_a_failure_while_stopping_is_reported(self):
        process, _ = self.start(2, """
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(5 if rank == '1' else 143))
            print('ready', flush=True)
            while True:
                time.sleep(600)
            """)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=WAIT_SECONDS)
        self.assertEqual(process.returncode, 5)
        self.assertIn("rank 1 failed first: exit code 5", stderr)

    # Wrong input.

    def test_wrong_options(self):
        for arguments, text in ((["--nproc", "0"], "--nproc must be the number of ranks"),
                                (["--nproc", "-3"], "\"-3\""), (["--nproc", "two"], "\"two\""),
                                (["--nporc", "2"], "did you mean --nproc?"),
                                (["--nnodes", "2"], "--node-rank"), (["--rdzv", "host:port"], "port"),
                                (["--rdzv", "[::1]29400"], "[::1]29400"),
                                (["--nproc", "65536", "--nnodes", "65536", "--node-rank", "0"], "4294967296 ranks")):
            result = self.run_paceline("launch", *arguments, "--", "true")
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_wrong_programs(self):
        for arguments in (["--nproc", "2", "true"], ["--nproc", "2", "--"], ["--", "no-such-program"], ["--", "/etc"]):
            result = self.run_paceline("launch", *arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertTrue(result.stderr.startswith("paceline: error: "), result.stderr)

    def test_a_world_size_that_does_not_match(self):
        result = self.launch(2, "print('never')", WORLD_SIZE=3)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("WORLD_SIZE=3 in the environment does not match 1 node x 2 ranks = 2 ranks", result.stderr)

    def test_the_bare_environment_of_several_nodes(self):
        result = self.launch(2, "print(rank, os.environ['WORLD_SIZE'])", MASTER_ADDR="10.0.0.1", MASTER_PORT=29501,
                             NODE_RANK=2, WORLD_SIZE=3)
        self.assertEqual(sorted(result.stdout.splitlines()), ["[rank 4] 4 6", "[rank 5] 5 6"], result.stderr)
        self.assertIn("taken for the number of nodes: 3 nodes x 2 ranks = 6 ranks", result.stderr)

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            for options, variables in ((["--rdzv", f"127.0.0.1:{port}"], {}), (["--master_port", port], {}),
                                       ([], {"MASTER_PORT": port})):
                result = self.launch(2, "print('never')", *options, **variables)
                self.assertEqual((result.returncode, result.stdout), (4, ""))
                self.assertIn(f"port {port}", result.stderr)

    # The program itself.

    def test_the_launcher_never_loads_torch(self):
        process, _ = self.start(2, "print('ready', flush=True); time.sleep(600)")
        maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text()
        self.assertIn("/paceline", maps)
        self.assertNotRegex(maps, r"libtorch|libc10|libcuda|libnccl")

    def test_help_and_version(self):
        version = re.search(r"project\(paceline VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(self.run_paceline("--version").stdout, f"paceline {version}\n")
        text = self.run_paceline("--help").stdout
        for verb in ("train", "launch", "logs", "stop"):
            self.assertIn(f"\n  {verb} ", text)
        self.assertEqual(self.run_paceline().returncode, 2)
        self.assertIn("--nproc-per-node", self.run_paceline("launch", "--help").stdout)

    @unittest.skipUnless((BUILD / "libexec/paceline-rank").exists(), "paceline-rank is not built")
    def test_each_listed_verb_answers(self):
        verbs = re.findall(r"^  (\w+) ", self.run_paceline("--help").stdout, re.MULTILINE)
        self.assertGreater(len(verbs), 8)
        for verb in verbs:
            result = self.run_paceline(verb, "--help")
            self.assertEqual(result.returncode, 0, f"{verb}: {result.stderr}")


class InstalledCase(LauncherCase):
    """An installed tree with a stand-in for paceline-rank."""

    RANK_PROGRAM = """\
        import os, pathlib, signal, sys, time
        print('argv', *sys.argv[1:], flush=True)
        if 'deaf' in sys.argv:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            pathlib.Path('making' + os.environ['RANK']).write_text(str(os.getpid()))
            os.rename('making' + os.environ['RANK'], 'ready' + os.environ['RANK'])
            time.sleep(600)
        """

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "libexec").mkdir()
        self.program = self.folder / "bin/paceline"
        shutil.copy(PACELINE, self.program)
        rank = self.folder / "libexec/paceline-rank"
        rank.write_text(f"#!{sys.executable}\n" + textwrap.dedent(self.RANK_PROGRAM))
        rank.chmod(0o755)

    def call(self, *arguments, **variables):
        return self.run_paceline(*arguments, program=self.program, **variables)


class VerbTest(InstalledCase):
    def test_train_takes_launch_options_and_passes_the_rest(self):
        result = self.call("train", "r.yaml", "--nproc", 2, "a.b=1", "--resume", "auto", "--run-dir", "run", "--master_addr",
                           "127.0.0.1", "--dry-run")
        self.assertEqual(result.returncode, 0, result.stderr)
        words = "argv train r.yaml a.b=1 --resume auto --run-dir run --dry-run"
        # What rank 0 of a verb of our own prints is the result: it is passed on as it is.
        self.assertEqual(sorted(result.stdout.splitlines()), [f"[rank 1] {words}", words])
        self.assertFalse((self.folder / "run").exists(), "a dry run writes nothing")
        self.call("train", "r.yaml", "--nproc", 2, "--run-dir", "run")
        self.assertEqual((self.folder / "run/logs/rank_0001.log").read_text(), "argv train r.yaml --run-dir run\n")

    def test_other_verbs_are_the_rank_programs(self):
        self.assertEqual(self.call("config", "show", "--nproc", "3").stdout, "argv config show --nproc 3\n")
        self.assertEqual(self.call("train", "--nproc", "2", "--help").stdout, "argv train --help\n")

    def test_a_missing_rank_program_is_named(self):
        (self.folder / "libexec/paceline-rank").unlink()
        result = self.call("info")
        self.assertEqual(result.returncode, 70)
        self.assertIn("libexec/paceline-rank", result.stderr)

    def test_a_run_directory_that_cannot_be_made(self):
        (self.folder / "file").touch()
        result = self.call("train", "r.yaml", "--nproc", 2, "--run-dir", "file/run")
        self.assertEqual(result.returncode, 5)
        self.assertIn("file/run", result.stderr)

    def test_a_path_that_is_too_long_or_goes_in_a_circle(self):
        (self.folder / "loop").symlink_to(self.folder / "loop")
        for path, reason in (("x" * 300, "File name too long"), ("loop", "Too many levels of symbolic links")):
            for arguments in (("--nproc", 2, "--run-dir", path), ("--detach", "--run-dir", path)):
                result = self.call("train", "r.yaml", *arguments)
                self.assertEqual(result.returncode, 5, result.stderr)
                self.assertIn(reason, result.stderr)
                self.assertNotIn("internal", result.stderr)

    def test_bench_scaling_kills_what_does_not_stop(self):
        for grace, num_interrupts in ((600, 2), (0, 1)):
            ready = self.folder / "ready0"
            process = subprocess.Popen([self.program, "bench", "scaling", "deaf", "--nproc", "1"], cwd=self.folder,
                                       env=clean_environment(TMPDIR=self.folder, PACELINE_GRACE=grace),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(self.end, process)
            wait_until(ready.exists, "the rank is ready")
            rank = int(ready.read_text())
            ready.unlink()
            process.send_signal(signal.SIGINT)
            for _ in range(num_interrupts - 1):
                wait_until(lambda: not has_pending(process.pid, signal.SIGINT), "the first Ctrl-C is taken")
                self.assertIsNone(process.poll())
                process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=WAIT_SECONDS)
            self.assertEqual(process.returncode, 130, stderr)
            self.assertFalse(is_running(rank))
            self.assertEqual(list(self.folder.glob("paceline-scaling*")), [])


if __name__ == "__main__":
    unittest.main()
