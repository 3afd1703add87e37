"""Recipes, links and folders that someone else made or removed: an error that says so, and nothing of theirs touched."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time
import unittest

from paceline_process import (PACELINE, RECIPE, RunTest, checkpoints, environment, paceline, read_metrics, start,
                              wait_until)

CONFIG, CHECKPOINT = 2, 5


class HostileFiles(RunTest):
    def check(self, *arguments, **options):
        return paceline("config", "check", *arguments, cwd=self.root, timeout=10, **options)

    def refused(self, text, *expected):
        path = self.root / "hostile.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        result = self.check(path)
        self.assertEqual(result.code, CONFIG, str(result)[:2000])
        self.assertLess(len(result.err), 4000)
        for piece in expected:
            self.assertIn(piece, result.err)
        return result

    # Recipes.

    def test_recipe_bombs_are_refused_at_once(self):
        self.refused("a: &x [*x]\n", "alias")
        levels = ["a0: &a0 [" + ", ".join("1" * 10) + "]"]
        levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 7)]
        self.refused("\n".join(levels), "more than 20000 values")
        self.refused("".join(f"key{i}: 1\n" for i in range(200000)), "bytes")
        self.refused("".join(f"k{i}: 1\n" for i in range(50000)), "more than 1000 keys")
        self.refused("[" * 100000, "nested")
        (self.root / "e0.yaml").write_text("run: {seed: 1}\n")
        for i in range(1, 26):
            (self.root / f"e{i}.yaml").write_text(f"extends: [e{i - 1}.yaml, e{i - 1}.yaml]\n")
        self.refused("extends: e25.yaml\n", "more than 100 files")

    def test_only_regular_files_are_recipes(self):
        os.mkfifo(self.root / "pipe")
        for name in ("/dev/zero", str(self.root / "pipe"), "/"):
            self.refused(f"extends: {name}\n", "no regular file")
            self.assertEqual(self.check(name).code, CONFIG, name)

    def test_other_files_are_not_quoted(self):
        secret = self.root / "passwd"
        secret.write_text("root:x:0:0:root:/root:/bin/bash\nnobody:x:1:1::/:/bin/false\n")
        result = self.refused(f"extends: {secret}\n", "not a recipe")
        self.assertNotIn("/bin/bash", result.err)

    def test_check_refuses_what_train_cannot_mean(self):
        recipe = self.write_recipe()
        self.assertEqual(self.check(recipe).code, 0)
        for override, reason in (
                ("run.name=../../esc", "plain name"), ("run.name=a/b", "plain name"), ("run.name=..", "plain name"),
                ("train.duration=1e300ep", "no run has more"), ("train.duration=1e19ba", "no run has more"),
                ("optimizer.lr=1e19", "at most"), ("optimizer.lr=.inf", "at most"),
                ("data.num_threads=2147483648", "between"), ("data.num_threads=2147483647", "cores"),
                ("model.num_classes=9223372036854775807", "at most"), ("data.global_batch_size=9223372036854775807", "at most"),
                ('run.name="a\\0b"', "\\x00"), ("loggers.jsonl.file=../../esc", "plain name")):
            result = self.check(recipe, override)
            self.assertEqual(result.code, CONFIG, f"{override}: {result}")
            self.assertIn(reason, result.err)
        text = recipe.read_text()
        self.refused(text.encode() + b"# \xff\n", "not UTF-8")
        self.refused(text.encode() + b"# \0\n", "not UTF-8")
        self.refused(text.encode("utf-16"), "not UTF-8")

    # Links and devices.

    def test_planted_links_are_not_written_through(self):
        victim = self.root / "victim"
        victim.write_text("mine")
        recipe = self.write_recipe()
        # What a run cannot do without, and logs, which it can. Of event files nobody knows the name before.
        ends = {"lock": CHECKPOINT, "config.yaml": CHECKPOINT, "metrics.jsonl": CHECKPOINT, "system.jsonl": 0, "log.txt": 0,
                "summary.json": CHECKPOINT, "logs/rank_0000.log": CHECKPOINT}
        # A file of their own takes the place of a hard link.
        replaced = {("hard", "metrics.jsonl"), ("hard", "summary.json")}
        plants = {"soft": lambda path: path.symlink_to(victim), "hard": lambda path: path.hardlink_to(victim),
                  "pipe": os.mkfifo}
        for (name, code), (kind, plant) in itertools.product(ends.items(), plants.items()):
            with self.subTest(name=name, kind=kind):
                run = self.root / "runs" / f"planted-{kind}-{name.replace('/', '-')}"
                (run / name).parent.mkdir(parents=True)
                victim.write_text("mine")
                plant(run / name)
                result = paceline("train", recipe, "--run-dir", run, "train.duration=1ba", "schedule=constant",
                                  *(("--nproc", 2) if name.startswith("logs") else ()), cwd=self.root)
                self.assertEqual(victim.read_text(), "mine")
                self.assertEqual(result.code, 0 if (kind, name) in replaced else code, str(result))
                if result.code != 0:
                    self.assertIn("holds a run already" if name == "config.yaml" else str(run / name), result.err)
        outside = self.root / "outside"
        for name in ("lock", "metrics.jsonl"):
            run = self.root / "runs" / f"dangling-{name}"
            run.mkdir(parents=True)
            (run / name).symlink_to(outside)
            paceline("train", recipe, "--run-dir", run, "train.duration=1ba", "schedule=constant", cwd=self.root)
            self.assertFalse(outside.exists(), name)

    def test_a_run_directory_may_be_a_link_to_another_disk(self):
        disk = self.root / "disk"
        disk.mkdir()
        link = self.root / "run-on-disk"
        link.symlink_to(disk)
        self.train(self.write_recipe(), "--run-dir", link, "train.duration=2ba", "schedule=constant")
        self.assertTrue((disk / "summary.json").exists())
        self.assertTrue(checkpoints(disk))

    def test_export_replaces_regular_files_only(self):
        run = self.run_directory("exported")
        self.train(self.write_recipe(), "--run-dir", run, "train.duration=1ba", "schedule=constant")
        device = self.root / "device"
        try:
            os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))
        except PermissionError:
            os.mkfifo(device)  # without the right to make devices
        kind = device.stat().st_mode
        result = paceline("export", run, "-o", device)
        self.assertEqual(result.code, CHECKPOINT, str(result))
        self.assertEqual(device.stat().st_mode, kind)
        victim = self.root / "weights"
        victim.write_text("mine")
        link = self.root / "link.safetensors"
        link.symlink_to(victim)
        self.assertEqual(paceline("export", run, "-o", link).code, CHECKPOINT)
        self.assertEqual(victim.read_text(), "mine")
        self.assertEqual(paceline("export", run, "-o", victim).code, 0)

    # JSON.

    def test_a_deep_header_of_weights_is_an_error(self):
        header = b'{"a":' * 50000
        weights = self.root / "deep.safetensors"
        weights.write_bytes(struct.pack("<Q", len(header)) + header)
        result = paceline("train", self.write_recipe(), f"model.pretrained={weights}", cwd=self.root)
        self.assertEqual(result.code, CHECKPOINT, str(result)[:2000])
        self.assertIn("nested more than 64 deep", result.err)

    # What is removed under a run.

    def test_a_run_directory_that_is_removed_is_an_error(self):
        for name, arguments in (("saves", ("checkpoint.every=5ba",)), ("summary", ("checkpoint.every=null",))):
            with self.subTest(name):
                run = self.run_directory(f"removed-{name}")
                process = start("train", self.write_recipe(), "--run-dir", run, "train.duration=3000ba", *arguments, cwd=self.root)
                wait_until(lambda: (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").stat().st_size > 2000, "steps")
                # In one step: what is saved into a tree that is half removed fails otherwise, by the file that is missing.
                run.rename(self.root / f"trash-{name}")
                shutil.rmtree(self.root / f"trash-{name}")
                if name == "summary":
                    time.sleep(0.5)
                    process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=200)
                self.assertEqual(process.returncode, CHECKPOINT, output)
                self.assertIn("is gone", output)
                self.assertFalse((run / "summary.json").exists())

    def test_a_removed_metrics_file_is_made_anew(self):
        run = self.run_directory("unlinked")
        process = start("train", self.write_recipe(), "--run-dir", run, "train.duration=1000000ba", "train.eval_every=1000000ba",
                        "schedule=constant", cwd=self.root)
        metrics = run / "metrics.jsonl"
        wait_until(lambda: metrics.exists() and metrics.stat().st_size > 2000, "steps")
        metrics.unlink()
        wait_until(lambda: metrics.exists() and metrics.stat().st_size > 2000, "steps in a new file")
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=200)
        self.assertEqual(process.returncode, 143, output)
        self.assertIn("it was removed while it was being written", output)
        steps = [line["step"] for line in read_metrics(run) if "train/loss" in line]
        self.assertEqual(len({after - before for before, after in zip(steps, steps[1:])}), 1, "no step is lost")

    # Readers and names.

    def test_a_reader_that_leaves_ends_no_run(self):
        run = self.run_directory("read")
        process = start("train", self.write_recipe(), "--run-dir", run, "train.duration=30ba", "schedule=constant", cwd=self.root)
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=200), 0)
        self.assertTrue((run / "summary.json").exists())

    def test_what_is_printed_has_a_reader(self):
        for target, codes in (("/dev/full", (CHECKPOINT,)), (None, (0, 128 + signal.SIGPIPE))):
            with contextlib.ExitStack() as stack:
                if target:
                    output = stack.enter_context(open(target, "w"))
                else:
                    reader, output = os.pipe()
                    os.close(reader)
                    stack.callback(os.close, output)
                result = subprocess.run([PACELINE, "data", "info", self.data, "--json"], stdout=output, stderr=subprocess.PIPE,
                                        text=True, env=environment(), timeout=200)
                self.assertIn(result.returncode, codes, result.stderr)
                self.assertNotIn("unexpected", result.stderr)

    def test_names_that_no_file_can_have(self):
        recipe = self.write_recipe()
        loop = self.root / "loop"
        loop.symlink_to(loop)
        for path, reason in (("x" * 300, "File name too long"), (str(loop), "Too many levels of symbolic links")):
            for arguments in (("train", recipe, "--run-dir", path), ("train", recipe, "--run-dir", "r", "--resume", path),
                              ("train", recipe, f"checkpoint.dir={path}"), ("eval", path), ("export", path, "-o", "w")):
                with self.subTest(arguments=arguments):
                    result = paceline(*arguments, cwd=self.root)
                    self.assertEqual(result.code, CHECKPOINT, str(result))
                    self.assertIn(reason, result.err)

    # The log.

    def test_the_log_is_in_the_run_directory(self):
        run = self.run_directory("logged")
        recipe = self.write_recipe()
        shown = self.train(recipe, "--run-dir", run, "train.duration=2ba", "schedule=constant").err
        first = (run / "log.txt").read_text()
        for line in first.splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} ")
        self.assertIn("done after step 2", first)
        self.assertIn("paceline", first.splitlines()[0] + first)  # what was said before the directory was there
        self.assertNotIn("\033", first)
        self.assertIn("done after step 2", shown)
        self.train(recipe, "--run-dir", run, "--resume", "auto", "train.duration=4ba", "schedule=constant")
        second = (run / "log.txt").read_text()
        self.assertTrue(second.startswith(first))
        self.assertIn("done after step 4", second)
        self.train(recipe, "--run-dir", run, "--resume", "auto", "train.duration=4ba", "schedule=constant", "model.depth=3", code=CONFIG)
        self.assertEqual((run / "log.txt").read_text(), second)  # a refused resume changes nothing


if __name__ == "__main__":
    unittest.main()
