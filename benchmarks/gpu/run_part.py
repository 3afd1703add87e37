"""Runs a part of the kit and writes its result as JSON; started by run.sh.

Usage: run.sh PART [-o DIR] [--cpu]

PART: tests equal graph resume pinned memory sanitizer speed, or all of them in turn. Each takes at most eight minutes.
Results go to DIR/PART.json (default: results). --cpu tries the scripts on small models without a GPU: what they then say is
no result. Ends with 1 if a row failed, with 2 if nothing could run.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import time
import traceback

import machine
import parts
import speed
from runs import Kit, Rows, say

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = {"tests": parts.tests, "equal": parts.equal, "graph": parts.graph, "resume": parts.resume, "pinned": parts.pinned,
         "memory": parts.memory, "sanitizer": parts.sanitizer, "speed": speed.speed}


def parse():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"], metavar="PART")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=pathlib.Path("results"), metavar="DIR")
    parser.add_argument("--cpu", action="store_true", help="try the scripts without a GPU")
    return parser.parse_args()


def run_part(name, about, torch, options):
    """Runs a part and writes its file; whether no row of it failed."""
    say(f"== {name}")
    rows, begin = Rows(), time.monotonic()
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    with Kit(ROOT, torch, options.cpu, len(torch["gpus"])) as kit, machine.ClockWatch() as watch:
        try:
            PARTS[name](kit, rows)
        except Exception as error:  # of this script; a result must not be lost by it
            traceback.print_exc()
            rows.add(name, None, "", "failed", f"{type(error).__name__}: {error}")
    result = {"part": name, "date": date, "on": "CPU" if options.cpu else "GPU", "driver": machine.driver_version(),
              "gpus": torch["gpus"], "clocks": {"limits": machine.clocks(), "under_load": watch.summary()},
              "torch": torch["version"], "program": about["version"], "commit": about["commit"],
              "seconds": round(time.monotonic() - begin, 1), "rows": rows.rows}
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    counts = {kind: sum(row["result"] == kind for row in rows.rows) for kind in ("passed", "failed", "measured", "not run")}
    say(f"== {name}: {', '.join(f'{count} {kind}' for kind, count in counts.items() if count)}; {path}")
    return counts["failed"] == 0


def main():
    options = parse()
    about = json.loads((ROOT / "kit.json").read_text())
    if options.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        machine.require_glibc(about["glibc"])
        torch = machine.probe_torch()
        machine.check_torch(torch, about["torch"], options.cpu)
    except machine.MachineError as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return 2
    options.output = options.output.absolute()
    chosen = PARTS if options.part == "all" else [options.part]
    return 0 if all([run_part(name, about, torch, options) for name in chosen]) else 1


if __name__ == "__main__":
    sys.exit(main())
