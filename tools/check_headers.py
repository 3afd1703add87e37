"""Compiles every header of src/paceline on its own: it must include all that it needs."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from source_tree import ROOT, finish, module_of, tracked_files


def flags_by_module(build):
    """The compile flags of one source of each module, without the files and the precompiled header."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        for module in {part for part in entry["output"].split("/") if part.startswith("paceline_")}:
            module = module.removeprefix("paceline_").removesuffix(".dir")
            keep, skip = [], False
            for word in words[1:]:
                if skip:
                    skip = False
                elif word in ("-o", "-c", "-include", "-MF", "-MT"):
                    skip = True
                elif word not in ("-MD",) and not word.endswith((".cpp", ".o", "/c++", "/g++")):
                    keep.append(word)
            flags.setdefault(module, keep)
    return flags


def check(header, flags):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "alone.cpp"
        source.write_text(f'#include "{header.relative_to("src")}"\n')
        result = subprocess.run(["ccache", "g++", *flags, "-O0", "-c", "-o", os.path.join(folder, "alone.o"), source],
                                capture_output=True, text=True)
    return None if result.returncode == 0 else f"{header} does not compile alone:\n{result.stderr.strip()}"


def main():
    flags = flags_by_module(pathlib.Path(sys.argv[1]))
    headers = [h for h in tracked_files("src/paceline/*.h") if "cuda" not in h.parts and "shim" not in h.parts]
    known = [h for h in headers if module_of(h) in flags]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda h: check(h, flags[module_of(h)]), known)
    finish("headers", [r for r in results if r], f"{len(known)} headers")


if __name__ == "__main__":
    main()
