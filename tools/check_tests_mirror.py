"""Fails unless src/paceline/<module>/<file>.cpp has tests/{unit,rank,golden}/<module>/<file>_test.cpp,
and on a unit test that mirrors nothing. tools/tests_mirror_exceptions.txt lists what is tested otherwise,
with the reason. Every golden file has the script that made it in its folder or one above."""

import pathlib

from source_tree import ROOT, finish, tracked_files

EXCEPTIONS = ROOT / "tools" / "tests_mirror_exceptions.txt"


def read_exceptions():
    """Lines of `path: reason`."""
    lines = EXCEPTIONS.read_text().splitlines() if EXCEPTIONS.exists() else []
    pairs = (line.split(":", 1) for line in lines if line.strip() and not line.startswith("#"))
    return {path.strip(): reason.strip() for path, reason in pairs}


def golden_file_problem(path):
    """The nearest make_*.py above a golden file must name it, or the folder that it is in, by its first word."""
    item = path
    while item.parent != pathlib.Path("tests"):
        scripts = sorted((ROOT / item.parent).glob("make_*.py"))
        if scripts:
            word = item.stem.lower().split("_")[0].split("-")[0]
            if any(word in script.stem or word in script.read_text().lower() for script in scripts):
                return None
            return f"{path}: {', '.join(script.name for script in scripts)} does not name {item.name}"
        item = item.parent
    return f"{path} has no make_*.py beside it: put the script that made it there"


def main():
    exceptions = read_exceptions()
    sources = {str(f.relative_to("src/paceline").with_suffix("")) for f in tracked_files("src/paceline/*.cpp")}
    headers = {str(f.relative_to("src/paceline").with_suffix("")) for f in tracked_files("src/paceline/*.h")}
    tests = {}
    for path in tracked_files("tests/*_test.cpp"):
        kind, mirrored = path.parts[1], "/".join(path.parts[2:])
        tests.setdefault(mirrored.removesuffix("_test.cpp"), set()).add(kind)

    problems = [f"src/paceline/{name}.cpp has no test: write tests/unit/{name}_test.cpp, or give a reason in "
                f"{EXCEPTIONS.relative_to(ROOT)}"
                for name in sorted(sources) if name not in tests and f"{name}.cpp" not in exceptions
                and not name.endswith("/main")]
    problems += [f"tests/unit/{name}_test.cpp mirrors no source or header"
                 for name, kinds in sorted(tests.items()) if "unit" in kinds and name not in sources | headers]
    problems += [f"{EXCEPTIONS.relative_to(ROOT)} names {path}, which is not there"
                 for path in sorted(exceptions) if path.removesuffix(".cpp") not in sources]
    golden = [path for path in tracked_files("tests/golden/*") if path.suffix not in {".cpp", ".h", ".py"}]
    problems += filter(None, map(golden_file_problem, golden))
    finish("mirrored tests", problems, f"{len(sources)} sources, {len(tests)} tests and {len(golden)} golden files")


if __name__ == "__main__":
    main()
