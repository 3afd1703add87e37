"""benchmarks/gpu: what the kit's scripts say of a machine with GPUs, by a driver that is made up."""

import json
import os
import pathlib
import select
import signal
import sys
import tempfile
import time
import unittest
from unittest import mock
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks/gpu", "benchmarks", "tests/process")]

import cascade  # noqa: E402
import machine  # noqa: E402
import parts  # noqa: E402
import recipes  # noqa: E402
import run_part  # noqa: E402
import runs  # noqa: E402
import speed  # noqa: E402

# Two GPUs; answers each field that is asked for, of all or of some.
NVIDIA_SMI = """#!/usr/bin/env python3
import sys
known = ["GPU-0a", "GPU-1b"]
asked = [word.split("=")[1].split(",") for word in sys.argv if word.startswith("--id=")]
values = {"driver_version": "580.95.05", "clocks.sm": "1905", "clocks.mem": "2619", "utilization.gpu": "99",
          "power.draw": "[N/A]", "temperature.gpu": "61", "clocks.max.sm": "1980", "clocks.max.mem": "2619",
          "power.limit": "700.00", "persistence_mode": "Enabled"}
fields = sys.argv[1].split("=")[1].split(",")
for gpu in asked[0] if asked else known:
    print(", ".join({"uuid": gpu, **values}[field] for field in fields))
"""


def torch_of(**changes):
    return {"version": "2.11.0+cu130", "lib": "/none", "cuda": "13.0", "gpus": ["GPU A"] * 2, "memory_bytes": [80 * 2**30] * 2,
            "uuids": ["GPU-0a", "GPU-1b"], "trouble": ""} | changes


class FakeKit:
    """Stands for a kit on a machine with GPUs, where training is a formula."""

    is_cpu = False

    def __init__(self, num_gpus, losses=lambda ranks, changes: [2.0, 1.5]):
        self.num_gpus, self.losses, self.torch = num_gpus, losses, torch_of()
        self.trained = []

    def train(self, text, *overrides, name="run", ranks=1, on_gpu=True, **changes):
        self.trained.append((ranks, on_gpu, changes, overrides))
        run = runs.Run(pathlib.Path("/none"), "")
        run.losses = lambda: self.losses(ranks, changes)
        return run


class FakePeer:
    """PyTorch where nothing can be compiled."""

    def __init__(self, kit, contest, options):
        self.options = options

    def answer(self):
        if self.options:
            raise runs.PartError("no C compiler")
        return {"parameters": 10}

    def step_ms(self):
        return 4.0

    def end(self):
        pass


class Machine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-smi-")
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "nvidia-smi"
        program.write_text(NVIDIA_SMI)
        program.chmod(0o755)
        self.path = {"PATH": f"{folder.name}:{os.environ['PATH']}"}

    def test_the_driver_is_asked(self):
        with mock.patch.dict(os.environ, self.path):
            self.assertEqual(machine.driver_version(), "580.95.05")
            self.assertEqual([row["clocks.max.sm"] for row in machine.clocks()], ["1980", "1980"])
            with machine.ClockWatch() as watch:
                while not watch.samples:
                    pass
        self.assertEqual(watch.summary()["clocks.sm"], {"min": 1905, "median": 1905, "max": 1905})
        self.assertNotIn("power.draw", watch.summary(), "which this driver does not tell")

    def test_only_gpus_that_this_process_sees_are_asked_for(self):
        with mock.patch.dict(os.environ, self.path):
            self.assertEqual(machine.ask_driver(["uuid"], ["GPU-1b"]), [{"uuid": "GPU-1b"}])
            self.assertEqual(len(machine.clocks(["GPU-1b"])), 1)
            with mock.patch.object(machine.ClockWatch, "FIELDS", ["uuid", "utilization.gpu"]):
                with machine.ClockWatch(["GPU-1b", "GPU-0a"]) as watch:
                    while not watch.samples:
                        pass
        self.assertEqual(watch.samples[0]["uuid"], "GPU-1b")

    def test_without_a_driver_nothing_is_said(self):
        with mock.patch.dict(os.environ, {"PATH": "/none"}):
            self.assertEqual(machine.clocks(), [])
            with machine.ClockWatch() as watch:
                pass
        self.assertEqual(watch.summary(), {})

    def test_another_torch_is_refused(self):
        machine.check_torch(torch_of(), "2.11.0", is_cpu=False)
        machine.check_torch(torch_of(cuda=None, gpus=[]), "2.11.0", is_cpu=True)
        for changes, words in (({"version": "2.10.0"}, "linked with 2.11.0"), ({"cuda": "12.8"}, "cu130"),
                               ({"gpus": []}, "sees no GPU: look"),
                               ({"gpus": [], "trouble": "the driver is too old"}, r"no GPU \(the driver is too old\): look")):
            with self.subTest(changes):
                self.assertRaisesRegex(machine.MachineError, words, machine.check_torch, torch_of(**changes), "2.11.0", False)

    def test_an_older_c_library_is_refused(self):
        machine.require_glibc("2.17")
        self.assertRaisesRegex(machine.MachineError, "glibc 99.1", machine.require_glibc, "99.1")


