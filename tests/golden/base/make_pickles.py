#!/usr/bin/env python3
"""Writes pickle/protocol0 to protocol5, which pickle_test reads: one value of plain data in each of pickle's protocols."""

import collections
import pathlib
import pickle

FOLDER = pathlib.Path(__file__).parent / "pickle"
VALUE = {
    "none": None, "flags": (True, False), "ints": [0, 255, 65535, -70000, 1 << 40, -1, 1 << 70], "reals": [1.5, -2e300],
    "text": "k\u00e4se \u20ac \U0001f600\n", "bytes": b"\x00\xe9'\"\\", "set": {7}, "nested": {1: {"deep": []}},
    "ordered": collections.OrderedDict([("b", 1), ("a", 2)]), "shared": [[]] * 2,
}


def main():
    FOLDER.mkdir(exist_ok=True)
    for protocol in range(6):
        (FOLDER / f"protocol{protocol}").write_bytes(pickle.dumps(VALUE, protocol=protocol))


if __name__ == "__main__":
    main()
