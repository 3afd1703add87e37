"""The same numbers on any number of ranks, in float64."""

import unittest

from paceline_process import TINY_VIT, RunTest, largest_difference, paceline, read_metrics, read_safetensors, settings


class RanksAgree(RunTest):
    def final_state(self, name, recipe, ranks, *overrides):
        run = self.run_directory(name)
        self.train(recipe, "--nproc", ranks, "--run-dir", run,
                   *settings("train.duration=8ba", "train.precision=fp64", "train.eval_every=8ba", "checkpoint.keep_best=0",
                             *overrides))
        weights = self.root / f"{name}.safetensors"
        self.assertEqual(paceline("export", run, "--format", "safetensors", "-o", weights, cwd=self.root).code, 0)
        tensors = read_safetensors(weights)
        losses = [line["train/loss"] for line in read_metrics(run) if "train/loss" in line]
        return tensors, losses

    def weights_after_8_steps(self, *arguments):
        tensors, losses = self.final_state(*arguments)
        return {k: v for k, v in tensors.items() if "running" not in k and "batches_tracked" not in k}, losses

    def test_transformer_on_one_to_four_ranks(self):
        recipe = self.write_recipe(model=TINY_VIT)
        one, losses = self.weights_after_8_steps("vit-1", recipe, 1)
        for ranks in (2, 3, 4):
            many, many_losses = self.weights_after_8_steps(f"vit-{ranks}", recipe, ranks)
            self.assertLess(largest_difference(one, many), 1e-10)
            for a, b in zip(losses, many_losses, strict=True):
                self.assertAlmostEqual(a, b, places=10)

    def test_ranks_that_lend_each_other_threads(self):
        recipe = self.write_recipe(model=TINY_VIT)
        runs = [self.weights_after_8_steps(f"pool-{pool}", recipe, 2, f"data.pool={pool}") for pool in ("rank", "node")]
        self.assertEqual(runs[0], runs[1])

    def test_every_strategy(self):
        recipe = self.write_recipe(model=TINY_VIT)
        # Of 60 images the last batch holds one: the other ranks have none.
        overrides = ("data.global_batch_size=59", "data.drop_last=false", "train.grad_accum_steps=2",
                     "train.grad_clip_norm=0.5")
        one, losses = self.weights_after_8_steps("strategy-none", recipe, 1, *overrides)
        for strategy, ranks, *more in (("zero1", 2), ("zero2", 3), ("fsdp", 2), ("fsdp", 4),
                                       ("hsdp", 4, "parallel.fsdp.shard_group_size=2")):
            many, many_losses = self.weights_after_8_steps(f"{strategy}-{ranks}", recipe, ranks,
                                                            f"parallel.strategy={strategy}", *overrides, *more)
            self.assertLess(largest_difference(one, many), 1e-10)
            for a, b in zip(losses, many_losses, strict=True):
                self.assertAlmostEqual(a, b, places=10)

    def test_residual_network_with_frozen_batch_norm(self):
        recipe = self.write_recipe(model="resnet18, zero_init_residual: true, freeze_batch_norm: true")
        overrides = ("optimizer.lr=1e-3", "schedule.warmup=0ba", "train.duration=20ba", "train.eval_every=20ba")
        one, losses = self.final_state("frozen-1", recipe, 1, *overrides)
        for ranks in (2, 3):
            many, many_losses = self.final_state(f"frozen-{ranks}", recipe, ranks, *overrides)
            self.assertLess(largest_difference(one, many), 1e-10)
            self.assertGreater(losses[0] - losses[-1], 1e-3)  # it does train
            for a, b in zip(losses, many_losses, strict=True):
                self.assertAlmostEqual(a, b, places=10)

    def test_ragged_batches_weigh_each_sample_the_same(self):
        recipe = self.write_recipe(model=TINY_VIT)
        overrides = ("data.global_batch_size=13", "train.grad_accum_steps=3")
        one, _ = self.weights_after_8_steps("ragged-1", recipe, 1, "data.global_batch_size=13")
        for ranks in (1, 2, 3):
            many, _ = self.weights_after_8_steps(f"ragged-accumulated-{ranks}", recipe, ranks, *overrides)
            self.assertLess(largest_difference(one, many), 1e-10)

    def test_local_batch_norm_equals_microbatches(self):
        # At 32 pixels the last stage has one pixel, and BatchNorm over four numbers multiplies rounding
        # errors without bound; at 64 pixels the two agree to 1e-16.
        recipe = self.write_recipe(model="resnet18, zero_init_residual: true")
        overrides = ("data.image_size=64", "optimizer.lr=1e-3", "schedule.warmup=0ba")
        for ranks in (2, 3):
            one, _ = self.weights_after_8_steps(f"bn-{ranks}-1", recipe, 1, f"train.grad_accum_steps={ranks}", *overrides)
            many, _ = self.weights_after_8_steps(f"bn-{ranks}", recipe, ranks, *overrides)
            self.assertLess(largest_difference(one, many), 1e-10)

    def test_synchronised_batch_norm(self):
        # 60 images in batches of 19: the last batch has three, so a fourth rank gets none. 64 pixels: see above.
        recipe = self.write_recipe(model="resnet18, zero_init_residual: true")
        overrides = ("data.image_size=64", "optimizer.lr=1e-3", "schedule.warmup=0ba", "parallel.sync_batch_norm=true",
                     "data.global_batch_size=19", "train.duration=6ba", "train.eval_every=6ba")
        one, losses = self.final_state("sync-1", recipe, 1, *overrides)
        for ranks in (2, 4):
            many, many_losses = self.final_state(f"sync-{ranks}", recipe, ranks, *overrides)
            self.assertLess(largest_difference(one, many), 1e-10)
            for a, b in zip(losses, many_losses, strict=True):
                self.assertAlmostEqual(a, b, places=10)


if __name__ == "__main__":
    unittest.main()
