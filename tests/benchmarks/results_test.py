"""What the benchmarks claim: a draw is called one, and each figure tells on how many rounds it rests."""

import dataclasses
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import measures
import run
from quiet import Usage, is_disturbed
from results import Bound, Ratio, interval, merge, ratio_of, table
from workspace import Measure, Workspace

PEER = 100.0


def ratio(*ratios):
    return Ratio.of([PEER * each for each in ratios], [PEER] * len(ratios))


def measure(unit="ms", must="", goal="", **others):
    return Measure("name", "title", unit, must, goal, own=None, other=None, **others)


def row(own, other, disturbed=0):
    return {"name": "name", "own": own, "other": other, "disturbed": disturbed}


class Spread(unittest.TestCase):
    def test_few_rounds_spread_from_minimum_to_maximum(self):
        for count in range(1, 9):
            values = list(range(count))
            self.assertEqual(interval(values[::-1]), (0, count - 1), count)

    def test_more_rounds_leave_out_what_the_median_is_surely_not(self):
        """The order statistics of the sign test at 15/16: 2nd of 9, 3rd of 12."""
        self.assertEqual(interval(list(range(9))), (1, 7))
        self.assertEqual(interval(list(range(12))), (2, 9))

    def test_rounds_are_paired(self):
        """A machine that slows down for both contenders changes no ratio."""
        drifting = Ratio.of([90, 180, 270, 360, 450], [100, 200, 300, 400, 500])
        self.assertEqual((drifting.median, drifting.low, drifting.high), (0.9, 0.9, 0.9))

    def test_rounds_that_are_no_pairs_or_no_figures_are_refused(self):
        with self.assertRaisesRegex(ValueError, "2 rounds beside 1"):
            Ratio.of([1, 2], [1])
        with self.assertRaisesRegex(ValueError, "not positive"):
            Ratio.of([1, 2], [1, 0])


class Verdict(unittest.TestCase):
    def test_a_spread_that_includes_1_is_a_draw(self):
        for ratios in ((0.5, 0.6, 0.7, 0.8, 1.01), (1.5, 1.4, 1.3, 1.2, 0.99), (0.9, 0.9, 0.9, 0.9, 1.0)):
            for is_rate in (False, True):
                self.assertEqual(ratio(*ratios).verdict(is_rate), "draw", ratios)

    def test_who_takes_less_time_or_has_the_higher_rate_has_won(self):
        lower, higher = ratio(0.90, 0.91, 0.92, 0.93, 0.94), ratio(1.1, 1.2, 1.3, 1.4, 1.5)
        self.assertEqual([lower.verdict(False), lower.verdict(True)], ["won", "lost"])
        self.assertEqual([higher.verdict(False), higher.verdict(True)], ["lost", "won"])
        self.assertEqual([measure(unit).is_rate for unit in ("ms", "s", "MiB", "img/s", "GB/s")], [False] * 3 + [True] * 2)

    def test_four_rounds_claim_nothing(self):
        self.assertEqual(ratio(0.1, 0.1, 0.1, 0.1).verdict(False), "too few rounds")

    def test_a_spread_as_wide_as_the_margin_wants_more_rounds(self):
        self.assertFalse(ratio(0.90, 0.92, 0.95, 0.97, 0.98).is_settled(), "8 % wide, claims 5 %")
        self.assertTrue(ratio(0.78, 0.79, 0.80, 0.81, 0.82).is_settled(), "4 % wide, claims 20 %")
        self.assertTrue(ratio(0.99, 0.995, 1.0, 1.0, 1.005).is_settled(), "a draw, and narrow")

    def test_a_bound_is_kept_by_all_of_the_spread(self):
        seen = ratio(0.70, 0.72, 0.75, 0.78, 0.79)
        self.assertEqual([Bound(text).judge([70, 72, 75, 78, 79], seen) for text in ("≤ 0.8", "≤ 0.75", "≤ 0.6", "≥ 0.6", "")],
                         ["≤ 0.8: met", "≤ 0.75: undecided", "≤ 0.6: missed", "≥ 0.6: met", ""])

    def test_a_bound_with_a_unit_is_of_own_figures(self):
        self.assertEqual(Bound("≥ 1e6 img/s").judge([1.1e6] * 5, ratio(7, 7, 7, 7, 7)), "≥ 1e6 img/s: met")
        self.assertEqual(Bound("≤ 0.05 ms").judge([0.04, 0.04, 0.05, 0.05, 0.06], None), "≤ 0.05 ms: undecided")
        with self.assertRaisesRegex(ValueError, "is no bound"):
            Bound("under 3").limit()

    def test_four_rounds_meet_no_bound(self):
        self.assertEqual(Bound("≤ 0.8").judge([1] * 4, ratio(0.1, 0.1, 0.1, 0.1)), "≤ 0.8")