class Parts(unittest.TestCase):
    def setUp(self):
        self.rows = runs.Rows()
        silence = mock.patch("builtins.print")
        silence.start()
        self.addCleanup(silence.stop)

    def results(self):
        return [row["result"] for row in self.rows.rows]

    def test_ranks_are_a_power_of_two(self):
        self.assertEqual([parts.several(FakeKit(count)) for count in (1, 2, 3, 4, 7, 8, 16)], [1, 2, 2, 4, 4, 8, 8])

    def test_equal_on_one_gpu_leaves_out_what_needs_more(self):
        kit = FakeKit(1)
        parts.equal(kit, self.rows)
        self.assertEqual(self.results(), ["passed", "passed", "not run", "not run", "not run"])
        on_gpu = [changes for _, on_gpu, changes, _ in kit.trained if on_gpu]
        self.assertEqual(on_gpu, [parts.NO_TF32] * 2)

    def test_equal_fails_on_a_loss_that_differs(self):
        parts.equal(FakeKit(2, lambda ranks, changes: [2.0, 1.5 + 1e-3 * (ranks == 2)]), self.rows)
        self.assertEqual(self.results(), ["passed", "passed", "failed", "failed", "failed"])

    def test_a_step_that_is_not_recorded_fails(self):
        kit = FakeKit(1)
        parts.graph_model(kit, self.rows, "ViT-tiny", "")
        self.assertEqual(self.results(), ["passed", "passed"])
        train = kit.train

        def refusing(*arguments, **options):
            run = train(*arguments, **options)
            run.said = "train.compile: graph has no effect: a reason\n"
            return run

        kit.train = refusing
        parts.graph_model(kit, self.rows, "ViT-tiny", "")
        self.assertEqual(self.results()[2:], ["passed", "failed"])

    def test_each_test_of_the_program_is_a_row(self):
        for inner in ('<properties><property name="waits_per_step" value="1.5"/></properties>',
                      '<failure message="a.cpp:1&#x0A;wrong" type=""/>',
                      '<skipped message="a.cpp:1&#x0A;this process sees one GPU&#x0A;"/>', '<skipped/>', '<skipped message=""/>'):
            test = ElementTree.fromstring(f'<testcase name="Case" classname="Suite">{inner}</testcase>')
            parts.add_test(self.rows, test)
        self.assertEqual(self.results(), ["passed", "measured", "failed", "not run", "not run", "not run"])
        self.assertEqual(self.rows.rows[1]["value"], 1.5)
        self.assertEqual(self.rows.rows[3]["why"], "this process sees one GPU")
        self.assertEqual(self.rows.rows[5]["why"], "it gives no reason")

    def run_fake_gpu_test(self, text):
        """Runs a group of a gpu_test that is this shell script; returns the row of its end."""
        with tempfile.TemporaryDirectory(prefix="paceline-fake-") as folder:
            program = pathlib.Path(folder) / "bin" / "gpu_test"
            program.parent.mkdir()
            program.write_text("#!/bin/bash\nxml() { echo \"<testsuites><testsuite>$1</testsuite></testsuites>\" >"
                               f'"${{2#--gtest_output=xml:}}"; }}\n{text}\n')
            program.chmod(0o755)
            with runs.Kit(pathlib.Path(folder), torch_of(), False, 1) as kit:
                parts.run_gpu_tests(kit, self.rows, "Group*")
        return self.rows.rows[-1]

    def test_how_the_program_of_the_tests_ended_is_a_row(self):
        passed = 'xml "<testcase classname=\'Suite\' name=\'Case\'/>" "$2"'
        row = self.run_fake_gpu_test(passed)
        self.assertEqual((self.results(), row["why"]), (["passed", "passed"], ""))
        for text, words in ((f"{passed}; echo broken >&2; exit 3", "ended with 3 / broken"),
                            (f"{passed}; kill -SEGV $$", "ended with -11 / no word"),
                            ("echo '[ RUN      ] Suite.Case'; echo a; echo b; echo c; kill -SEGV $$",
                             "ended with -11 / [ RUN      ] Suite.Case / a / b / c"),
                            ('xml "" "$2"', "ended with 0 / no word"), ("exit 77", "ended with 77 / no word")):
            with self.subTest(text):
                row = self.run_fake_gpu_test(text)
                self.assertEqual((row["result"], row["why"]), ("failed", words))

    def test_what_fails_is_a_row_and_the_rest_goes_on(self):
        def out_of_time():
            raise runs.OutOfTime("over")

        def broken():
            raise runs.PartError("broken")

        self.rows.attempt("a", "", out_of_time)
        self.rows.attempt("b", "", broken)
        self.assertEqual(self.results(), ["not run", "failed"])

    def test_a_run_that_fell_back_to_the_cpu_is_no_result(self):
        """The plug-in may refuse, and everything would equal the CPU's."""
        with tempfile.TemporaryDirectory(prefix="paceline-fake-") as folder:
            program = pathlib.Path(folder) / "bin" / "paceline"
            program.parent.mkdir()
            program.write_text('#!/bin/bash\nmkdir "$5"\necho "{\\"train/loss\\": 1$MORE}" >"$5/metrics.jsonl"\n'
                               'echo "warning: this run is on the CPU although its machine has 1 GPUs: a reason"\n')
            program.chmod(0o755)
            for is_cpu, on_gpu, more in ((True, True, ""), (False, False, ""), (False, True, ', "memory/allocated_bytes": 1')):
                with runs.Kit(pathlib.Path(folder), torch_of(), is_cpu, 1) as kit:
                    self.assertEqual(kit.train("", "a=b", on_gpu=on_gpu, MORE=more).losses(), [1])
            with runs.Kit(pathlib.Path(folder), torch_of(), False, 1) as kit:
                self.assertRaisesRegex(runs.PartError, "was on the CPU: .*a reason", kit.train, "", "a=b")

    def test_speed_tells_ratios_with_their_spread(self):
        figures = {"paceline": [40.0, 41, 40, 42, 40], "PyTorch eager": [50.0, 51, 50, 52, 50], "torch.compile": [40.0, 41, 41, 42, 40]}
        peers = {peer: 25_557_032 for peer in speed.Contest.peers}
        speed.add_rows(self.rows, "ResNet-50", figures, [0.01] * 5, peers, {})
        by_name = {row["name"]: row for row in self.rows.rows}
        self.assertIn("won", by_name["ResNet-50: step of paceline / PyTorch eager"]["why"])
        self.assertIn("draw", by_name["ResNet-50: step of paceline / torch.compile"]["why"])

    def test_a_peer_that_cannot_start_leaves_the_others(self):
        kit, contest = FakeKit(1), speed.Contest("Net", "net", "net", 8, 2, "sgd", 1, 1)
        with mock.patch.object(speed, "Peer", FakePeer), mock.patch.object(speed, "own_step_ms", lambda *_: (2.0, 0.01)):
            speed.contend(kit, self.rows, contest, "Net")
        by_name = {row["name"]: row for row in self.rows.rows}
        self.assertEqual(by_name["Net: step of torch.compile"]["why"], "no C compiler")
        self.assertEqual(by_name["Net: step of torch.compile"]["result"], "not run")
        self.assertEqual(by_name["Net: step of paceline / PyTorch eager"]["value"], 0.5)
        self.assertNotIn("Net: step of paceline / torch.compile", by_name)

    def test_a_peer_that_was_started_before_takes_its_turns_and_ends(self):
        kit, contest = FakeKit(1), speed.Contest("Net", "net", "net", 8, 2, "sgd", 1, 1)
        started = {"PyTorch eager": mock.Mock(answer=lambda: {"parameters": 3}, step_ms=lambda: 8.0)}
        with mock.patch.object(speed, "Peer", FakePeer), mock.patch.object(speed, "own_step_ms", lambda *_: (2.0, 0.01)):
            speed.contend(kit, self.rows, contest, "Net", started)
        self.assertIn(0.25, [row["value"] for row in self.rows.rows])
        started["PyTorch eager"].end.assert_called()

    def test_memory_of_a_cascade_must_be_as_predicted_and_fit_the_guide(self):
        for measured, results in ((4.2e9, ["passed", "passed"]), (4.7e9, ["failed", "passed"]), (15.1e9, ["failed", "failed"]),
                                  (3.5e9, ["failed", "passed"])):
            self.rows.rows.clear()
            cascade.add_memory(self.rows, "stage", measured, {"total": 4e9}, 15)
            self.assertEqual(self.results(), results, measured)
        cascade.add_memory(self.rows, "stage", 4.3e9, {"total": 4e9}, 15)
        self.assertIn("not within the goal's 5%", self.rows.rows[-2]["why"])

    def test_half_precision_must_learn_as_much(self):
        for last, results in ((1.0, ["passed", "passed"]), (1.02, ["passed", "passed"]), (1.2, ["failed", "failed"])):
            self.rows.rows.clear()
            kit = FakeKit(1)

            def train(text, *overrides, last=last, **options):
                is_half = "train.precision=fp32" not in overrides
                return mock.Mock(losses=lambda: [2.0] * 10 + [last if is_half else 1.0] * 50)

            kit.train = train
            cascade.half_precision(kit, self.rows, pathlib.Path("/none"))
            self.assertEqual(self.results(), results, last)

    def test_each_stage_of_a_cascade_is_a_phase_of_its_recipe(self):
        text = recipes.FULL_CASCADE.recipe("/volumes")
        self.assertIn("  stage3: {model: {num_stages: 3}, task: {physics_weight: 0.5}, "
                      "data: {side: 256, batch_size_per_rank: 4}}\n", text)
        self.assertIn("data:       {name: ct, path: /volumes,", text)
        self.assertEqual(recipes.folder_of_phase(2), "phases/2-stage2")

    def test_a_peer_that_ended_says_why_and_leaves_no_process(self):
        with tempfile.TemporaryDirectory(prefix="paceline-peer-") as folder:
            (pathlib.Path(folder) / "torch_step.py").write_text("raise SystemExit('no compiler')")
            with runs.Kit(pathlib.Path(folder), torch_of(), False, 1) as kit, mock.patch.object(speed, "HERE", pathlib.Path(folder)):
                peer = speed.Peer(kit, speed.contests(kit)[0], [])
                self.assertRaisesRegex(runs.PartError, "the peer failed: no compiler", peer.answer)
                peer.end()

    def test_small_gpus_get_small_batches(self):
        kit = FakeKit(1)
        self.assertEqual([contest.batch for contest in speed.contests(kit)], [128, 256])
        kit.torch = torch_of(memory_bytes=[16 * 2**30])
        self.assertEqual([contest.batch for contest in speed.contests(kit)], [32, 64])


