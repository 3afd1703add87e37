"""paceline bench scaling and step: what they measure, what they say, and that they leave nothing behind."""

import json
import pathlib
import signal
import tempfile
import unittest

from paceline_process import RECIPE, RunTest, environment, paceline, start, wait_until


class BenchTest(RunTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paceline-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def tearDown(self):
        self.assertEqual(list(self.scratch.iterdir()), [], "it removes what it wrote")


class Scaling(BenchTest):
    def bench(self, *arguments):
        return paceline("bench", "scaling", *arguments, cwd=self.root, env=environment(TMPDIR=self.scratch))

    def test_each_number_of_ranks_beside_independent_processes(self):
        result = self.bench(self.write_recipe(), "--nproc", "1,2", "--steps", 4, "--warm-up", 2, "--json")
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual(result.err.splitlines(), [
            "paceline: 2 ranks of 1 thread(s)", "paceline: 1 rank of 1 thread(s)",
            "paceline: 2 independent processes"], "plain lines in a pipe")
        told = json.loads(result.out)
        self.assertEqual(told["threads_per_rank"], 1)
        one, two = told["rows"]
        self.assertEqual([one["ranks"], two["ranks"]], [1, 2])
        self.assertEqual([one["samples_per_step"], two["samples_per_step"]], [12, 12], "the recipe's global batch")
        self.assertEqual(one["ceiling_samples_per_s"], one["samples_per_s"])
        self.assertAlmostEqual(two["speed_up"], two["samples_per_s"] / one["samples_per_s"])
        self.assertAlmostEqual(two["of_ceiling"], two["samples_per_s"] / two["ceiling_samples_per_s"])

    def test_a_batch_per_rank_grows_with_the_ranks(self):
        result = self.bench(self.write_recipe(), "data.global_batch_size=null", "data.batch_size_per_rank=3",
                            "--nproc=2", "--steps=3", "--warm-up=1")
        self.assertEqual(result.code, 0, str(result))
        self.assertRegex(result.out.splitlines()[-1], r"^ +1 +2 +6 ")

    def test_one_phase_is_measured(self):
        """The first, or the one that is named; what each says of durations and checkpoints does not count."""
        recipe = self.write_recipe(name="phases.yaml", text=RECIPE + """
phases:
  head:  {train: {duration: 1ep}, checkpoint: {every: 1ep}, model: {freeze: [blocks]}}
  whole: {train: {duration: 2ep}, checkpoint: {every: 2ba}, data: {global_batch_size: 6}, start_from: best}
""")
        for phase, images in (((), 12), (("--phase", "whole"), 6)):
            result = self.bench(recipe, *phase, "--nproc", 1, "--steps", 3, "--warm-up", 1, "--json")
            self.assertEqual(result.code, 0, str(result))
            self.assertEqual(json.loads(result.out)["rows"][0]["samples_per_step"], images)
        result = self.bench(recipe, "--phase", "rest", "--nproc", 1)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("--phase rest: the recipe has the phases head, whole", result.err)

    def test_bad_input_gets_one_clear_error(self):
        recipe = self.write_recipe()
        for code, text, arguments in (
                (2, "--nproc wants numbers that grow", (recipe, "--nproc", "2,1")),
                (2, "did you mean --nproc?", (recipe, "--nprc", "2")),
                (2, "wants a recipe", ()),
                (2, "wants --rdzv HOST:PORT", (recipe, "--nnodes", "1,2")),
                (2, "machines count from 0", (recipe, "--nnodes", "2", "--node-rank", "2", "--rdzv", "127.0.0.1:29541")),
                (2, "none of the other launch options", (recipe, "--detach")),
                (2, "did you mean optimizer.lr?", (recipe, "optimizer.lrr=1")),
                (3, "nowhere", (recipe, "data.path=nowhere"))):
            result = self.bench(*arguments)
            self.assertEqual(result.code, code, str(result))
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)

    def test_a_signal_ends_all_of_it(self):
        process = start("bench", "scaling", self.write_recipe(), "--nproc", 2, "--steps", 1_000_000, cwd=self.root,
                        env=environment(TMPDIR=self.scratch))
        wait_until(lambda: list(self.scratch.glob("*/ranks-1x2/metrics.jsonl")), "the first steps")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, output)


class Step(BenchTest):
    def bench(self, *arguments):
        return paceline("bench", "step", *arguments, cwd=self.root, env=environment(TMPDIR=self.scratch))

    def test_a_setting_is_measured_in_turn(self):
        result = self.bench(self.write_recipe(), "--toggle", "+algorithms.mixup", "--toggle=algorithms.mixup.alpha=1",
                            "--nproc", 2, "--rounds", 1, "--steps", 3, "--warm-up", 1, "--json")
        self.assertEqual(result.code, 0, str(result))
        toggles = "+algorithms.mixup algorithms.mixup.alpha=1"
        self.assertEqual(result.err.splitlines(), [
            f"paceline: round 1 of 1: {run} {toggles}" for run in ("without", "with", "with", "without")])
        told = json.loads(result.out)
        (first, second, third, fourth), = (round_["ms"] for round_ in told["rounds"])
        self.assertTrue(all(ms > 0 for ms in (first, second, third, fourth)), told)
        self.assertAlmostEqual(told["ms_added"]["median"], (second + third - first - fourth) / 2)

    def test_the_table_tells_what_is_added(self):
        result = self.bench(self.write_recipe(), "--toggle=train.grad_clip_norm=1", "--rounds=1", "--steps=2",
                            "--warm-up=1", "--median")
        self.assertEqual(result.code, 0, str(result))
        self.assertRegex(result.out.splitlines()[-1], r"^added +-?[0-9.]+ \(.* to .*\) ms a step$")

    def test_bad_input_gets_one_clear_error(self):
        recipe = self.write_recipe()
        for text, arguments in (
                ("--toggle KEY=VALUE", (recipe,)),
                ("wants a recipe", ("--toggle", "+algorithms.mixup")),
                ("did you mean --toggle?", (recipe, "--togle", "+algorithms.mixup")),
                ("did you mean mixup?", (recipe, "--toggle", "+algorithms.mixpu"))):
            result = self.bench(*arguments)
            self.assertEqual(result.code, 2, str(result))
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)


if __name__ == "__main__":
    unittest.main()
