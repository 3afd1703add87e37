"""Writes the results of the GPU kit, docs/hardware/**/*.json, into docs/hardware.md; `./dev docs` calls it.

Usage: tools/hardware_page.py [--check]      # --check: fails if the page is not what would be written
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- By ./dev docs from docs/hardware/*.json; edit nothing from here on. -->"
END = "<!-- The end of what ./dev docs writes. -->"
PARTS = {
    "tests": "Unit and rank tests on CUDA and NCCL",
    "equal": "Steps equal the CPU's in fp32 without TF32",
    "graph": "`train.compile: graph`",
    "resume": "Killed and resumed",
    "pinned": "Batches through pinned memory: what a step waits for data",
    "memory": "Memory, measured beside `paceline info memory`",
    "cascade": "A cascade from X-rays to CT volumes: losses, memory, steps",
    "sanitizer": "compute-sanitizer",
    "speed": "Step times beside PyTorch",
}
KEYS = ("part", "date", "on", "driver", "gpus", "clocks", "torch", "program", "rows")
MOST_TESTS = 5  # of a result's passed tests that are named


class ResultError(Exception):
    """Why a file is no result."""


def read_result(path):
    try:
        result = json.loads(path.read_text())
    except ValueError as error:
        raise ResultError(f"{path}: {error}") from None
    if not isinstance(result, dict):
        raise ResultError(f"{path}: not an object")
    if missing := [key for key in KEYS if key not in result]:
        raise ResultError(f"{path}: without {', '.join(missing)}")
    if result["part"] not in PARTS:
        raise ResultError(f"{path}: there is no part {result['part']}")
    if result["on"] != "GPU":
        raise ResultError(f"{path}: a trial on the CPU is no result")
    return result


def read_results(folder):
    """The newest result of each part on each kind of machine, by part."""
    newest = {}
    for path in sorted(folder.rglob("*.json")):
        result = read_result(path)
        key = (result["part"], tuple(result["gpus"]))
        if key not in newest or newest[key]["date"] <= result["date"]:
            newest[key] = result
    found = {part: [] for part in PARTS}
    for (part, _), result in sorted(newest.items()):
        found[part].append(result)
    return found


def machine_of(result):
    """"2 x NVIDIA H100, driver 580.95, SM 1410 to 1980 MHz under load, torch 2.11.0+cu130, paceline 0.1.0, 2026-12-01"."""
    gpus = result["gpus"]
    words = [f"{len(gpus)} x {gpus[0]}" if gpus else "no GPU", f"driver {result['driver'] or 'unknown'}"]
    loaded = result["clocks"].get("under_load", {}).get("clocks.sm")
    if loaded:
        words.append(f"SM {loaded['min']:.0f} to {loaded['max']:.0f} MHz under load")
    limits = result["clocks"].get("limits") or [{}]
    if limits[0].get("clocks.max.sm"):
        words.append(f"of {limits[0]['clocks.max.sm']} MHz")
    program = result["program"] + (f" ({result['commit']})" if result.get("commit") else "")
    return ", ".join([*words, f"torch {result['torch']}", f"paceline {program}", result["date"]])


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def value_of(row):
    return "–" if row["value"] is None else f"{row['value']:.4g} {row['unit']}".rstrip()


def result_lines(result):
    """What stands under a machine's name. Of tests that passed there are many, and they say no more than their number."""
    rows = result["rows"]
    silent = [row for row in rows if row["result"] == "passed" and row["value"] is None and not row["why"]]
    if len(silent) > MOST_TESTS:
        rows = [row for row in rows if row not in silent]
        yield f"{len(silent)} passed."
        yield ""
    if rows:
        yield "| what | value | result | why |"
        yield "|---|---|---|---|"
        for row in rows:
            yield f"| {cell(row['name'])} | {cell(value_of(row))} | {cell(row['result'])} | {cell(row['why'])} |"


def section(results):
    """What the page says between the marks."""
    lines = []
    for part, title in PARTS.items():
        lines += [f"### {title} (`{part}`)", ""]
        if not results[part]:
            lines += ["Not run.", ""]
        for result in results[part]:
            lines += [f"**{machine_of(result)}**", "", *result_lines(result), ""]
    return "\n".join(lines).rstrip()


def page(text, results):
    """The page with its section written anew."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ResultError(f"the page must have '{BEGIN}' and, after it, '{END}' once")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{section(results)}\n\n{END}{after}"


def main():
    path = ROOT / "docs" / "hardware.md"
    try:
        written = page(path.read_text(), read_results(ROOT / "docs" / "hardware"))
    except ResultError as error:
        raise SystemExit(f"docs/hardware.md: {error}") from None
    if "--check" in sys.argv[1:]:
        if written != path.read_text():
            raise SystemExit("docs/hardware.md is not what ./dev docs writes")
    else:
        path.write_text(written)


if __name__ == "__main__":
    main()
