"""Data of other machines: every source from S3 and HTTP through servers with faults, and what is said when it fails."""

import json
import os
import pathlib
import shutil
import signal
import tarfile
import time
import unittest

from faulty_server import FaultyServer
from paceline_process import (TIMEOUT_S, RunTest, checkpoints, environment, kill, paceline, read_metrics, start,
                              wait_until)

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
ALL_FAULTS = ["throttle", "reset", "truncate", "fail"]
LATE_IMAGE = "train/checked_square/000000.jpg"  # of the third batch


class RemoteData(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.bucket = cls.root / "served" / "bucket"
        images = cls.bucket / "images"
        made = paceline("data", "synth", images, "--classes", 3, "--train-per-class", 12, "--val-per-class", 4,
                        "--min-size", 20, "--max-size", 40)
        assert made.code == 0, str(made)
        made = paceline("data", "pack", images, "-o", cls.bucket / "packed", "--samples-per-shard", 10)
        assert made.code == 0, str(made)
        (cls.bucket / "tars").mkdir()
        classes = sorted(folder.name for folder in (images / "train").iterdir())
        for shard in range(2):
            with tarfile.open(cls.bucket / "tars" / f"train-{shard}.tar", "w") as tar:
                for number, image in enumerate(sorted((images / "train").glob("*/*.jpg"))[shard::2]):
                    label = cls.root / "label"
                    label.write_text(str(classes.index(image.parent.name)))
                    tar.add(image, f"{number}.jpg")
                    tar.add(label, f"{number}.cls")

    def setUp(self):
        self.server = FaultyServer(self.root / "served")
        self.addCleanup(self.server.close)
        self.caches = 0

    def run_data(self, *arguments, code=0, home=None):
        """With no index or copy of an earlier call, unless a home is given."""
        self.caches += 1
        home = home or self.root / f"{self.id()}-{self.caches}"
        env = environment(XDG_CACHE_HOME=home, **self.server.environment())
        result = paceline("data", *arguments, cwd=self.root, env=env)
        self.assertEqual(result.code, code, str(result))
        return result

    def info(self, *arguments, **settings):
        result = self.run_data("info", *arguments, "--json", "--samples", 0, **settings)
        return json.loads(result.out), result.err

    def test_nothing_is_lost_to_faults(self):
        for name in ("images", "tars", "packed"):
            expected, _ = self.info(self.bucket / name)
            for every in (0, 3):
                self.server.every, self.server.faults, self.server.num_faults = every, ALL_FAULTS, 0
                told, said = self.info(f"s3://bucket/{name}")
                self.assertEqual(told, expected, name)
                self.assertEqual("were tried again, 0 given up" in said, every > 0, said)
                if every:
                    self.assertGreaterEqual(self.server.num_faults, 1, name)
                    self.assertIn(f"{self.server.num_faults} reads were tried again", said)

    def test_http_serves_what_is_named(self):
        expected, _ = self.info(self.bucket / "tars")
        self.server.every, self.server.faults = 3, ALL_FAULTS
        told, said = self.info(f"{self.server.url}/bucket/tars", "--format", "webdataset",
                               "data.train_shards='train-{0..1}.tar'")
        self.assertEqual(told, expected)
        self.assertIn(f"{self.server.num_faults} reads were tried again", said)
        expected, _ = self.info(self.bucket / "packed")
        told, _ = self.info(f"{self.server.url}/bucket/packed", "--format", "packed")
        self.assertEqual(told, expected)
        result = self.run_data("info", f"{self.server.url}/bucket/tars", code=3)
        self.assertIn("--format", result.err)

    def test_parquet_is_read_in_place(self):
        parquet = self.bucket / "parquet"
        parquet.mkdir()
        for number in range(2):
            shutil.copy(GOLDEN / "data/parquet/photos.parquet", parquet / f"train-{number:05d}.parquet")
        named = ["--format", "parquet", "data.train_files='train-{00000..00001}.parquet'"]
        expected, _ = self.info(parquet, *named)
        self.server.every, self.server.faults = 3, ALL_FAULTS
        for place in ("s3://bucket/parquet", f"{self.server.url}/bucket/parquet"):
            told, said = self.info(place, *named)
            self.assertEqual(told, expected)
            self.assertIn("were tried again, 0 given up", said)
            self.assertIn("16 samples", self.run_data("verify", place, *named, "--split", "train").out)

    def test_retries_are_bounded(self):
        self.server.every, self.server.faults = 1, ["throttle"]
        start = time.monotonic()
        result = self.run_data("info", "s3://bucket/tars", "data.remote.retries=2", code=3)
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn("given up after 3 tries", result.err)
        self.assertIn("s3://bucket/tars/train-", result.err)
        self.assertIn("data.remote.retries", result.err)

    def test_refusals_are_explained_at_once(self):
        for status, code, cure in ((403, "ExpiredToken", "expired"), (403, "AccessDenied", "s3:GetObject"),
                                   (403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
                                   (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY")):
            self.server.refusal = (status, code)
            result = self.run_data("info", "s3://bucket/images", code=3)
            self.assertIn(cure, result.err, code)
            self.assertIn("s3://bucket/images", result.err)
            self.assertNotIn("tried again", result.err)
        self.server.refusal = None
        self.assertIn("no such", self.run_data("info", "s3://absent/images", code=3).err)
        self.assertIn("no such", self.run_data("info", "s3://bucket/absent", code=3).err)

    def test_damage_on_the_way_is_noticed(self):
        self.server.every, self.server.faults = 10, ["flip"]
        self.assertIn("36 samples", self.run_data("verify", "s3://bucket/packed", "--no-decode").out)
        self.assertGreater(self.server.num_faults, 0)

    def test_the_cache_saves_all_reads(self):
        settings = [f"data.remote.cache={self.root / 'cache'}", "data.remote.cache_gb=1"]
        home = self.root / "home"
        for name in ("images", "tars", "packed"):
            first, _ = self.info(f"s3://bucket/{name}", *settings, home=home)
            before = self.server.bytes_requests
            second, said = self.info(f"s3://bucket/{name}", *settings, home=home)
            self.assertEqual(second, first)
            self.assertIn("0 from elsewhere", said)
            self.assertEqual(self.server.bytes_requests, before, name)

    def test_training_is_the_same(self):
        settings = ["train.duration=2ep", "data.global_batch_size=12", "data.image_size=32", "train.eval_every=1ep"]
        recipe = self.write_recipe()
        os.environ.update(self.server.environment() | {"XDG_CACHE_HOME": str(self.root / "training-home")})
        self.server.every, self.server.faults = 4, ALL_FAULTS
        runs = []
        for name, where in (("here", self.bucket / "images"), ("there", "s3://bucket/images")):
            runs.append(self.run_directory(f"trained-{name}"))
            self.train(recipe, "--run-dir", runs[-1], "data.name=image_folder", f"data.path={where}", *settings)
        metrics = [(run / "metrics.jsonl").read_text().splitlines() for run in runs]
        losses = [[json.loads(line).get("train/loss") for line in lines] for lines in metrics]
        self.assertEqual(losses[0], losses[1])
        self.assertGreater(self.server.num_faults, 0)

    def begin(self, name, nproc, *settings):
        """Endless training from the server; the process and its run."""
        run = self.run_directory(name)
        env = environment(XDG_CACHE_HOME=self.root / f"home-{name}", **self.server.environment())
        process = start("train", self.write_recipe(), "--nproc", nproc, "--run-dir", run, "--grace", 60,
                        "data.name=image_folder", "data.path=s3://bucket/images", "data.global_batch_size=12",
                        "data.image_size=32", "data.remote.retries=100", "train.duration=1000000ba",
                        "train.eval_every=1000000ba", "checkpoint.every=1000000ba", *settings, cwd=self.root, env=env)
        self.addCleanup(lambda: process.poll() is None and kill(process))
        return process, run

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        words, _ = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, 143, words)
        return words

    def wait_for_pauses(self):
        """Until reads have failed several times: the pauses before the next tries last seconds."""
        before = self.server.requests
        wait_until(lambda: self.server.requests > before + 1, "reads that fail")
        time.sleep(1)

    def test_a_stop_in_a_pause_between_retries_saves(self):
        for nproc in (1, 2):
            self.server.refusal, self.server.refused = (503, "SlowDown"), LATE_IMAGE
            process, run = self.begin(f"paused-{nproc}", nproc)
            metrics = run / "metrics.jsonl"
            wait_until(lambda: process.poll() is not None or
                       (metrics.exists() and "train/loss" in metrics.read_text()), "a step")
            self.assertIsNone(process.poll(), process.poll() is not None and process.stdout.read())
            time.sleep(2)  # by now a step waits for that image, and its read for the next try
            self.stop(process)
            last = max(line["step"] for line in read_metrics(run) if "train/loss" in line)
            self.assertEqual([path.name for path in checkpoints(run)], [f"step-{last:08d}"])
            self.server.refusal = None
            self.train("--resume", "auto", self.write_recipe(), "--nproc", nproc, "--run-dir", run,
                       "data.name=image_folder", "data.path=s3://bucket/images", "data.global_batch_size=12",
                       "data.image_size=32", f"train.duration={last + 10}ba", "checkpoint.every=1000000ba",
                       env=environment(**self.server.environment()))

    def test_a_stop_in_a_pause_at_the_start_ends_it(self):
        self.server.refusal = (503, "SlowDown")
        process, run = self.begin("never", 2)
        self.wait_for_pauses()
        self.assertIn("stopped by SIGTERM while waiting before s3://bucket/images", self.stop(process))
        self.assertEqual(checkpoints(run), [])


if __name__ == "__main__":
    unittest.main()
