"""What a resume goes on from, what it refuses, and that nothing which someone may still need is lost by it."""

import hashlib
import re
import shutil
import signal
import unittest

from paceline_process import (RunTest, checkpoint_digests, checkpoints, paceline, read_metrics, send, settings, start, step_of,
                              wait_until)

CONFIG, CHECKPOINT = 2, 5


def flip_a_byte(checkpoint):
    file = sorted(checkpoint.glob("*.safetensors"))[0]
    content = bytearray(file.read_bytes())
    content[-5] ^= 4
    file.write_bytes(content)


def contents(folder):
    """Path to digest of every file of a run, but for its locks and what the launcher keeps of each start."""
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "lock" and path.parent.name != "logs"}


class ResumeRules(RunTest):
    def command(self, run, *overrides, ranks=2, resume=()):
        return ("train", self.recipe, "--nproc", ranks, "--run-dir", run, *resume,
                *settings("train.duration=40ba", "train.eval_every=10ba", "checkpoint.every=10ba", *overrides))

    def setUp(self):
        self.recipe = self.write_recipe()

    def trains(self, run, *overrides, code=0, **options):
        result = paceline(*self.command(run, *overrides, **options), cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def resumes(self, run, *overrides, **options):
        return self.trains(run, *overrides, resume=("--resume", "auto"), **options)

    def steps(self, run):
        return [line["step"] for line in read_metrics(run) if "train/loss" in line]

    # What is gone on from.

    def test_a_damaged_newest_checkpoint_never_costs_the_whole_ones(self):
        run = self.run_directory("damaged-newest")
        self.trains(run, "train.duration=30ba", "schedule=constant")
        flip_a_byte(run / "checkpoints" / "step-00000030")
        few = ("checkpoint.keep_last=1", "checkpoint.keep_best=0", "checkpoint.every=5ba")
        self.assertIn("resumed", self.resumes(run, "train.duration=25ba", *few, "schedule=constant").err)
        for path in checkpoints(run):
            self.assertEqual(paceline("eval", path, cwd=self.root).code, 0, f"{path} was kept and is damaged")
        self.assertEqual(step_of(checkpoints(run)[-1]), 25)
        self.assertEqual(self.steps(run), list(range(1, 26)))

    def test_a_branch_is_followed_and_what_lies_above_it_is_kept(self):
        run = self.run_directory("branched")
        self.trains(run, "checkpoint.keep_last=10")
        above = {name: checkpoint_digests(run / "checkpoints" / name) for name in ("step-00000030", "step-00000040")}
        few = ("checkpoint.keep_last=1", "checkpoint.keep_best=0", "checkpoint.every=5ba")
        process = start(*self.command(run, "train.duration=400ba", *few, "train.eval_every=1000ba",
                                      resume=("--resume", run / "checkpoints" / "step-00000020")), cwd=self.root)
        wait_until(lambda: process.poll() is not None or (self.steps(run)[-1] > 26 and self.steps(run)[-1] != 40), "a save")
        send(process, signal.SIGTERM)
        last = step_of(checkpoints(run)[-1])
        self.assertGreater(last, 20)
        told = self.resumes(run, f"train.duration={last + 10}ba", *few, "train.eval_every=1000ba").err
        self.assertRegex(told, rf"resumed \S+step-{last:08d} ")
        self.assertEqual(self.steps(run), list(range(1, last + 11)))
        kept = {path.name: path for path in (run / "checkpoints").rglob("step-*") if path.parent.name.startswith("branch-")}
        for name, digests in above.items():
            self.assertEqual(checkpoint_digests(kept[name]), digests)

    def test_another_strategy_goes_on(self):
        run = self.run_directory("ddp-then-fsdp")
        self.trains(run, "train.duration=20ba", "schedule=constant")
        self.resumes(run, "schedule=constant", "parallel.strategy=fsdp")
        self.assertEqual(self.steps(run), list(range(1, 41)))

    def test_statistics_of_each_rank_resume_to_the_same_bits(self):
        self.recipe = self.write_recipe(model="resnet18", name="resnet18.yaml")
        overrides = ("parallel.ddp.buffers=keep", "schedule=constant", "train.eval_every=3ba")
        reference, run = self.run_directory("keep"), self.run_directory("keep-resumed")
        self.trains(reference, "train.duration=6ba", *overrides)
        self.trains(run, "train.duration=3ba", *overrides)
        self.resumes(run, "train.duration=6ba", *overrides)
        self.assertEqual(read_metrics(run), read_metrics(reference))  # each rank evaluates with its own
        self.assertEqual(checkpoint_digests(checkpoints(run)[-1]), checkpoint_digests(checkpoints(reference)[-1]))

    def test_another_number_of_ranks_keeps_the_batch_and_the_place(self):
        run = self.run_directory("fewer-ranks")
        overrides = ("data.global_batch_size=null", "data.batch_size_per_rank=6", "schedule=constant")
        self.trains(run, "train.duration=20ba", *overrides)
        self.resumes(run, *overrides, ranks=1)
        self.assertEqual([line["samples"] for line in read_metrics(run) if "train/loss" in line],
                         [12 * step for step in range(1, 41)])

    # What is refused, and changes nothing.

    def refused(self, run, code, *texts, overrides=(), **options):
        before = contents(run)
        result = self.resumes(run, *overrides, code=code, **options)
        for text in texts:
            self.assertIn(text, result.err)
        self.assertEqual(contents(run), before)

    def test_a_refused_recipe(self):
        run = self.run_directory("refused")
        self.trains(run, "train.duration=10ba")
        self.refused(run, CONFIG, "model.depth", overrides=("model.depth=3",))
        self.refused(run, CONFIG, "optimizer.momentum", "0.9", "0.5", "model.pretrained=RUN@best",
                     overrides=("optimizer.momentum=0.5",))

    def test_another_rank_of_powersgd_is_refused_and_named(self):
        run = self.run_directory("powersgd")
        powersgd = ("parallel.ddp.compression=powersgd", "parallel.ddp.powersgd_start=2", "schedule=constant")
        self.trains(run, "train.duration=10ba", *powersgd, "parallel.ddp.powersgd_rank=2")
        self.refused(run, CONFIG, "parallel.ddp.powersgd_rank: was 2, is 3", "Put these back", "model.pretrained=RUN@best",
                     overrides=(*powersgd, "parallel.ddp.powersgd_rank=3"))
        self.resumes(run, *powersgd, "parallel.ddp.powersgd_rank=2")
        self.assertEqual(self.steps(run), list(range(1, 41)))

    def test_weights_of_another_type_are_refused_and_named(self):
        for before, after in (("fp32", "fp64"), ("fp64", "fp32")):
            run = self.run_directory(f"from-{before}")
            precision = (f"train.precision={before}", "schedule=constant")
            self.trains(run, "train.duration=10ba", *precision, ranks=1)
            self.refused(run, CONFIG, f"train.precision: was {before}, is {after}", "Put it back", "model.pretrained=RUN@best",
                         overrides=(f"train.precision={after}", "schedule=constant"), ranks=1)
            self.resumes(run, *precision, "train.duration=20ba", ranks=1)
            self.assertEqual(self.steps(run), list(range(1, 21)))

    def test_data_that_grew_are_refused_and_moved_ones_taken(self):
        grown, moved = self.root / "grown", self.root / "moved"
        shutil.copytree(self.data, grown)
        run = self.run_directory("grown-data")
        self.trains(run, f"data.path={grown}", "train.duration=20ba", "schedule=constant")
        shutil.copytree(grown, moved)
        extra = sorted((grown / "train").rglob("*.jpg"))[0]
        shutil.copy(extra, extra.with_name("more.jpg"))
        self.refused(run, CHECKPOINT, "60 images", "61 images", overrides=(f"data.path={grown}", "schedule=constant"))
        self.resumes(run, f"data.path={moved}", "schedule=constant")
        self.assertEqual(self.steps(run), list(range(1, 41)))

    def test_a_plateau_goes_on_where_it_was(self):
        # Of 12 samples a step, 6 are what the learning rate is meant for; no evaluation is good enough.
        overrides = ("schedule={name: one_cycle, max_momentum: 0.95, warmup: 20ba}", "optimizer.lr=0.01",
                     "train.lr_scaling=linear", "train.lr_base_batch_size=6", "train.eval_every=5ba",
                     "+algorithms.plateau={patience: 1, threshold: 0.999, factor: 0.5}", "checkpoint.every=5ba")
        reference, run = self.run_directory("plateau"), self.run_directory("plateau-stopped")
        log = self.trains(reference, *overrides).err
        self.assertIn("learning rate 0.02 = 0.01 x 12 / 6 (train.lr_scaling)", log)
        self.assertIn("algorithms.plateau: val/loss has not improved for 2 evaluations", log)
        lines = [line for line in read_metrics(reference) if "train/lr" in line]
        factors = [line["plateau/lr_factor"] for line in lines]
        self.assertEqual([factors[step - 1] for step in (15, 16, 25, 26, 35, 36)], [1, 0.5, 0.5, 0.25, 0.25, 0.125])
        self.assertAlmostEqual(lines[19]["train/lr"], 0.02 * 0.5)  # the peak
        self.assertAlmostEqual(lines[19]["train/momentum"], 0.85)
        self.assertAlmostEqual(lines[39]["train/momentum"], 0.95)

        # In the middle of its patience, and behind the first fall.
        for until in ("8ba", "18ba"):
            self.trains(run, *overrides, "train.stop_when=val/loss < 1000", f"train.min_duration={until}",
                        resume=("--resume", "auto"))
        self.assertEqual(self.steps(run)[-1], 18)
        self.resumes(run, *overrides)
        self.assertEqual(read_metrics(run), read_metrics(reference))

    def test_a_checkpoint_folder_is_of_one_run(self):
        shared = self.root / "shared"
        run = self.run_directory("first")
        process = start(*self.command(run, "train.duration=100000ba", f"checkpoint.dir={shared}"), cwd=self.root)
        wait_until(lambda: process.poll() is not None or list(shared.glob("step-*")), "a checkpoint")
        try:
            other = self.trains(self.run_directory("second"), f"checkpoint.dir={shared}", code=CHECKPOINT)
            self.assertRegex(other.err, re.escape(str(shared)))
        finally:
            code, words = send(process, signal.SIGTERM)
        self.assertEqual(code, 143, words)
        # Not in use any more, but not its own.
        later = self.trains(self.run_directory("third"), f"checkpoint.dir={shared}", code=CHECKPOINT)
        self.assertIn(str(shared), later.err)


if __name__ == "__main__":
    unittest.main()
