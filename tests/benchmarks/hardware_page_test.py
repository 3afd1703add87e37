"""tools/hardware_page.py: results of the GPU kit on the page, and what it does not take for a result."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import hardware_page  # noqa: E402
from hardware_page import BEGIN, END, PARTS, ResultError, page, read_results, section  # noqa: E402

RESULT = {"part": "equal", "date": "2026-12-01 10:00 UTC", "on": "GPU", "driver": "580.95.05", "gpus": ["GPU A", "GPU A"],
          "clocks": {"limits": [{"clocks.max.sm": "1980"}], "under_load": {"clocks.sm": {"min": 1410, "median": 1900, "max": 1980}}},
          "torch": "2.11.0+cu130", "program": "0.1.0", "commit": "0123456789ab",
          "rows": [{"name": "losses | ViT", "value": 1.25e-06, "unit": "", "result": "passed", "why": "tolerance 1e-4"},
                   {"name": "on several GPUs", "value": None, "unit": "", "result": "not run", "why": "there is one GPU"}]}


class HardwarePage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="paceline-hardware-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def commit(self, name="equal.json", **changes):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(RESULT | changes))

    def section(self):
        return section(read_results(self.folder))

    def test_a_part_without_a_result_is_not_run(self):
        self.assertEqual(self.section().count("Not run."), len(PARTS))
        self.commit()
        self.assertEqual(self.section().count("Not run."), len(PARTS) - 1)

    def test_a_result_tells_its_machine_and_its_rows(self):
        self.commit("machine/equal.json")
        written = self.section()
        self.assertIn("**2 x GPU A, driver 580.95.05, SM 1410 to 1980 MHz under load, of 1980 MHz, torch 2.11.0+cu130, "
                      "paceline 0.1.0 (0123456789ab), 2026-12-01 10:00 UTC**", written)
        self.assertIn("| losses \\| ViT | 1.25e-06 | passed | tolerance 1e-4 |", written)
        self.assertIn("| on several GPUs | – | not run | there is one GPU |", written)

    def test_of_a_machine_the_newest_counts(self):
        self.commit("a/equal.json", date="2026-12-03 10:00 UTC", program="0.3.0")
        self.commit("b/equal.json", date="2026-12-02 10:00 UTC", program="0.2.0")
        self.commit("c/equal.json", gpus=["GPU B"])
        written = self.section()
        self.assertIn("paceline 0.3.0", written)
        self.assertNotIn("paceline 0.2.0", written)
        self.assertIn("1 x GPU B", written)

    def test_many_passed_tests_are_their_number(self):
        rows = [{"name": f"Test.{number}", "value": None, "unit": "", "result": "passed", "why": ""} for number in range(20)]
        self.commit(rows=[*rows, {"name": "Test.Last", "value": None, "unit": "", "result": "failed", "why": "wrong"}])
        written = self.section()
        self.assertIn("20 passed.", written)
        self.assertNotIn("Test.3", written)
        self.assertIn("| Test.Last | – | failed | wrong |", written)

    def test_what_is_no_result_is_refused(self):
        for changes, word in (({"on": "CPU"}, "trial"), ({"part": "other"}, "no part other")):
            with self.subTest(changes):
                self.commit(**changes)
                self.assertRaisesRegex(ResultError, word, read_results, self.folder)
        (self.folder / "equal.json").write_text("{")
        self.assertRaisesRegex(ResultError, "equal.json", read_results, self.folder)
        (self.folder / "equal.json").write_text('{"part": "equal"}')
        self.assertRaisesRegex(ResultError, "without date", read_results, self.folder)

    def test_only_what_lies_between_the_marks_is_written(self):
        results = read_results(self.folder)
        written = page(f"before\n{BEGIN}\nold\n{END}\nafter\n", results)
        self.assertTrue(written.startswith(f"before\n{BEGIN}\n") and written.endswith(f"{END}\nafter\n"), written)
        self.assertNotIn("old", written)
        self.assertEqual(page(written, results), written)
        self.assertRaises(ResultError, page, "no marks", results)

    def test_the_committed_page_is_what_would_be_written(self):
        text = (ROOT / "docs" / "hardware.md").read_text()
        self.assertEqual(page(text, read_results(ROOT / "docs" / "hardware")), text, "run ./dev docs")

    def test_the_kit_has_the_parts_of_the_page(self):
        text = (ROOT / "benchmarks" / "gpu" / "run_part.py").read_text()
        for part in hardware_page.PARTS:
            self.assertIn(f'"{part}": ', text)


if __name__ == "__main__":
    unittest.main()
