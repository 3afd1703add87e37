"""Runs a part of the kit and writes its result as JSON; started by run.sh.

Usage: run.sh PART [-o DIR] [--cpu]

PART: tests equal graph resume pinned memory cascade sanitizer speed, or all of them in turn. Each takes at most eight minutes.
Results go to DIR/PART.json (default: results). --cpu tries the scripts on small models without a GPU: what they then say is
no result. Ends with 1 if a row failed, with 2 if nothing could run or a result could not be written, with 130 if it was
interrupted; the rows until then are kept.
"""

import argparse
import datetime
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback

import cascade
import machine
import parts
import speed
from runs import Kit, Rows, say

INTERRUPTED = 130
ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = {"tests": parts.tests, "equal": parts.equal, "graph": parts.graph, "resume": parts.resume, "pinned": parts.pinned,
         "memory": parts.memory, "cascade": cascade.cascade, "sanitizer": parts.sanitizer, "speed": speed.speed}


def parse():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"], metavar="PART")
    parser.add_argument("-o", dest="output", type=pathlib.Path, default=pathlib.Path("results"), metavar="DIR")
    parser.add_argument("--cpu", action="store_true", help="try the scripts without a GPU")
    return parser.parse_args()


def prepare_output(folder):
    """Finds out now, not after eight minutes, that results cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as trial:
            trial.write(bytes(1 << 16))
    except OSError as error:
        raise machine.MachineError(f"cannot write results to {folder}: {error.strerror}") from None


def write_result(path, result):
    """As a whole or not at all: an earlier result stays until then."""
    text = json.dumps(result, indent=2) + "\n"
    begun = path.with_name(f".{path.name}.new")
    try:
        begun.write_text(text)
        begun.replace(path)
    except OSError as error:
        say(text)
        raise machine.MachineError(f"cannot write {path}: {error.strerror}; the result stands above") from None


def fill(part, kit, rows):
    """Runs a part; whether it was not interrupted."""
    try:
        part(kit, rows)
    except KeyboardInterrupt:
        rows.add("the rest of this part", None, "", "not run", "it was interrupted")
        return False
    except Exception as error:  # of this script; a result must not be lost by it
        traceback.print_exc()
        rows.add("this part's script", None, "", "failed", f"{type(error).__name__}: {error}")
    return True


def run_part(name, about, torch, options):
    """Runs a part and writes its file; returns how run.sh would end with it alone."""
    say(f"== {name}")
    rows, begin = Rows(), time.monotonic()
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    uuids = torch["uuids"]
    with Kit(ROOT, torch, options.cpu, len(torch["gpus"])) as kit, machine.ClockWatch(uuids) as watch:
        is_whole = fill(PARTS[name], kit, rows)
    result = {"part": name, "date": date, "on": "CPU" if options.cpu else "GPU", "driver": machine.driver_version(),
              "gpus": torch["gpus"], "clocks": {"limits": machine.clocks(uuids), "under_load": watch.summary()},
              "torch": torch["version"], "program": about["version"], "commit": about["commit"],
              "seconds": round(time.monotonic() - begin, 1), "rows": rows.rows}
    path = options.output / f"{name}.json"
    write_result(path, result)
    counts = {kind: sum(row["result"] == kind for row in rows.rows) for kind in ("passed", "failed", "measured", "not run")}
    say(f"== {name}: {', '.join(f'{count} {kind}' for kind, count in counts.items() if count)}; {path}")
    return INTERRUPTED if not is_whole else 1 if counts["failed"] else 0


def run_parts(options):
    about = json.loads((ROOT / "kit.json").read_text())
    prepare_output(options.output)
    machine.require_glibc(about["glibc"])
    torch = machine.probe_torch()
    machine.check_torch(torch, about["torch"], options.cpu)
    codes = [0]
    for name in PARTS if options.part == "all" else [options.part]:
        if codes[-1] != INTERRUPTED:
            codes.append(run_part(name, about, torch, options))
    return max(codes)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options = parse()
    options.output = options.output.absolute()
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: programs are ended, and rows kept
        if signal.getsignal(number) != signal.SIG_IGN:  # by nohup, say
            signal.signal(number, interrupt)
    if options.cpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        return run_parts(options)
    except (machine.MachineError, OSError) as error:
        print(f"run.sh: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
