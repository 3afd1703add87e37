"""paceline data: what info, verify and pack say and leave behind, and that a packed set trains as its source."""

import json
import shutil
import struct
import unittest

from paceline_process import RunTest, paceline, read_metrics


class Data(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.images = cls.root / "images"
        cls.synth = paceline("data", "synth", cls.images, "--classes", 3, "--train-per-class", 12, "--val-per-class", 4,
                             "--min-size", 20, "--max-size", 40)
        assert cls.synth.code == 0, str(cls.synth)

    def run_data(self, *arguments, code=0):
        result = paceline("data", *arguments, cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def copy(self, name):
        copy = self.root / name
        shutil.copytree(self.images, copy)
        return copy

    def test_short_work_tells_no_progress_in_a_pipe(self):
        self.assertNotIn(" of 48 images, ", self.synth.err)

    def test_info_counts_and_measures(self):
        told = json.loads(self.run_data("info", self.images, "--json").out)
        self.assertEqual(told["samples"], 36)
        self.assertEqual(set(told["classes"].values()), {12})
        self.assertEqual(sum(told["formats"].values()), 36)
        self.assertLessEqual(20, told["width"]["smallest"])
        self.assertLessEqual(told["height"]["largest"], 40)
        text = self.run_data("info", self.images, "--split", "val").out
        self.assertIn("12 samples in 3 classes", text)
        self.assertRegex(text, r"4 +3 classes #+")
        self.assertRegex(text, r"JPEG baseline 4:\d:\d +12 +100.0 %")

    def test_what_is_left_out_is_told_once(self):
        folder = self.copy("with-notes")
        notes = sorted((folder / "train").iterdir())[0] / "notes.txt"
        notes.write_text("no image")
        told = self.run_data("info", folder, "--json")
        name = str(notes.relative_to(folder / "train"))
        self.assertEqual(json.loads(told.out)["left_out"], {"count": 1, "first": name})
        self.assertEqual(told.err.count("left out"), 1, told.err)
        trained = self.train(self.write_recipe(), "--nproc", 2, "--dry-run", "data.name=image_folder",
                             f"data.path={folder}", "data.global_batch_size=12", "data.image_size=32")
        self.assertEqual((trained.out + trained.err).count("are left out"), 1, str(trained))

    def test_verify_lists_every_damaged_file(self):
        folder = self.copy("damaged")
        self.assertIn("36 samples", self.run_data("verify", folder).out)
        victims = sorted(folder.glob("train/*/*.jpg"))[3:30:13]
        for victim in victims:
            victim.write_bytes(victim.read_bytes()[:-100])
        result = self.run_data("verify", folder, code=3)
        self.assertEqual(result.err.count("error: "), 1)
        self.assertIn(f"{len(victims)} damaged sample", result.err)
        *named, train, val = result.out.splitlines()
        self.assertEqual([str(victim) in line for victim, line in zip(victims, named, strict=True)],
                         [True] * len(victims))
        self.assertRegex(train, f"^train: 36 samples, .*: {len(victims)} damaged$")
        self.assertRegex(val, "^val: 12 samples, .*: 0 damaged$")

    def test_verify_reads_both_parts_and_tells_of_empty_classes(self):
        folder = self.copy("half-empty")
        self.assertNotIn("no sample", self.run_data("verify", folder).err)
        victim = sorted(folder.glob("val/*/*.jpg"))[0]
        shutil.rmtree(victim.parent)
        told = self.run_data("verify", folder)
        self.assertIn(f"val: 1 of 3 classes have no sample: {victim.parent.name}", told.err)
        shutil.copytree(folder / "train", self.root / "train-only" / "train")
        told = self.run_data("verify", self.root / "train-only")
        self.assertIn("no validation part", told.err)
        self.assertIn("train: 36 samples", told.out)
        (self.root / "train-only" / "val" / "unknown").mkdir(parents=True)
        told = self.run_data("verify", self.root / "train-only", code=3)
        self.assertIn("--split train verifies the training part alone", told.err)
        self.assertNotIn("damaged", told.out)
        victim = sorted(folder.glob("val/*/*.jpg"))[-1]
        victim.write_bytes(b"no image")
        self.assertIn(str(victim), self.run_data("verify", folder, code=3).out)
        self.assertNotIn(str(victim), self.run_data("verify", folder, "--split", "train").out)

    def test_a_packed_set_trains_as_its_source(self):
        packed = self.root / "packed"
        result = self.run_data("pack", self.images, "-o", packed, "--samples-per-shard", 10)
        self.assertIn("complete; 4 shards written", result.err + result.out)
        self.assertIn("36 samples, ", self.run_data("verify", packed).out)
        settings = ["train.duration=2ep", "data.global_batch_size=12", "data.image_size=32", "train.eval_every=1ep"]
        recipe = self.write_recipe()
        runs = []
        for name, where in (("image_folder", self.images), ("packed", packed)):
            runs.append(self.run_directory(f"trained-on-{name}"))
            self.train(recipe, "--run-dir", runs[-1], f"data.name={name}", f"data.path={where}", *settings)
        self.assertEqual(read_metrics(runs[0]), read_metrics(runs[1]))

    def test_a_flipped_bit_is_found_and_named(self):
        packed = self.root / "flipped"
        self.run_data("pack", self.images, "-o", packed, "--samples-per-shard", 2)
        shard = sorted(packed.glob("train/shard-*.pack"))[2]
        damaged = bytearray(shard.read_bytes())
        damaged[100] ^= 4  # in the first payload
        shard.write_bytes(damaged)
        result = self.run_data("verify", packed, "--no-decode", code=3)
        self.assertRegex(result.out, rf"{shard.name}, sample \w+.jpg.*checksum")
        self.assertIn("1 damaged sample", result.err)

    def test_parts_of_several_machines_complete_each_other(self):
        packed = self.root / "parts"
        size = ("--samples-per-shard", 5)
        first = self.run_data("pack", self.images, "-o", packed, *size, "--shard", "1/2", "--shuffle", 7)
        self.assertIn("are still to come from other parts", first.err + first.out)
        self.run_data("info", packed, code=3)
        second = self.run_data("pack", self.images, "-o", packed, *size, "--shard", "2/2", "--shuffle", 7)
        self.assertIn("complete", second.err + second.out)
        told = [json.loads(self.run_data("info", where, "--json").out) for where in (self.images, packed)]
        self.assertEqual(told[0]["classes"], told[1]["classes"])
        self.assertNotEqual(told[0]["fingerprint"], told[1]["fingerprint"])

    def test_a_subset_is_packed(self):
        packed = self.root / "subset"
        self.run_data("pack", self.images, "-o", packed, "--mode", "pixels", "data.subset=9")
        told = json.loads(self.run_data("info", packed, "--json").out)
        self.assertEqual(told["formats"], {"pixels": 9})
        self.assertEqual(set(told["classes"].values()), {3})

    def test_a_subset_is_written(self):
        part = self.root / "part"
        result = self.run_data("subset", self.images, "-o", part, "--size", 9, "--val-size", 6, "--mode", "coefficients")
        self.assertEqual((result.err + result.out).count("complete"), 2)
        told = [json.loads(self.run_data("info", part, "--json", "--split", split).out) for split in ("train", "val")]
        self.assertEqual([set(each["classes"].values()) for each in told], [{3}, {2}])
        same = json.loads(self.run_data("info", self.images, "--json", "data.subset=9").out)
        self.assertEqual(same["classes"], told[0]["classes"])
        other = self.root / "other-part"
        self.run_data("subset", self.images, "-o", other, "--size", 9, "--seed", 1)
        self.assertEqual(json.loads(self.run_data("info", other, "--json", "--split", "val").out)["samples"], 12)

    def test_show_prints_and_draws(self):
        sheet = self.root / "sheet.png"
        lines = self.run_data("show", self.images, "--indices", "0,35,5", "--tile", 32, "-o", sheet).out.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["0", "35", "5"])
        self.assertRegex(lines[1], r"^35  label 2  \w+  /.*\.jpg  \d+x\d+  JPEG baseline 4:2:0$")
        header = sheet.read_bytes()[:24]
        self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", header[16:]), (76, 76))  # two rows and columns of 32 and gaps of 4
        drawn = self.run_data("show", self.images, "--split", "val", "--count", 5, "--seed", 3).out
        self.assertEqual(len(drawn.splitlines()), 5)
        self.assertEqual(drawn, self.run_data("show", self.images, "--split", "val", "--count", 5, "--seed", 3).out)
        self.assertNotEqual(drawn, self.run_data("show", self.images, "--split", "val", "--count", 5).out)

    def test_show_draws_what_training_gets(self):
        sheets = [self.root / f"augmented-{seed}.png" for seed in (1, 2, 1)]
        for seed, sheet in zip((1, 2, 1), sheets):
            self.run_data("show", self.images, "data.image_size=32", "--indices", "1,2,3,4", "--augmented", "--seed", seed,
                          "-o", sheet)
        same, other, again = (sheet.read_bytes() for sheet in sheets)
        self.assertEqual(same, again)
        self.assertNotEqual(same, other)

    def write_cifar10(self, folder, records_per_file):
        folder.mkdir()
        (folder / "batches.meta.txt").write_text("".join(f"class{i}\n" for i in range(10)))
        records = b"".join(bytes([i]) + bytes(3072) for i in range(10)) * (records_per_file // 10)
        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
            (folder / f"{name}.bin").write_bytes(records)
        return folder

    def test_prepare_packs_what_was_published(self):
        source = self.write_cifar10(self.root / "cifar-10-batches-bin", 10_000)
        prepared = self.root / "prepared"
        result = self.run_data("prepare", "cifar10", "-o", prepared, "--from", source, "--shard", "2/2")
        self.assertIn("are still to come from other parts", result.err + result.out)
        result = self.run_data("prepare", "cifar10", "-o", prepared, "--from", source)
        self.assertEqual((result.err + result.out).count(": complete; "), 2)
        told = json.loads(self.run_data("info", prepared, "--json").out)
        self.assertEqual((told["samples"], set(told["classes"].values())), (50_000, {5_000}))
        result = self.run_data("prepare", "cifar10", "-o", prepared, "--from", source)
        self.assertIn("holds cifar10 already", result.err + result.out)
        shutil.rmtree(prepared)
        shutil.rmtree(source)

    def test_prepare_refuses_what_was_not_published(self):
        archive = self.root / "wrong" / "cifar-10-python.tar.gz"
        archive.parent.mkdir()
        archive.write_bytes(b"no such archive")
        source = self.write_cifar10(self.root / "small", 100)
        for code, text, arguments in (
                (3, "but that of the published file is c58f3010", ("cifar10", "--from", archive.parent)),
                (3, "but that of the published file is c58f3010", ("cifar10", "--from", archive)),
                (3, "500 images, expected 50,000", ("cifar10", "--from", source)),
                (3, "3 classes, expected 10", ("imagenette", "--from", self.images)),
                (2, "https://image-net.org", ("imagenet",)),
                (2, "did you mean imagenette?", ("imagenettes",)),
                (2, "--connections", ("cifar10", "--connections", "0"))):
            result = self.run_data("prepare", *arguments, "-o", self.root / "refused", code=code)
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)
            self.assertFalse((self.root / "refused" / "train").exists())

    def test_synth_writes_images_like_imagenet(self):
        folder = self.root / "like-imagenet"
        self.run_data("synth", folder, "--like", "imagenet", "--classes", 4, "--train-per-class", 15, "--val-per-class", 1)
        told = json.loads(self.run_data("info", folder, "--json").out)
        self.assertGreater(told["formats"]["JPEG baseline 4:4:4"], 40)
        self.assertAlmostEqual(told["size_bytes"]["mean"], 110e3, delta=25e3)
        result = self.run_data("synth", self.root / "x", "--like", "imagenet", "--quality", 80, code=2)
        self.assertIn("excludes", result.err)

    def test_synth_writes_digits(self):
        folder = self.root / "digits"
        self.run_data("synth", folder, "--like", "digits", "--train-per-class", 2, "--val-per-class", 1)
        told = json.loads(self.run_data("info", folder, "--json").out)
        self.assertEqual(told["formats"], {"JPEG baseline 4:4:4": 20})
        self.run_data("synth", folder, "--like", "letters", code=2)

    def test_bench_names_what_limits(self):
        told = json.loads(self.run_data("bench", self.images, "--samples", 64, "--threads", 2, "--json", "--feeds",
                                        "1").out)
        self.assertGreater(told["samples_per_s"], 0)
        self.assertIn(told["limit"], ("reading", "decoding", "transforms"))
        self.assertTrue(told["feeds"]["enough"])
        text = self.run_data("bench", self.images, "--samples", 64, "--feeds", "800xa100").out
        self.assertRegex(text, r"decoding +\d+ +\d+\.\d")
        self.assertRegex(text, r"feeds 1976000 images/s: no; it takes about \d+ threads")

    def test_bad_input_gets_one_clear_error(self):
        for code, text, arguments in (
                (2, "wants a command", ()),
                (2, "did you mean verify?", ("verfy", self.images)),
                (3, "no data set is known by the names in it", ("info", self.images / "train")),
                (3, "absent", ("info", self.root / "absent")),
                (2, "I/N", ("pack", self.images, "-o", self.root / "x", "--shard", "3/2")),
                (2, "--output", ("pack", self.images)),
                (2, "--size", ("subset", self.images, "-o", self.root / "x")),
                (2, "samples are 0 to 35", ("show", self.images, "--indices", "36")),
                (2, "--mode", ("pack", self.images, "-o", self.root / "x", "--mode", "9")),
                (2, "--feeds wants", ("bench", self.images, "--feeds", "h900")),
                (2, "--feeds wants", ("bench", self.images, "--feeds", "inf")),
                (2, "--feeds wants", ("bench", self.images, "--feeds", "1e300")),
                (2, "--samples", ("bench", self.images, "--samples", "9223372036854775807")),
                (2, "--threads", ("bench", self.images, "--threads", "2147483647")),
                (2, "--threads", ("info", self.images, "--threads", "-1")),
                (2, "--threads", ("verify", self.images, "--threads", "-1")),
                (2, "--threads", ("pack", self.images, "-o", self.root / "x", "--threads", "-1")),
                (2, "max_size", ("synth", self.root / "x", "--max-size", "2147483647")),
                (2, "train_per_class", ("synth", self.root / "x", "--train-per-class", "2147483647")),
                (2, "subset", ("info", self.images, "data.subset=huge"))):
            result = self.run_data(*arguments, code=code)
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)


if __name__ == "__main__":
    unittest.main()