class Alternate(unittest.TestCase):
    def rounds(self, own, least=5, most=12):
        own, order = iter(own), []

        def contender(name, figure):
            order.append(name)
            return figure()

        contenders = {"own": lambda: contender("own", lambda: next(own)), "other": lambda: contender("other", lambda: PEER)}
        sys.stderr, stderr = open(os.devnull, "w"), sys.stderr
        try:
            found = run.alternate(contenders, least, most)
        finally:
            sys.stderr.close()
            sys.stderr = stderr
        return found, order

    def test_contenders_take_turns(self):
        found, order = self.rounds([50] * 5)
        self.assertEqual(order, ["own", "other", "other", "own", "own", "other", "other", "own", "own", "other"])
        self.assertEqual((found["own"], found["other"]), ([50] * 5, [PEER] * 5))

    def test_rounds_are_added_until_the_ratio_is_settled(self):
        found, _ = self.rounds([85, 90, 95, 97, 99, 92, 92, 92, 92, 92, 92, 92])
        self.assertEqual(len(found["own"]), 9, "where 2nd to 8th are 90 to 97, closer than the 8 % that are claimed")

    def test_rounds_have_a_bound(self):
        found, _ = self.rounds([80, 120] * 6)
        self.assertEqual(len(found["own"]), 12)
        self.assertEqual(Ratio.of(found["own"], found["other"]).verdict(False), "draw")


    def test_an_other_that_is_not_positive_has_no_ratio_and_is_not_settled(self):
        sys.stderr, stderr = io.StringIO(), sys.stderr
        try:
            found = run.alternate({"own": lambda: 1.0, "other": lambda: -0.1}, 5, 7)
        finally:
            sys.stderr = stderr
        self.assertEqual(len(found["own"]), 7)
        self.assertIsNone(ratio_of(found))


class Names(unittest.TestCase):
    def test_a_beginning_stands_for_all_that_have_it(self):
        self.assertEqual(run.named("loader"), ["loader"], "which is a measure itself")
        self.assertEqual(run.named("augment"), [f"augment_{each}" for each in ("rand_augment", "augmix", "gaussian_blur",
                                                                              "perspective")])
        self.assertEqual(run.named("nothing"), ["nothing"])

    def test_what_is_needed_is_told(self):
        self.assertEqual({each.needs for each in measures.MEASURES} - {""}, set(run.NEEDED))


class Contenders(unittest.TestCase):
    def told(self, *arguments):
        names = dataclasses.replace(measure(), own=lambda build: f"own of {build}", other=lambda build: f"peer in {build}")
        return {name: contender() for name, contender in names.contenders(*arguments).items()}

    def test_own_stands_beside_the_peer_or_another_build(self):
        self.assertEqual(self.told("this", False), {"own": "own of this"})
        self.assertEqual(self.told("this", True), {"own": "own of this", "other": "peer in this"})
        self.assertEqual(self.told("this", False, "that"), {"own": "own of this", "other": "own of that"})

    def test_a_part_stands_beside_its_whole(self):
        part = dataclasses.replace(measure(), own=lambda build: "part", whole=lambda build: "whole", other=lambda build: "peer")
        self.assertEqual(list(part.contenders("this", True)), ["own", "whole", "other"])
        self.assertEqual(list(part.contenders("this", False, "that")), ["own", "other"])

    def test_two_builds_share_data_but_no_figures(self):
        this = Workspace(pathlib.Path("/this"))
        this.folder = pathlib.Path("/data")
        that = this.beside(pathlib.Path("/that"))
        figures = [each.once("work", "figure", lambda: {"figure": each.build.name}) for each in (this, that)]
        self.assertEqual((that.folder, figures), (this.folder, ["this", "that"]))

    def test_what_others_use_is_not_what_the_contenders_use(self):
        before = Usage(at=10, all=100, own=20)
        self.assertEqual(Usage(at=20, all=115, own=32).others_since(before), 0.3)

    def test_a_round_beside_a_busy_process_is_disturbed(self):
        before = Usage.now()
        self.assertFalse(is_disturbed(dataclasses.replace(before, at=before.at - 10, all=before.all + 1e6)))
        self.assertTrue(is_disturbed(dataclasses.replace(before, at=before.at - 10, all=before.all - 3)))


