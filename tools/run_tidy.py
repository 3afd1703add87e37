"""Runs clang-tidy over the modules' units in a build folder; a result is kept there until a file or a flag
that it depends on changes, so that a second run takes seconds."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

from source_tree import ROOT, SOURCE, finish

SELF_TEST = """
class bad_name { public: int Wrong_Function(int argument) { return argument; } };
"""


def text_key(path, seen):
    """The texts of a unit and of all that it includes of paceline, in order."""
    if path in seen or not path.exists():
        return ""
    seen.add(path)
    text = path.read_text()
    includes = re.findall(r'#include "([^"]+)"', text)
    return text + "".join(text_key(SOURCE.parent / include, seen) for include in includes)


def tidy(unit, command, checker, build):
    marker = build / "tidy" / hashlib.sha256((checker + command + text_key(unit, set())).encode()).hexdigest()
    if marker.exists():
        return None
    result = subprocess.run(["clang-tidy", "--quiet", "-p", build, unit], capture_output=True, text=True)
    if result.returncode == 0:
        marker.touch()
        return None
    return result.stdout.strip() or result.stderr.strip()


def check_that_it_fails(build):
    """A check that was switched off by mistake would pass everything: it must reject a bad file."""
    bad = build / "tidy_self_test.cpp"
    bad.write_text(SELF_TEST)
    result = subprocess.run(["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", bad, "--", "-std=c++20"],
                            capture_output=True, text=True)
    if result.stdout.count("readability-identifier-naming") < 2:
        raise SystemExit("clang-tidy accepts names that .clang-tidy forbids:\n" + result.stdout + result.stderr)


def main():
    build = pathlib.Path(sys.argv[1])
    (build / "tidy").mkdir(exist_ok=True)
    check_that_it_fails(build)
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout
    checker = version + (ROOT / ".clang-tidy").read_text()
    entries = json.loads((build / "compile_commands.json").read_text())
    commands = {entry["file"]: entry["command"] for entry in entries
                if "_verify_interface_header_sets/" not in entry["file"]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda unit: tidy(pathlib.Path(unit), commands[unit], checker, build), commands)
    finish("clang-tidy", [r for r in results if r], f"{len(commands)} units")


if __name__ == "__main__":
    main()
