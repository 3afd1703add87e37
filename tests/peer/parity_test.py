"""The golden files are what the references say today, and docs/parity.md, which this writes, what paceline makes of them."""

import ast
import collections
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from paceline_process import environment

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
BUILD = pathlib.Path(os.environ["PACELINE_BUILD"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
PAGE = ROOT / "docs" / "parity.md"
# Composer wants an older torch, in an environment of its own; old versions of checkpoints and of formats stay as they are.
ELSEWHERE = ("mosaicml", "Made with NumPy")
FOLDERS = ("algorithms", "app", "data/codec", "data/transforms", "models", "nn", "optim", "parallel", "recipes", "train")
# Of the largest of the numbers beside each other: float32 on another processor, whose kernels add up in another order.
TOLERANCE = 2e-5
MODULES = ("algorithms", "app", "data", "models", "nn", "optim", "parallel", "train")

HEAD = """# Parity

Written by `./dev test -L peer`, which also has every golden file made anew by its reference (but Composer's, which need
an environment of their own) and compared. A row is a quantity of a component: the largest difference between paceline's
number and the reference's that any of its golden tests saw, as a share of the number, or of 1 where it is smaller, or
of the largest element where the row says so. What has to be equal, such as names, shapes, counts and the bytes of
images, is compared by tests without a row: {num_exact} tests of golden files passed, {num_noted} of them with rows.
"""


def docstring(script):
    return " ".join((ast.get_docstring(ast.parse(script.read_text())) or "").split())


def scripts():
    found = [script for folder in FOLDERS for script in sorted((GOLDEN / folder).glob("make_*.py"))]
    return [script for script in found if not any(word in docstring(script) for word in ELSEWHERE)]


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def numbers_differ(a, b, most):
    return not (a == b or abs(a - b) <= most or (math.isnan(a) and math.isnan(b)))


def differences(kept, made, where="", allowed=TOLERANCE, size=1.0):
    """Of two contents; `size` is that of the largest number beside these, or of those that they are made of."""
    if isinstance(kept, dict) and isinstance(made, dict) and kept.keys() == made.keys():
        if "grad_norm" in kept:  # its gradients are told by sums of them, whose errors need not cancel: see the models' tests
            allowed, size = 4 * TOLERANCE, kept["grad_norm"] / 200
        return [each for key in kept for each in differences(kept[key], made[key], f"{where}/{key}", allowed, size)]
    if isinstance(kept, list) and isinstance(made, list) and len(kept) == len(made):
        size = max([size, *(abs(value) for value in kept if is_number(value) and math.isfinite(value))])
        return [each for i, pair in enumerate(zip(kept, made)) for each in differences(*pair, f"{where}/{i}", allowed, size)]
    are_numbers = is_number(kept) and is_number(made)
    if are_numbers and math.isfinite(kept):
        size = max(size, abs(kept))
    if numbers_differ(kept, made, allowed * size) if are_numbers else kept != made:
        return [f"{where}: {str(kept)[:60]} in the tree, {str(made)[:60]} made anew"]
    return []


def content(path):
    """Numbers as numbers, the rest as it is."""
    if path.suffix == ".json":
        return json.loads(path.read_text())
    if path.suffix not in (".tsv", ".txt"):
        return path.read_bytes().hex()

    def word(text):
        return float(text) if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", text) else text

    return [[word(text) for text in line.split()] for line in path.read_text().splitlines()]


class Parity(unittest.TestCase):
    def test_golden_files_are_what_the_references_say(self):
        for script in scripts():
            with self.subTest(script=str(script.relative_to(GOLDEN))), tempfile.TemporaryDirectory() as folder:
                shutil.copytree(GOLDEN, folder, dirs_exist_ok=True)  # one script may use another
                copy = pathlib.Path(folder) / script.parent.relative_to(GOLDEN)
                before = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}
                run = subprocess.run([PYTHON, copy / script.name], cwd=copy, capture_output=True, text=True,
                                     env=environment(OMP_NUM_THREADS="1"), timeout=900)
                self.assertEqual(run.returncode, 0, run.stderr[-2000:])
                made = [path for path in copy.rglob("*") if path.is_file() and "__pycache__" not in path.parts
                        and path.stat().st_mtime_ns != before.get(path)]
                self.assertTrue(made, "the script wrote nothing")
                for path in made:
                    kept = script.parent / path.relative_to(copy)
                    self.assertEqual(differences(content(kept), content(path))[:5], [], kept.name)

    def test_write_the_page(self):
        rows, num_exact, num_noted = collections.defaultdict(dict), 0, 0
        for module in MODULES:
            for test in self.golden_tests(module):
                notes = {key: value for key, value in test.items() if key.startswith("parity|")}
                num_exact, num_noted = num_exact + 1, num_noted + bool(notes)
                for key, value in notes.items():
                    rows[self.reference_of(test)][tuple(key.split("|")[1:])] = value
        self.assertGreater(num_noted, 10)
        lines = [HEAD.format(num_exact=num_exact, num_noted=num_noted)]
        for reference, table in sorted(rows.items()):
            lines += [f"## {reference}\n", "| component | quantity | largest difference |", "|---|---|---|"]
            lines += [f"| {component} | {quantity} | {value} |" for (component, quantity), value in sorted(table.items())]
            lines.append("")
        PAGE.write_text("\n".join(lines))

    def golden_tests(self, module):
        """The results of the tests under tests/golden of a module, all of which must pass."""
        with tempfile.TemporaryDirectory() as folder:
            result = pathlib.Path(folder) / "result.json"
            sources = [path.read_text() for path in (GOLDEN / module).rglob("*_test.cpp")]
            suites = sorted({suite for text in sources for suite in re.findall(r"^TEST(?:_[FP])?\((\w+),", text, re.M)})
            filters = ":".join(f"*{suite}*" for suite in suites)
            run = subprocess.run([BUILD / "bin" / f"{module}_test", f"--gtest_filter={filters}",
                                  f"--gtest_output=json:{result}"], cwd=BUILD / "tests", capture_output=True, text=True,
                                 env=environment(OMP_WAIT_POLICY="passive", TORCH_FR_BUFFER_SIZE="0"), timeout=900)
            self.assertEqual(run.returncode, 0, run.stdout[-3000:])
            tests = [test for suite in json.loads(result.read_text())["testsuites"] for test in suite["testsuite"]]
            return [test for test in tests if "tests/golden/" in test["file"]]

    def reference_of(self, test):
        """What the script says of itself that wrote the golden file of a test."""
        source = ROOT / test["file"][test["file"].index("tests/golden/"):]
        files = re.findall(r"(\w+\.(?:json|tsv|txt))\"", source.read_text()) or [source.stem.removesuffix("_test")]
        own = GOLDEN / source.relative_to(GOLDEN).parts[0]
        for script in sorted(GOLDEN.rglob("make_*.py"), key=lambda script: (own not in script.parents, script)):
            text = docstring(script)
            if any(file in script.read_text() for file in files):
                return re.sub(r"^\w+ [^:]*: ", "", text.split(". ")[0]).rstrip(".")
        self.fail(f"no script wrote {files}, which {source.name} reads")


if __name__ == "__main__":
    unittest.main()
