"""Adds keys that are new to kept_defaults.json: the default of each key that must not change when a run is resumed.

    build/bin/paceline config reference | python3 tests/process/keep_defaults.py

A run writes each of its values down. A key's other default would make older runs refuse to go on from the recipe that
they were started by, so this script refuses to write another; kept_defaults_test.py holds the program to it.
"""

import json
import pathlib
import re
import sys

FILE = pathlib.Path(__file__).with_name("kept_defaults.json")


ROW = re.compile(r"\| `([^`]+)` \| (?:[^`]+?) \| (?:`(.*?)`)? ?\| (.*) \|$")


def defaults_of(reference):
    """Of `paceline config reference`: section to key to default. What may change as a whole is left out."""
    sections, may_change, holders, section = {}, set(), [], ""
    for line in reference.splitlines():
        if heading := re.match(r"## Components for (.+)", line):
            holders = re.findall(r"`([^`]+)`", heading[1])
        elif heading := re.match(r"##+ `(.+)`", line):
            section = f"{holders[0]}={heading[1]}" if holders else heading[1]
        elif row := ROW.match(line):
            if "May change on resume." in row[3]:
                may_change.add(f"{section}.{row[1]}".lstrip("."))
            elif not holders or not may_change.issuperset(holders):
                sections.setdefault(section, {})[row[1]] = row[2] or ""
    return sections


def main():
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    for section, defaults in defaults_of(sys.stdin.read()).items():
        for key, default in defaults.items():
            old = kept.setdefault(section, {}).setdefault(key, default)
            if old != default:
                sys.exit(f"{section}.{key}: the default was {old} and is {default}; older runs would refuse to go on")
    FILE.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
