"""Runs clang-tidy over the sources below LibTorch; a result is kept until a file or a flag it depends on
changes, so that a second run takes seconds."""

import concurrent.futures
import hashlib
import pathlib
import re
import subprocess
import sys

from source_tree import ROOT, finish, module_of, read_layers, tracked_files

SELF_TEST = """
class bad_name { public: int Wrong_Function(int argument) { return argument; } };
"""


def text_key(path, seen):
    """The texts of a source and of all paceline headers that it includes, in order."""
    if path in seen or not (ROOT / path).exists():
        return ""
    seen.add(path)
    text = (ROOT / path).read_text()
    includes = re.findall(r'#include "(paceline/[^"]+)"', text)
    return text + "".join(text_key(pathlib.Path("src") / include, seen) for include in includes)


def tidy(source, build, kept):
    configuration = (ROOT / ".clang-tidy").read_text()
    key = hashlib.sha256((configuration + text_key(source, set())).encode()).hexdigest()
    marker = kept / key
    if marker.exists():
        return None
    result = subprocess.run(["clang-tidy", "--quiet", "-p", build, ROOT / source, "--extra-arg=-Wno-unknown-warning-option",
                             "--extra-arg=-Wno-unused-command-line-argument"], capture_output=True, text=True)
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
    layers = read_layers()
    kept = build / "tidy"
    kept.mkdir(exist_ok=True)
    check_that_it_fails(build)
    sources = [f for f in tracked_files("src/paceline/*.cpp") if not layers.sees_torch(module_of(f)) and "cuda" not in f.parts]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda s: tidy(s, build, kept), sources)
    finish("clang-tidy", [r for r in results if r], f"{len(sources)} sources")


if __name__ == "__main__":
    main()
