"""Runs the benchmarks, beside the Python peers with --peers, and prints ratios of medians with their spread.

Each measure alternates the contenders (A B B A ...) for several rounds, so that a machine whose speed drifts
drifts for both. Results beside peers go to build/benchmarks.json, where each row stays until it
is measured again, and with --write to docs/benchmarks.md.

Usage: ./dev bench [--peers] [--rounds N] [--write] [NAME ...]
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import sys

import measures
from workspace import Workspace

ROOT = pathlib.Path(__file__).resolve().parent.parent


def alternate(contenders, rounds):
    """Runs each contender `rounds` times in the order A B B A A B ...; returns name to list of values."""
    values = {name: [] for name in contenders}
    order = list(contenders)
    for number in range(rounds):
        for name in order if number % 2 == 0 else reversed(order):
            values[name].append(contenders[name]())
            print(f"  round {number + 1}: {name} {values[name][-1]:.4g}", file=sys.stderr, flush=True)
    return values


def summarise(measure, values):
    row = {"name": measure.name, "title": measure.title, "unit": measure.unit, "must": measure.must, "goal": measure.goal}
    for name, numbers in values.items():
        row[name] = {"median": statistics.median(numbers), "min": min(numbers), "max": max(numbers)}
    if len(values) == 2:
        own, peer = (row[name]["median"] for name in values)
        row["ratio"] = own / peer if peer else float("nan")
    return row


def table(rows):
    lines = ["| measure | unit | own (min to max) | peer (min to max) | own / peer | must | goal |",
             "|---|---|---|---|---|---|---|"]
    for row in rows:
        own, peer = row["own"], row.get("peer")
        def cell(numbers):
            return f"{numbers['median']:.4g} ({numbers['min']:.4g} to {numbers['max']:.4g})" if numbers else "–"
        ratio = f"{row['ratio']:.3f}" if "ratio" in row else "–"
        lines.append(f"| {row['title']} | {row['unit']} | {cell(own)} | {cell(peer)} | {ratio} | {row['must']} | {row['goal']} |")
    return "\n".join(lines)


def merge(earlier, rows):
    """The rows of earlier runs with peers, in the order of the measures, new ones in place of old ones."""
    by_name = {row["name"]: row for row in [*earlier, *rows] if "peer" in row}
    return [by_name[measure.name] for measure in measures.MEASURES if measure.name in by_name]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--peers", action="store_true", help="run the Python peers too")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("names", nargs="*", help="measures; all if none is given: " + ", ".join(m.name for m in measures.MEASURES))
    options = parser.parse_args()
    if options.write and not options.peers:
        parser.error("--write wants --peers: a figure without a peer beside it is no result")
    peer_python = pathlib.Path(os.environ["PACELINE_PEERS"]) / "bin" / "python" if options.peers else None

    rows = []
    with Workspace(options.build, peer_python) as workspace:
        for measure in measures.MEASURES:
            if options.names and measure.name not in options.names:
                continue
            print(f"== {measure.title}", file=sys.stderr, flush=True)
            rows.append(summarise(measure, alternate(measure.contenders(workspace), options.rounds)))
    print(table(rows))
    if options.peers:
        results = options.build / "benchmarks.json"
        earlier = json.loads(results.read_text())["rows"] if results.exists() else []
        machine = {"processor": processor(), "cores": os.cpu_count()}
        rows = merge(earlier, [{**row, "rounds": options.rounds} for row in rows])
        results.write_text(json.dumps({**machine, "rows": rows}, indent=2) + "\n")
    if options.write:
        text = (ROOT / "benchmarks" / "preface.md").read_text()
        (ROOT / "docs" / "benchmarks.md").write_text(
            f"{text}\n{machine['processor']}, {machine['cores']} cores.\n\n{table(rows)}\n")


if __name__ == "__main__":
    main()
