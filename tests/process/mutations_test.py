"""Damaged checkpoints, weights and recipes: what is read is right or refused with its exit code, never a signal."""

import json
import os
import random
import shutil
import unittest

from paceline_process import RunTest, checkpoints, paceline

NUM_MUTATIONS = int(os.environ.get("PACELINE_NUM_MUTATIONS", "12"))  # of each kind; 300 as a soak
CONFIG, CHECKPOINT, DIVERGED = 2, 5, 6


def mutate(content, draws):
    """Damages bytes in the ways that disks, copies and attackers do."""
    content = bytearray(content)
    for _ in range(draws.randint(1, 3)):
        at, length = draws.randrange(len(content)), draws.randint(1, 16)
        kind = draws.randrange(6)
        if kind == 0:
            content[at] ^= 1 << draws.randrange(8)
        elif kind == 1:
            content[at:at + 1] = draws.randbytes(1)
        elif kind == 2:
            del content[max(at, 1):]
        elif kind == 3:
            content[at:at + length] = draws.choice((b"\0", b"\xff")) * len(content[at:at + length])
        elif kind == 4 and len(content) > length:
            del content[at:at + length]
        else:
            begin = draws.randrange(len(content))
            content[at:at] = content[begin:begin + length]
    return bytes(content)


class Mutations(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recipe = cls.write_recipe(cls)
        cls.run_folder = cls.root / "runs" / "whole"
        trained = paceline("train", cls.recipe, "--nproc", 2, "--run-dir", cls.run_folder, "parallel.strategy=fsdp",
                           "train.duration=5ba", cwd=cls.root)
        assert trained.code == 0, trained
        cls.whole = checkpoints(cls.run_folder)[-1]

    def expect(self, result, codes, number):
        """One clear error, or none."""
        self.assertIn(result.code, codes, f"mutation {number}: {str(result)[:2000]}")
        self.assertEqual(result.err.count("error: "), int(result.code != 0), f"mutation {number}: {str(result)[:2000]}")

    def evaluated(self, checkpoint):
        result = paceline("eval", checkpoint, "--json", cwd=self.root)
        return result, json.loads(result.out)["metrics"] if result.code == 0 else None

    def test_checkpoints_load_equal_or_not_at_all(self):
        draws = random.Random(17)
        _, expected = self.evaluated(self.whole)
        self.assertIsNotNone(expected)
        mutated = self.root / self.whole.name
        num_refused = 0
        for number in range(NUM_MUTATIONS):
            shutil.rmtree(mutated, ignore_errors=True)
            shutil.copytree(self.whole, mutated)
            victim = draws.choice(sorted(mutated.iterdir()))
            victim.write_bytes(mutate(victim.read_bytes(), draws))
            result, metrics = self.evaluated(mutated)
            self.expect(result, (0, CHECKPOINT), number)
            if result.code == 0:
                self.assertEqual(metrics, expected, f"mutation {number} of {victim.name}")
            num_refused += result.code == CHECKPOINT
        self.assertGreater(num_refused, NUM_MUTATIONS // 2)

    def test_weights_are_read_or_refused(self):
        """A file of weights has no checksums: a number of it may be another, but nothing that is no number."""
        draws = random.Random(19)
        weights = self.root / "weights.safetensors"
        self.assertEqual(paceline("export", self.run_folder, "-o", weights).code, 0)
        content = weights.read_bytes()
        header = int.from_bytes(content[:8], "little") + 8
        num_refused = 0
        for number in range(NUM_MUTATIONS):
            # Every other time only the header, where most of the ways to go wrong are.
            cut = header if number % 2 else len(content)
            weights.write_bytes(mutate(content[:cut], draws) + content[cut:])
            result = paceline("train", self.recipe, f"model.pretrained={weights}", "--run-dir",
                              self.root / "runs" / f"weights-{number}", "train.duration=1ba", "schedule=constant",
                              "checkpoint.every=null", cwd=self.root)
            self.expect(result, (0, CHECKPOINT, DIVERGED), number)  # a weight of 1e38 diverges
            num_refused += result.code == CHECKPOINT
        self.assertGreater(num_refused, NUM_MUTATIONS // 4)

    def test_recipes_are_sound_or_refused(self):
        draws = random.Random(23)
        content = self.recipe.read_bytes()
        mutated = self.root / "mutated.yaml"
        num_refused = 0
        for number in range(NUM_MUTATIONS):
            mutated.write_bytes(mutate(content, draws))
            result = paceline("config", "check", mutated, cwd=self.root, timeout=20)
            self.assertIn(result.code, (0, CONFIG), f"mutation {number}: {str(result)[:2000]}")
            num_refused += result.code == CONFIG
        self.assertGreater(num_refused, NUM_MUTATIONS // 4)


if __name__ == "__main__":
    unittest.main()
