"""What bad input gets: one clear error, the right exit code, and nothing lost."""

import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import unittest

from paceline_process import (PACELINE, RECIPE, TINY_VIT, RunTest, checkpoints, environment, paceline, start,
                              wait_until)

CONFIG, DATA, COMM, CHECKPOINT, DIVERGED = 2, 3, 4, 5, 6


class BadInput(RunTest):
    def fails(self, code, *texts, arguments=(), **options):
        result = paceline("train", *arguments, cwd=self.root, **options)
        self.assertEqual(result.code, code, str(result))
        for text in texts:
            self.assertIn(str(text), result.err)
        self.assertNotIn("Traceback", result.err)
        return result

    def copy_of_data(self, name):
        copy = self.root / name
        shutil.copytree(self.data, copy)
        return copy

    # Recipes and options.

    def test_unknown_keys_and_wrong_types_all_at_once(self):
        text = RECIPE.replace("lr: 0.05", "lrr: 0.05").replace("duration: 3ep", "duration: soon")
        recipe = self.write_recipe(text=text, name="wrong.yaml")
        self.fails(CONFIG, "wrong.yaml:6", "lrr", "lr", "wrong.yaml:5", "soon", arguments=(recipe,))

    def test_names_of_other_trainers(self):
        recipe = self.write_recipe()
        self.fails(CONFIG, "train.duration", arguments=(recipe, "--epochs", "90"))
        self.fails(CONFIG, "global_batch_size", "batch_size_per_rank", arguments=(recipe, "+data.batch_size=64"))
        result = self.fails(CONFIG, "token", arguments=(recipe, "--hf-token", "hf_abcdefghij"))
        self.assertNotIn("hf_abcdefghij", result.err)

    def test_of_several_ranks_the_first_one_tells(self):
        recipe = self.write_recipe(text=RECIPE, name="wrong.yaml")
        result = self.fails(CONFIG, "[rank 0] error:", "train.durtion", arguments=(recipe, "--nproc", 3, "train.durtion=3ba"))
        self.assertEqual(result.err.count("did you mean train.duration?"), 1, str(result))

    def test_a_last_batch_of_one_image_under_batch_norm(self):
        recipe = self.write_recipe("resnet18", "one.yaml", RECIPE.replace(
            "image_folder, path: DATA, image_size: 32, global_batch_size: 12",
            "synthetic, num_classes: 4, num_samples: 9, size: 32, global_batch_size: 4"))
        for nproc in (1, 2):
            result = self.fails(CONFIG, "data.drop_last", arguments=(recipe, "--nproc", nproc))
            self.assertIn("data.drop_last", result.err.splitlines()[-1], str(result))
            self.assertNotIn("frame #", result.err)

    def test_too_little_memory(self):
        recipe = self.write_recipe("vit, img_size: 64, patch_size: 4, embed_dim: 256, depth: 4, num_heads: 4", "large.yaml",
                                   RECIPE.replace("image_folder, path: DATA, image_size: 32, global_batch_size: 12",
                                                  "synthetic, num_classes: 4, num_samples: 512, size: 64, global_batch_size: 256"))
        limit = 3 << 30  # of address space, of which the libraries take a good part
        result = subprocess.run([str(PACELINE), "train", str(recipe)], cwd=self.root, env=environment(), text=True,
                                capture_output=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(result.returncode, CONFIG, result.stderr)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        for text in ("out of memory with ", "by prediction: activations ", "These would fit: train.grad_accum_steps="):
            self.assertIn(text, result.stderr)

    def test_numbers_beyond_bounds(self):
        recipe = self.write_recipe()
        for number in ("0", "4294967298", "9223372036854775808"):
            self.fails(CONFIG, "--fast-dev-run", arguments=(recipe, f"--fast-dev-run={number}"))
        for arguments in (("--nproc", "65536", "--nnodes", "65536"), ("--nproc", "65537"), ("--nnodes", "0")):
            result = paceline("info", "memory", recipe, *arguments)
            self.assertEqual(result.code, CONFIG, str(result))
            self.assertIn(arguments[0], result.err)

    def test_two_batch_sizes(self):
        self.fails(CONFIG, "data.global_batch_size", "data.batch_size_per_rank", "not both",
                   arguments=(self.write_recipe(), "data.batch_size_per_rank=4"))

    def test_no_recipe(self):
        self.fails(CONFIG, "absent.yaml", arguments=("absent.yaml",))

    # Data.

    def test_missing_data_directory(self):
        self.fails(DATA, "/nowhere", arguments=(self.write_recipe(), "data.path=/nowhere"))

    def test_empty_class(self):
        data = self.copy_of_data("empty-class")
        victim = sorted((data / "train").iterdir())[1]
        shutil.rmtree(victim)
        victim.mkdir()
        self.fails(DATA, victim.name, arguments=(self.write_recipe(), f"data.path={data}"))

    def test_label_out_of_range(self):
        self.fails(DATA, "4", "2", arguments=(self.write_recipe(), "model.num_classes=2"))

    def test_truncated_jpeg(self):
        data = self.copy_of_data("truncated")
        victim = sorted((data / "train").rglob("*.jpg"))[7]
        victim.write_bytes(victim.read_bytes()[:-200])
        recipe = self.write_recipe()
        self.fails(DATA, victim.name, "data.on_error", arguments=(recipe, f"data.path={data}"))
        result = self.fails(0, "1 samples could not be read", victim.name,
                            arguments=(recipe, f"data.path={data}", "data.on_error=skip", "train.duration=1ep"))
        self.assertIn("done after step 5", result.err)

    def test_skipped_samples_are_counted_and_bounded(self):
        data = self.copy_of_data("partly_damaged")
        damaged = sorted((data / "val").rglob("*.jpg"))[::4]
        for path in damaged + sorted((data / "train").rglob("*.jpg"))[:2]:
            path.write_bytes(path.read_bytes()[:100])
        recipe = self.write_recipe()
        run = self.root / "skips"
        self.train(recipe, "--run-dir", run, "--nproc", 2, f"data.path={data}", "data.on_error=skip",
                   "train.duration=1ep")
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["data/skipped"] for line in lines if "data/skipped" in line][-1], 2)
        [evaluated] = [line for line in lines if "val/samples" in line]
        self.assertEqual((evaluated["val/samples"], evaluated["val/skipped"]), (15, 5))
        self.assertEqual(json.loads((run / "summary.json").read_text())["skipped_samples"], 2)
        result = paceline("eval", run, "--json", "--nproc", 2, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        report = json.loads(result.out)
        self.assertEqual((report["samples"], report["skipped"]), (15, 5))
        self.assertEqual(sum(each["samples"] for each in report["classes"]), 15)
        self.assertEqual([sum(row) for row in report["confusion_matrix"]],
                         [each["samples"] for each in report["classes"]])
        result = paceline("eval", run, "--nproc", 2, "data.max_skipped=4", cwd=self.root)
        self.assertEqual(result.code, DATA, str(result))
        self.assertIn("data.max_skipped", result.err)
        self.assertIn(".jpg", result.err)
        for path in (data / "val").rglob("*.jpg"):
            path.write_bytes(b"")
        result = paceline("eval", run, "data.max_skipped=100", cwd=self.root)
        self.assertEqual(result.code, DATA, str(result))
        self.assertIn("no sample", result.err)

    def test_loss_that_is_not_finite(self):
        self.fails(DIVERGED, "step", "rank", "samples",
                   arguments=(self.write_recipe(), "optimizer.lr=1e6", "schedule.warmup=0ba", "--nproc", "2"))

    def patched_weights(self, run, tensor, change):
        """A file of a run's weights with one float32 tensor's elements changed."""
        weights = self.root / f"{run.name}.safetensors"
        self.assertEqual(paceline("export", run, "-o", weights).code, 0)
        content = bytearray(weights.read_bytes())
        (length,) = struct.unpack_from("<Q", content)
        begin, end = json.loads(content[8:8 + length])[tensor]["data_offsets"]
        for at in range(8 + length + begin, 8 + length + end, 4):
            struct.pack_into("<f", content, at, change(*struct.unpack_from("<f", content, at)))
        weights.write_bytes(content)
        return weights

    def test_weights_that_are_not_finite(self):
        """Such as running statistics, which no loss of training depends on."""
        recipe, short = self.write_recipe(model="resnet18", name="resnet18.yaml"), ("train.duration=1ba", "schedule=constant")
        self.train(recipe, "--run-dir", self.run_directory("resnet18"), *short)
        weights = self.patched_weights(self.run_directory("resnet18"), "bn1.running_mean", lambda _: float("nan"))
        run = self.run_directory("from-nan")
        self.fails(CHECKPOINT, weights, "bn1.running_mean", "NaN",
                   arguments=(recipe, "--run-dir", run, f"model.pretrained={weights}", *short))
        self.assertEqual(checkpoints(run), [])

    def test_a_gradient_norm_that_is_not_finite(self):
        weights = self.patched_weights(self.trained("sound"), "head.weight", lambda value: value * 1e30)  # the loss is finite, squares are not
        run = self.run_directory("infinite-norm")
        self.fails(DIVERGED, "gradient norm", "step 1", "not applied",
                   arguments=(self.write_recipe(), "--run-dir", run, "--nproc", 2, f"model.pretrained={weights}", "checkpoint.every=1ba",
                              "train.grad_clip_norm=1"))
        self.assertEqual(checkpoints(run), [])

    # Launching.

    def test_numbers_of_ranks(self):
        recipe = self.write_recipe()
        self.fails(CONFIG, "--nproc", "0", arguments=(recipe, "--nproc", "0"))
        self.fails(CONFIG, "global_batch_size", "12 samples", "13",
                   arguments=(recipe, "--nproc", "13", "--fast-dev-run"))
        self.fails(CONFIG, "WORLD_SIZE", arguments=(recipe, "--nproc", "2"),
                   env=environment(WORLD_SIZE=7, MASTER_ADDR="127.0.0.1", MASTER_PORT=29511, NODE_RANK=0))

    def test_a_rank_with_another_recipe(self):
        recipe = self.write_recipe()
        script = self.root / "one_rank.sh"
        for override, texts in (("optimizer.lr=0.$((RANK + 1))", ("optimizer", "0.1", "0.2")),
                                # ranks that would not even ask for the same collectives
                                ("model.depth=$((RANK + 1)) parallel.strategy=$([ $RANK = 0 ] && echo fsdp || echo ddp)",
                                 ("model", "parallel", "fsdp", "ddp"))):
            script.write_text(f'#!/bin/sh\nexec {PACELINE} train {recipe} --run-dir {self.root}/runs/differ {override}\n')
            script.chmod(0o755)
            result = paceline("launch", "--nproc", 2, "--", script, cwd=self.root)
            self.assertEqual(result.code, CONFIG, str(result))
            for text in ("rank 1", *texts):
                self.assertIn(text, result.err)

    def test_a_killed_rank(self):
        run = self.run_directory("killed-rank")
        process = start("train", self.write_recipe(), "--nproc", 2, "--run-dir", run, "train.duration=1000000ba",
                        cwd=self.root)
        wait_until(lambda: (run / "metrics.jsonl").exists(), "the first step")
        out = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(out[-1]), signal.SIGKILL)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL, output)
        self.assertIn("rank", output)
        for pid in out:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), "no rank outlives the run")

    # Checkpoints and run directories.

    def trained(self, name):
        run = self.run_directory(name)
        if not run.exists():
            self.train(self.write_recipe(), "--run-dir", run)
        return run

    def test_damaged_checkpoints(self):
        run = self.trained("damaged")
        newest = checkpoints(run)[-1]
        file = next(newest.glob("*.safetensors"))
        content = bytearray(file.read_bytes())
        content[-5] ^= 4
        file.write_bytes(content)
        result = paceline("eval", newest)
        self.assertEqual(result.code, CHECKPOINT, str(result))
        self.assertIn(file.name, result.err)

        file.write_bytes(content[:-100])
        result = paceline("eval", newest)
        self.assertEqual(result.code, CHECKPOINT, str(result))
        self.assertIn(file.name, result.err)

        # A run goes on with the newest one that is whole, and says so.
        result = paceline("eval", run)
        self.assertEqual(result.code, 0, str(result))
        self.assertIn(checkpoints(run)[-2].name, result.out)

    def test_a_checkpoint_of_another_model(self):
        run = self.trained("other-model")
        other = self.write_recipe(model=TINY_VIT.replace("depth: 2", "depth: 3"), name="deeper.yaml")
        result = paceline("train", other, "--run-dir", run, "--resume", "auto", cwd=self.root)
        self.assertEqual(result.code, CONFIG, str(result))
        self.assertIn("model.depth", result.err)
        weights = self.root / "two_blocks.safetensors"
        self.assertEqual(paceline("export", run, "-o", weights).code, 0)
        result = self.fails(CHECKPOINT, "blocks.2.", arguments=(other, f"model.pretrained={weights}", "--fast-dev-run"))

    def test_a_full_disk_while_saving(self):
        run = self.run_directory("full-disk")
        recipe = self.write_recipe()
        self.train(recipe, "--run-dir", run, "train.duration=5ba")
        size = max(path.stat().st_size for path in checkpoints(run)[-1].iterdir())

        def limit_file_size():  # a file that may not grow stands for a disk that is full
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

        result = subprocess.run([str(PACELINE), "train", str(recipe), "--run-dir", str(run), "--resume", "auto"],
                                env=environment(), capture_output=True, text=True, preexec_fn=limit_file_size,
                                cwd=self.root, timeout=120)
        self.assertEqual(result.returncode, CHECKPOINT, result.stderr)
        self.assertIn("step-00000005", result.stderr)
        self.assertEqual(paceline("eval", run).code, 0, "the previous checkpoint is usable")

    def test_a_full_disk_for_metrics_ends_nothing(self):
        run = self.run_directory("full-for-metrics")

        def limit_file_size():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))

        result = subprocess.run([str(PACELINE), "train", str(self.write_recipe()), "--run-dir", str(run), "train.duration=200ba",
                                 "checkpoint.every=null"], env=environment(), capture_output=True, text=True,
                                preexec_fn=limit_file_size, cwd=self.root, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        for logger in ("jsonl", "tensorboard"):
            self.assertEqual(result.stderr.count(f"warning: the {logger} logger cannot write"), 1, result.stderr)
        self.assertIn("done after step 200", result.stderr)
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual(summary["steps"], 200)
        self.assertIn("failed_writes", json.dumps(summary))

    def test_a_read_only_run_directory(self):
        if os.geteuid() == 0:
            target = "/proc/paceline-run"  # root may write anywhere else
        else:
            folder = self.root / "read-only"
            folder.mkdir(mode=0o555)
            target = folder / "run"
        self.fails(CHECKPOINT, target, arguments=(self.write_recipe(), "--run-dir", target))

    def test_a_run_directory_in_use(self):
        run = self.run_directory("in-use")
        process = start("train", self.write_recipe(), "--run-dir", run, "train.duration=1000000ba", cwd=self.root)
        wait_until(lambda: (run / "metrics.jsonl").exists(), "the first step")
        try:
            self.fails(CHECKPOINT, run, process.pid, arguments=(self.write_recipe(), "--run-dir", run))
        finally:
            process.terminate()
            process.communicate(timeout=120)


if __name__ == "__main__":
    unittest.main()
