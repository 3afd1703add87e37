"""Images and archives at the edge of what is sound: used as they are, or one error that names them; never a crash."""

import os
import shutil
import struct
import unittest
import zlib

from paceline_process import TIMEOUT_S, RunTest, kill, paceline, read_metrics, start, wait_until

DATA = 3


def png(width, height, row):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    compress = zlib.compressobj(9)
    rows = b"".join(compress.compress(b"\0" + row) for _ in range(height)) + compress.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + \
        chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def bmp(width, height):
    pixels = bytes(range(3 * width)) * height
    return struct.pack("<2sIHHI", b"BM", 54 + len(pixels), 0, 0, 54) + \
        struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(pixels), 0, 0, 0, 0) + pixels


def npy(dtype, shape, content):
    header = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


class OddData(RunTest):
    def copy(self, name):
        copy = self.root / name
        shutil.copytree(self.data, copy)
        return copy, sorted((copy / "train").iterdir())[1]

    def test_an_image_that_is_all_height(self):
        """Resized by its short side it would take gigabytes."""
        data, folder = self.copy("long")
        (folder / "long.png").write_bytes(png(1, 60000, b"\x10\x20\x30"))
        transforms = "data.train_transforms=[{name: resize, size: 256}, {name: center_crop, size: 32}]"
        run = self.run_directory("long")
        result = paceline("train", self.write_recipe(), "--run-dir", run, f"data.path={data}", "data.on_error=skip", transforms,
                          "train.duration=1ep", cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        self.assertEqual([line["step"] for line in read_metrics(run) if "train/loss" in line], list(range(1, 7)))

    def test_no_image_is_left_out_in_silence(self):
        data, folder = self.copy("formats")
        (folder / "a.bmp").write_bytes(bmp(40, 40))
        (folder / "b.ppm").write_bytes(b"P6 40 40 255\n" + bytes(4800))
        (folder / "c.pgm").write_bytes(b"P5 40 40 255\n" + bytes(1600))
        (folder / "d.jpg").symlink_to(self.root / "gone.jpg")
        (folder / "e.txt").write_text("no image")
        result = paceline("data", "info", data, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        words = result.out + result.err
        self.assertIn("63 samples", words)
        for left_out in ("d.jpg", "e.txt"):
            self.assertIn(left_out, words)
        self.train(self.write_recipe(), "--run-dir", self.run_directory("formats"), f"data.path={data}", "train.duration=1ep",
                   "schedule=constant")

    def test_a_pickle_that_is_nested_without_end(self):
        folder = self.root / "cifar-10-batches-py"
        folder.mkdir()
        bomb = b"\x80\x02" + b"(" * 200_000 + b"t" * 200_000 + b"."
        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch", "batches.meta"]:
            (folder / name).write_bytes(bomb)
        result = paceline("data", "info", folder, cwd=self.root)
        self.assertEqual(result.code, DATA, str(result)[:2000])
        self.assertEqual(result.err.count("error: "), 1, str(result)[:2000])

    def test_a_class_that_the_sampler_never_draws_does_not_come_back(self):
        """What cannot be read is replaced by what the sampler draws: here one class of four."""
        data, _ = self.copy("weighted")
        drawn = sorted((data / "train").iterdir())[0]
        sorted(drawn.iterdir())[0].write_bytes(b"")
        (self.root / "weights.txt").write_text("1\n0\n0\n0\n")
        run = self.run_directory("weighted")
        self.train(self.write_recipe(), "--run-dir", run, f"data.path={data}", "data.on_error=skip", "train.duration=80ba",
                   "train.eval_every=1000ba", f"data.sampler={{name: weighted, file: {self.root / 'weights.txt'}}}")
        losses = [line["train/loss"] for line in read_metrics(run) if "train/loss" in line]
        self.assertLess(max(losses[-50:]), 0.5, "there is only one class to learn")

    def test_a_file_that_is_cut_short_under_a_run(self):
        """It is mapped: reading past its end would be SIGBUS."""
        folder = self.root / "npy"
        folder.mkdir()
        for split in ("train", "val"):
            (folder / f"{split}_images.npy").write_bytes(npy("|u1", (1000, 32, 32, 3), bytes(1000 * 3072)))
            (folder / f"{split}_labels.npy").write_bytes(npy("<i8", (1000,), bytes(8000)))
        run = self.run_directory("cut-short")
        process = start("train", self.write_recipe(), "--nproc", 2, "--run-dir", run, "data.name=npy", f"data.path={folder}",
                        "train.duration=1000000ba", "train.eval_every=1000000ba", "checkpoint.every=null", cwd=self.root)
        self.addCleanup(kill, process)
        wait_until(lambda: process.poll() is not None or (run / "metrics.jsonl").exists(), "the first steps")
        os.truncate(folder / "train_images.npy", 4096)
        output, _ = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, DATA, output)
        self.assertIn("train_images.npy", output)


if __name__ == "__main__":
    unittest.main()