class Tables(unittest.TestCase):
    def test_a_row_shows_its_rounds_its_spread_and_its_result(self):
        wins = table([(measure(must="≤ 0.6"), row([50, 51, 52, 53, 54], [PEER] * 5))], "peer").splitlines()
        self.assertEqual(wins[0], "| measure | unit | own (min to max) | peer (min to max) | own / peer | spread | rounds | "
                                  "result | must | goal |")
        self.assertEqual(wins[2], "| title | ms | 52 (50 to 54) | 100 (100 to 100) | 0.520 | 0.500 to 0.540 | 5 | won | "
                                  "≤ 0.6: met |  |")
        draws = table([(measure(), row([90, 91, 92, 93, 101], [PEER] * 5, disturbed=2))], "peer").splitlines()
        self.assertTrue(draws[2].endswith("| 0.920 | 0.900 to 1.010 | 5, 2 disturbed | draw |"), draws[2])

    def test_a_goal_may_be_a_share_of_a_whole(self):
        part = measure(must="≤ 0.6", goal="≤ 0.5", share="≤ 0.01")
        for whole, judged in ((6000, "met"), (5300, "undecided"), (5000, "missed")):
            line = table([(part, row([51, 51, 52, 53, 54], [PEER] * 5) | {"whole": [whole] * 5})], "peer").splitlines()[2]
            self.assertTrue(line.endswith(f"| ≤ 0.6: met | ≤ 0.5: missed; of the step ≤ 0.01: {judged} |"), line)
        self.assertNotIn("of the step", table([(measure(goal="≤ 0.5"), row([50] * 5, [PEER] * 5))], "peer"))

    def test_what_does_not_show_has_no_ratio(self):
        line = table([(measure(must="≤ 0.6"), row([1] * 5, [PEER] * 4 + [-1]))], "peer").splitlines()[2]
        self.assertEqual(line, "| title | ms | 1 (1 to 1) | 100 (-1 to 100) | – | – | 5 | – | ≤ 0.6 |  |")

    def test_what_is_no_peer_is_named_and_not_beaten(self):
        limit = measure(beside="the disk", is_contest=False)
        lines = table([(limit, row([90, 91, 92, 93, 94], [PEER] * 5))], "limit", is_contest=False)
        self.assertIn("| title (limit: the disk) |", lines)
        for word in ("won", "lost", "draw", "peer"):
            self.assertNotIn(word, lines)

    def test_rows_are_kept_in_the_order_of_the_measures(self):
        old = [{"name": "b", "own": [1]}, {"name": "c", "own": [1]}]
        self.assertEqual(merge(old, [{"name": "a", "own": [2]}, {"name": "b", "own": [2]}], ["a", "b", "c"]),
                         [{"name": "a", "own": [2]}, {"name": "b", "own": [2]}, {"name": "c", "own": [1]}])

    def test_the_document_has_each_kind_of_row_in_its_own_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "benchmarks.json"
            path.write_text(json.dumps({"rows": [{"name": "memory", "own": {"median": 1}}]}))  # of an older form
            for name, build in (("launch_bound", ""), ("ddp_alone", ""), ("launch_bound", "without hardening")):
                run.Results(path).add({"name": name, "own": [1.0] * 5, "other": [2.0] * 5, "disturbed": 0}, build)
            kept = run.Results(path)
            self.assertEqual(json.loads(path.read_text())["rows"][0]["own"], [1.0] * 5, "the rounds themselves")
        text = kept.document()
        parts = [text.index(part) for part in ("## Beside peers", "(peer: eager Python)", "## Beside a limit, not a peer",
                                               "(limit: strategy none)", "## Beside a build without hardening")]
        self.assertEqual(parts, sorted(parts))
        self.assertNotIn("peak resident memory", text)
        self.assertNotIn("must", text[parts[-1]:])


class Measures(unittest.TestCase):
    def test_each_has_a_name_of_its_own_and_bounds_that_can_be_judged(self):
        self.assertEqual(len({each.name for each in measures.MEASURES}), len(measures.MEASURES))
        for each in measures.MEASURES:
            for text in (each.must, each.goal, each.share):
                with self.subTest(each.name):
                    Bound(text).limit()

    def test_each_title_tells_one_row_from_the_others(self):
        titles = [(each.title, each.beside) for each in measures.MEASURES]
        self.assertEqual(sorted(set(titles)), sorted(titles))


if __name__ == "__main__":
    unittest.main()
