"""paceline data: what info, verify and pack say and leave behind, and that a packed set trains as its source."""

import json
import shutil
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

    def test_progress_in_a_pipe_is_ten_lines(self):
        lines = [line for line in self.synth.err.splitlines() if " of 48 images, " in line]
        self.assertEqual(len(lines), 10, self.synth.err)
        self.assertRegex(lines[4], r"^paceline: 2\d of 48 images, \d+/s, .* left$")
        self.assertRegex(lines[-1], r"^paceline: 48 of 48 images, \d+/s$")

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

    def test_verify_lists_every_damaged_file(self):
        folder = self.copy("damaged")
        self.assertIn("36 samples", self.run_data("verify", folder).out)
        victims = sorted(folder.glob("train/*/*.jpg"))[3:30:13]
        for victim in victims:
            victim.write_bytes(victim.read_bytes()[:-100])
        result = self.run_data("verify", folder, code=3)
        self.assertEqual(result.err.count("error: "), 1)
        self.assertIn(f"{len(victims)} damaged", result.err)
        self.assertEqual([str(victim) in line for victim, line in zip(victims, result.out.splitlines(), strict=True)],
                         [True] * len(victims))

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
        self.run_data("pack", self.images, "-o", packed, "--split", "train")
        shard = sorted(packed.glob("train/shard-*.pack"))[2]
        damaged = bytearray(shard.read_bytes())
        damaged[100] ^= 4  # in the first payload
        shard.write_bytes(damaged)
        result = self.run_data("verify", packed, "--no-decode", code=3)
        self.assertRegex(result.out, rf"{shard.name}, sample \w+.jpg.*checksum")
        self.assertIn("1 damaged", result.err)

    def test_parts_of_several_machines_complete_each_other(self):
        packed = self.root / "parts"
        first = self.run_data("pack", self.images, "-o", packed, "--shard", "1/2", "--shuffle", 7)
        self.assertIn("are still to come from other parts", first.err + first.out)
        self.run_data("info", packed, code=3)
        second = self.run_data("pack", self.images, "-o", packed, "--shard", "2/2", "--shuffle", 7)
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

    def test_bench_names_what_limits(self):
        told = json.loads(self.run_data("bench", self.images, "--samples", 64, "--threads", 2, "--json", "--feeds",
                                        "1").out)
        self.assertGreater(told["images_per_s"], 0)
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
                (2, "--mode", ("pack", self.images, "-o", self.root / "x", "--mode", "9")),
                (2, "--feeds wants", ("bench", self.images, "--feeds", "h900")),
                (2, "subset", ("info", self.images, "data.subset=huge"))):
            result = self.run_data(*arguments, code=code)
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)


if __name__ == "__main__":
    unittest.main()
