"""Runs the benchmarks, beside the Python peers or another build, and prints ratios with their spread.

Each measure alternates the contenders (A B B A ...), so that a machine whose speed drifts drifts for both, for --rounds
rounds, and on to --most until the spread of the ratio is smaller than the margin that it claims. Results of five rounds
or more go to build/benchmarks.json, where each row stays until it is measured again, and with --write to
docs/benchmarks.md, or to a page beside it where that is of another machine.

Usage: ./dev bench [--peers] [--rounds N] [--most N] [--write] [NAME ...]
       ./dev bench --beside DIR [--as TEXT] [--rounds N] [--most N] [--write] NAME ...

A NAME that is no measure stands for all whose names begin with it: algorithms for algorithms_mixup and the others.
--beside compares with the same programs of another build folder: another commit, or other flags. --as TEXT says on
the page what that build is.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import re
import sys

import measures
from quiet import Usage, is_disturbed
from results import LEAST_ROUNDS, merge, ratio_of, table
from workspace import MeasureError, Workspace

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEEDED = {
    "PACELINE_PEERS": "the virtual environment of deps/peers.txt, which ./dev bench --peers makes",
    "PACELINE_COMPOSER": "a Python that imports Composer: python3.11 -m venv DIR; DIR/bin/pip install -r deps/composer.txt; "
                         "PACELINE_COMPOSER=DIR/bin/python",
    "PACELINE_FFCV": "a Python that imports ffcv",
    "PACELINE_PILLOW_SIMD": "a folder that holds its PIL",
}
BY_NAME = {measure.name: measure for measure in measures.MEASURES}


def alternate(contenders, least, most):
    """Runs the contenders in turns for `least` rounds, and on to `most` until the ratio is settled; returns the row."""
    row = {name: [] for name in contenders} | {"disturbed": 0}
    order = list(contenders)
    for number in range(most):
        before = Usage.now()
        for name in order if number % 2 == 0 else reversed(order):
            row[name].append(contenders[name]())
            print(f"  round {number + 1}: {name} {row[name][-1]:.4g}", file=sys.stderr, flush=True)
        row["disturbed"] += is_disturbed(before)
        ratio = ratio_of(row)
        if number + 1 >= least and ("other" not in row or (ratio and ratio.is_settled())):
            break
    return row


class Results:
    """The rows that are kept: beside peers, and beside other builds by what these are."""

    def __init__(self, path):
        self.path = path
        kept = json.loads(path.read_text()) if path.exists() else {}
        # Rows of an older form do not have their rounds; measures may have gone.
        self.peers = merge([], [row for row in kept.get("rows", []) if isinstance(row["own"], list)], BY_NAME)
        self.builds = {build: merge([], rows, BY_NAME) for build, rows in kept.get("builds", {}).items()}

    def add(self, row, build):
        """Keeps a row, beside peers or, where `build` is not empty, beside that build."""
        if build:
            self.builds[build] = merge(self.builds.get(build, []), [row], BY_NAME)
        else:
            self.peers = merge(self.peers, [row], BY_NAME)
        self.path.write_text(json.dumps({**machine(), "rows": self.peers, "builds": self.builds}, indent=2) + "\n")

    def document(self):
        """The page of this machine."""
        def pairs(rows):
            return [(BY_NAME[row["name"]], row) for row in rows]
        contests = [pair for pair in pairs(self.peers) if pair[0].is_contest]
        limits = [pair for pair in pairs(self.peers) if not pair[0].is_contest]
        parts = [(ROOT / "benchmarks" / "preface.md").read_text().rstrip(),
                 of_machine()]
        if contests:
            parts += ["## Beside peers", table(contests, "peer")]
        if limits:
            parts += ["## Beside a limit, not a peer", "What is reached of a bound, or of paceline itself with less to do.",
                      table(limits, "limit", is_contest=False)]
        for build, rows in self.builds.items():
            builds = [(beside_build(measure), row) for measure, row in pairs(rows)]
            parts += [f"## Beside a build {build}", table(builds, "other")]
        return "\n\n".join(parts) + "\n"


def beside_build(measure):
    """The measure of two builds of paceline: musts and goals are of peers."""
    return dataclasses.replace(measure, must="", goal="", share="", beside="", is_contest=True)


def machine():
    name = platform.processor()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return {"processor": name, "cores": os.cpu_count()}


def of_machine():
    return f"{machine()['processor']}, {machine()['cores']} cores."


def page():
    """Where figures of this machine stand: docs/benchmarks.md, unless that is of another one."""
    docs = ROOT / "docs"
    for path in sorted(docs.glob("benchmarks*.md")):
        if of_machine() in path.read_text().splitlines():
            return path
    name = re.sub(r"\([^)]*\)|processor", "", machine()["processor"], flags=re.IGNORECASE)
    return docs / f"benchmarks-{'-'.join(name.lower().split())}.md"


def named(name):
    """The measure of that name, or those whose names begin with it and an underscore; the name itself if there are none."""
    found = [] if name in BY_NAME else [each for each in BY_NAME if each.startswith(f"{name}_")]
    return found or [name]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--peers", action="store_true", help="run the Python peers too")
    parser.add_argument("--beside", type=pathlib.Path, metavar="DIR", help="run the programs of this build folder too")
    parser.add_argument("--as", dest="called", default="", metavar="TEXT", help='what it is: "without hardening"')
    parser.add_argument("--rounds", type=int, default=LEAST_ROUNDS, help="at least (default: %(default)s)")
    parser.add_argument("--most", type=int, default=12, help="at most, for a ratio that is not settled (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help="write the page of this machine, docs/benchmarks*.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help="measures; all if none is given: " + ", ".join(BY_NAME))
    options = parser.parse_args()
    options.names = [each for name in options.names for each in named(name)]
    if unknown := [name for name in options.names if name not in BY_NAME]:
        parser.error(f"there is no measure {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    if options.rounds < 1:
        parser.error("--rounds wants a number from 1")
    if options.peers and options.beside:
        parser.error("--peers or --beside, one at a time")
    if options.called and not options.beside:
        parser.error("--as says what --beside DIR is")
    if options.beside and not options.names:
        parser.error("--beside wants the names of the measures")
    if options.write and not (options.peers or (options.beside and options.called)):
        parser.error("--write wants --peers, or --beside DIR --as TEXT: a figure without another beside it is no result")
    if options.write and options.rounds < LEAST_ROUNDS:
        parser.error(f"--write wants at least {LEAST_ROUNDS} rounds")
    if options.rounds < LEAST_ROUNDS:  # a trial
        options.most = options.rounds
    options.most = max(options.most, options.rounds)
    return options


def measure_all(options, results):
    """The measures that were asked for with their rows, and the names of those that failed."""
    rows, failures = [], []
    with Workspace(options.build) as workspace:
        build = workspace.beside(options.beside) if options.beside else None
        for measure in measures.MEASURES:
            if options.names and measure.name not in options.names:
                continue
            if measure.needs and measure.needs not in os.environ:
                print(f"== left out, for {measure.needs} is not set ({NEEDED[measure.needs]}): {measure.title}",
                      file=sys.stderr, flush=True)
                continue
            print(f"== {measure.title}", file=sys.stderr, flush=True)
            contenders = measure.contenders(workspace, options.peers, build)
            try:
                row = {"name": measure.name, **alternate(contenders, options.rounds, options.most)}
            except (MeasureError, ValueError) as error:
                print(f"{measure.name}: {error}", file=sys.stderr, flush=True)
                failures.append(measure.name)
                continue
            rows.append((beside_build(measure) if build else measure, row))
            if options.rounds >= LEAST_ROUNDS and (options.peers or options.called):
                results.add(row, options.called)
    return rows, failures


def main():
    options = parse()
    results = Results(options.build / "benchmarks.json")
    rows, failures = measure_all(options, results)
    for is_contest, other in ((True, "other" if options.beside else "peer"), (False, "limit")):
        chosen = [pair for pair in rows if pair[0].is_contest == is_contest]
        if chosen:
            print(table(chosen, other, is_contest) + "\n")
    if options.write:
        page().write_text(results.document())
    if failures:
        raise SystemExit(f"failed: {', '.join(failures)}")


if __name__ == "__main__":
    main()