# Starts another program, as compute-sanitizer and a launcher do. Both hold a pipe, which closes when both are gone.
STARTS_ANOTHER = """#!/bin/bash
exec 9>"$1"
sleep 1000 &
echo begun >&9
wait
"""


class Ends(unittest.TestCase):
    """What a part that is cut short leaves behind."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-ends-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.held = self.folder / "held"
        os.mkfifo(self.held)
        self.reader = os.open(self.held, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, self.reader)
        silence = mock.patch("builtins.print")
        silence.start()
        self.addCleanup(silence.stop)

    def read(self, timeout_s):
        """What came through the pipe, nothing if it is closed, None if it is open still."""
        select.select([self.reader], [], [], timeout_s)
        try:
            return os.read(self.reader, 100)
        except BlockingIOError:
            return None

    def test_a_program_that_takes_too_long_leaves_no_process(self):
        program = self.folder / "program"
        program.write_text(STARTS_ANOTHER)
        program.chmod(0o755)
        with runs.Kit(self.folder, torch_of(), False, 1) as kit, mock.patch.object(kit, "remaining_s", lambda: 1):
            self.assertRaises(runs.OutOfTime, kit.call, program, self.held)
        self.assertEqual(self.read(20), b"begun\n")
        self.assertEqual(self.read(20), b"")

    def test_a_training_is_killed_with_its_ranks(self):
        kit = mock.Mock(program="/bin/bash", folder=self.folder, environment=lambda: dict(os.environ),
                        train_arguments=lambda *_: ["-c", STARTS_ANOTHER, "launcher", self.held])
        process = runs.Kit.start_training(kit, "", name="killed", ranks=1)
        while not (said := self.read(20)):
            pass
        self.assertEqual((said, self.read(0)), (b"begun\n", None))
        runs.kill(process)
        self.assertEqual(self.read(0), b"")

    def interrupted(self, *_):
        self.started.append(True)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)

    def test_what_is_interrupted_keeps_its_rows(self):
        self.started = []

        def part(kit, rows):
            rows.add("first", 1.0, "s", "measured")
            rows.attempt("second", "", self.interrupted)

        options = mock.Mock(cpu=True, output=self.folder / "out", part="all")
        (self.folder / "kit.json").write_text('{"version": "0.1.0", "commit": "", "glibc": "2.17", "torch": "2.11.0"}')
        with mock.patch.object(run_part, "PARTS", {"one": part, "two": part}), mock.patch.object(run_part, "ROOT", self.folder), \
                mock.patch.object(machine, "probe_torch", torch_of), mock.patch.dict(os.environ, {"PATH": "/none"}):
            self.assertEqual(run_part.run_parts(options), 130)
        rows = json.loads((self.folder / "out" / "one.json").read_text())["rows"]
        self.assertEqual([(row["name"], row["result"]) for row in rows],
                         [("first", "measured"), ("the rest of this part", "not run")])
        self.assertEqual(len(self.started), 1, "part two did not begin")
        self.assertFalse((self.folder / "out" / "two.json").exists())

    def test_a_folder_that_takes_no_results_is_told_before_a_part_runs(self):
        (self.folder / "file").touch()
        self.assertRaisesRegex(machine.MachineError, "cannot write results to .*out", run_part.prepare_output,
                               self.folder / "file" / "out")

    def test_a_full_disk_keeps_the_earlier_result_and_prints_this_one(self):
        path = self.folder / "equal.json"
        path.write_text("earlier")
        full = OSError(28, "No space left on device")
        with mock.patch.object(pathlib.Path, "write_text", side_effect=full), mock.patch.object(run_part, "say") as said:
            self.assertRaisesRegex(machine.MachineError, "No space left", run_part.write_result, path, {"part": "equal"})
        self.assertEqual(path.read_text(), "earlier")
        self.assertIn('"part": "equal"', said.call_args[0][0])


if __name__ == "__main__":
    unittest.main()
