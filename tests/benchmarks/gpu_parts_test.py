"""benchmarks/gpu: what the kit's scripts say of a machine with GPUs, by a driver that is made up."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "gpu"), str(ROOT / "benchmarks")]

import machine  # noqa: E402
import parts  # noqa: E402
import runs  # noqa: E402
import speed  # noqa: E402

# Two GPUs; answers each field that is asked for.
NVIDIA_SMI = """#!/usr/bin/env python3
import sys
values = {"driver_version": "580.95.05", "clocks.sm": "1905", "clocks.mem": "2619", "utilization.gpu": "99",
          "power.draw": "[N/A]", "temperature.gpu": "61", "clocks.max.sm": "1980", "clocks.max.mem": "2619",
          "power.limit": "700.00", "persistence_mode": "Enabled"}
fields = sys.argv[1].split("=")[1].split(",")
for gpu in range(2):
    print(", ".join(values[field] for field in fields))
"""


def torch_of(**changes):
    return {"version": "2.11.0+cu130", "lib": "/none", "cuda": "13.0", "gpus": ["GPU A"] * 2, "memory_bytes": [80 * 2**30] * 2} | changes


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
                               ({"gpus": []}, "sees no GPU")):
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
                      '<skipped message="a.cpp:1&#x0A;this process sees one GPU&#x0A;"/>'):
            test = ElementTree.fromstring(f'<testcase name="Case" classname="Suite">{inner}</testcase>')
            parts.add_test(self.rows, test)
        self.assertEqual(self.results(), ["passed", "measured", "failed", "not run"])
        self.assertEqual(self.rows.rows[1]["value"], 1.5)
        self.assertEqual(self.rows.rows[3]["why"], "this process sees one GPU")

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
        peers = {peer: 25_557_032 for peer in speed.PEERS}
        speed.add_rows(self.rows, "ResNet-50", figures, [0.01] * 5, peers, {})
        by_name = {row["name"]: row for row in self.rows.rows}
        self.assertIn("won", by_name["ResNet-50: step of paceline / PyTorch eager"]["why"])
        self.assertIn("draw", by_name["ResNet-50: step of paceline / torch.compile"]["why"])

    def test_small_gpus_get_small_batches(self):
        kit = FakeKit(1)
        self.assertEqual([contest.batch for contest in speed.contests(kit)], [128, 256])
        kit.torch = torch_of(memory_bytes=[16 * 2**30])
        self.assertEqual([contest.batch for contest in speed.contests(kit)], [32, 64])


if __name__ == "__main__":
    unittest.main()
