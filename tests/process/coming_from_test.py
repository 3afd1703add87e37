"""docs/coming-from.md: the program takes every line that the page tells people to write."""

import pathlib
import re
import shlex
import unittest

from paceline_process import RunTest, paceline

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
RECIPE = "data: {name: image_folder, path: /data/birds}\n"
OVERRIDE = re.compile(r"^(\+\+|\+|~)?[a-z_]+(\.[a-z_0-9]+)*(=.*)?$", re.DOTALL)


def cells():
    """Our side of each row: the code in it."""
    for line in PAGE.read_text().splitlines():
        columns = re.split(r"(?<!\\)\|", line)
        if len(columns) >= 4 and not set(columns[1]) <= set(" -") and columns[1].strip() != "there":
            yield line, re.findall(r"`([^`]+)`", columns[-2])


def overrides_in(code):
    """The overrides of a piece of code, or nothing if it is something else."""
    words = shlex.split(code)
    return words if words and all(map(OVERRIDE.match, words)) and any("=" in word for word in words) else []


class ComingFrom(RunTest):
    def setUp(self):
        super().setUp()
        self.recipe = self.root / "recipe.yaml"
        self.recipe.write_text(RECIPE)
        for name in ("weights.safetensors", "FILE.safetensors"):
            (self.root / name).write_bytes((2).to_bytes(8, "little") + b"{}")  # without tensors

    def test_every_key_is_taken(self):
        num_checked = 0
        for line, pieces in cells():
            for piece in pieces:
                overrides = overrides_in(piece)
                if not overrides or "model.pretrained=runs/" in piece:  # there is no such run here
                    continue
                if not any(word.startswith("data.path") for word in overrides):
                    overrides.append("data.path=/data/birds")
                with self.subTest(line=line):
                    result = paceline("config", "check", self.recipe, *overrides, cwd=self.root)
                    self.assertEqual(result.code, 0, f"{piece}\n{result}")
                    num_checked += 1
        self.assertGreater(num_checked, 55)

    def test_every_command_is_known(self):
        helps = {}
        num_checked = 0
        for line, pieces in cells():
            for piece in pieces:
                words = shlex.split(piece)
                if words[0] != "paceline":
                    continue
                verb = words[1]
                if verb not in helps:
                    result = paceline(verb, "--help")
                    self.assertEqual(result.code, 0, str(result))
                    helps[verb] = result.out + result.err
                options = [word for word in words[2:words.index("--") if "--" in words else None] if word[0] == "-"]
                with self.subTest(line=line):
                    for option in options:
                        self.assertRegex(helps[verb], rf"(^|[\s,]){re.escape(option)}($|[\s,={{])")
                    num_checked += 1
        self.assertGreater(num_checked, 15)


if __name__ == "__main__":
    unittest.main()
