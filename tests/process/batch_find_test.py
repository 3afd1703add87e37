"""`paceline batch-find`, as users meet it: on real ranks, with a limit that the allocator keeps."""

import json
import shlex
import unittest

from paceline_process import BUILD, RunTest, paceline, settings

CONFIG = 2
MIB = 1 << 20
RECIPE = """
run:       {name: found, seed: 3}
model:     {name: vit, img_size: 32, patch_size: 4, embed_dim: 48, depth: 4, num_heads: 3}
data:      {name: synthetic, num_samples: 2048, num_val_samples: 64, num_classes: 4, size: 32,
            global_batch_size: 256, num_threads: 1}
train:     {duration: 3ba, eval_every: 3ba}
optimizer: {name: adamw, lr: 0.001}
checkpoint: {every: 3ba}
loggers:   {jsonl: }
"""


class BatchFind(RunTest):
    def find(self, *arguments, code=0):
        result = paceline("batch-find", self.write_recipe(text=RECIPE), *arguments, cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def peak_of_run(self, name, samples, ranks, *overrides):
        """Bytes that the rank with the most of them held in a real run with this batch."""
        run = self.run_directory(name)
        self.train(self.write_recipe(text=RECIPE), "--run-dir", run, "--nproc", ranks, *overrides,
                   "data.global_batch_size=null", f"data.batch_size_per_rank={samples}")
        return json.loads((run / "summary.json").read_text())["peak_memory"]["measured_bytes"]

    def check_strategy(self, strategy, ranks, limit_mib, *more):
        limit = limit_mib * MIB
        self.write_recipe(text=RECIPE)
        before = self.all_files()
        overrides = (f"parallel.strategy={strategy}", *more)
        out = self.find(*overrides, "--nproc", ranks, "--memory-limit", f"{limit_mib}MiB", "--json").out
        found = json.loads(out)
        self.assertEqual(self.all_files(), before)
        samples = found["samples_per_rank"]
        self.assertEqual((samples % 8, found["ranks"], found["limit_bytes"]), (0, ranks, limit))
        self.assertGreater(samples, 24, "the limit lets a line be fitted")
        self.assertLessEqual(len(found["tries"]), 7)
        for made in found["tries"]:
            self.assertEqual(made["fits"], made["measured_bytes"] <= limit, made)
        self.assertEqual([made["fits"] for made in found["tries"] if made["samples_per_rank"] == samples], [True])
        peak = self.peak_of_run(strategy, samples, ranks, *overrides)
        self.assertLessEqual(peak, limit)
        self.assertGreater(self.peak_of_run(strategy + "-more", samples + samples // 4 + 8, ranks, *overrides), limit)
        return found

    def test_finds_what_fits_one_rank(self):
        found = self.check_strategy("none", 1, 96)
        self.assertEqual(found["ends_with"], "memory")
        self.assertIn("data.global_batch_size=null", found["overrides"])
        (steps,) = found["overrides_for_own_batch"]
        self.assertGreaterEqual(int(steps.removeprefix("train.grad_accum_steps=")), 256 / found["samples_per_rank"])

    def test_finds_what_fits_ranks_that_share_gradients(self):
        self.check_strategy("ddp", 2, 96)

    def test_finds_what_fits_ranks_that_share_state(self):
        self.check_strategy("fsdp", 2, 96)

    def test_finds_what_fits_ranks_that_share_the_optimizer(self):
        self.check_strategy("zero1", 2, 96)

    def test_finds_what_fits_ranks_that_share_gradients_and_the_optimizer(self):
        self.check_strategy("zero2", 2, 96)

    def test_finds_what_fits_groups_of_ranks_that_share_state(self):
        found = self.check_strategy("hsdp", 4, 96, "parallel.fsdp.shard_group_size=2")
        of_a_group = json.loads(self.find("parallel.strategy=fsdp", "--nproc", 2, "--memory-limit", "96MiB", "--json").out)
        self.assertEqual(found["tries"], of_a_group["tries"], "another group holds the same")

    def test_a_rank_with_less_memory_counts_and_keeps_none_waiting(self):
        recipe = self.write_recipe(text=RECIPE)
        rank = BUILD / "libexec" / "paceline-rank"
        script = f'exec {rank} batch-find {recipe} --json --memory-limit "$((160 - 64 * RANK))MiB"'
        result = paceline("launch", "--nproc", 2, "--", "sh", "-c", script, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        unequal = json.loads(result.out[result.out.index("{"):])  # behind the name of the rank
        least = json.loads(self.find("--nproc", 2, "--memory-limit", "96MiB", "--json").out)
        self.assertEqual(unequal["samples_per_rank"], least["samples_per_rank"])

    def test_prints_a_table_and_a_command_that_trains(self):
        out = self.find("--memory-limit", "48MiB", "--apply", "data.num_samples=100").out
        self.assertRegex(out, r"samples +predicted +measured  verdict\n")
        self.assertRegex(out, r"\n +8 +\S+ MiB  fits\n")
        self.assertIn("train.lr_scaling=sqrt train.lr_base_batch_size=256", out)
        for line in out.splitlines():
            if "paceline train" in line:
                words = shlex.split(line.partition("paceline train ")[2])
                self.train(words[0], *settings(*words[1:]), "--fast-dev-run")

    def test_a_recording_that_the_cpu_does_not_make_takes_nothing(self):
        limit = ("--memory-limit", "48MiB", "--json")
        recorded = self.find("train.compile=graph", *limit)
        self.assertEqual(json.loads(recorded.out)["tries"], json.loads(self.find(*limit).out)["tries"])
        self.assertNotIn("compile", recorded.err)

    def test_ends_with_the_data(self):
        found = json.loads(self.find("--memory-limit", "1GiB", "--json", "data.num_samples=100").out)
        self.assertEqual((found["samples_per_rank"], found["ends_with"]), (96, "data"))

    def test_refuses_what_cannot_be(self):
        for arguments, text in (
                ((), "--memory-limit 8GiB"),
                (("--memory-limit", "1MiB"), "a batch of one sample a rank does not fit: it takes at least"),
                (("--memory-limit", "1MiB"), "train.activation_checkpointing={every: 1}, parallel.strategy=fsdp"),
                (("--memory-limit", "64MiB", "--nproc", 2, "data.num_samples=1", "data.global_batch_size=2"),
                 "fewer than the 2 ranks"),
                (("--memory-limit", "64MiB", "--nproc", 2, "data.global_batch_size=1"),
                 "1 samples cannot be shared by 2 ranks"),
                (("--memory-limit", "much"), "--memory-limit")):
            self.assertIn(text, self.find(*arguments, code=CONFIG).err)


if __name__ == "__main__":
    unittest.main()
