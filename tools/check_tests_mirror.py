"""Fails unless src/paceline/<module>/<file>.cpp has tests/{unit,rank,golden}/<module>/<file>_test.cpp,
and on a unit test that mirrors nothing. tools/tests_mirror_exceptions.txt lists what is tested otherwise,
with the reason."""

from source_tree import ROOT, finish, tracked_files

EXCEPTIONS = ROOT / "tools" / "tests_mirror_exceptions.txt"


def read_exceptions():
    """Lines of `path: reason`."""
    lines = EXCEPTIONS.read_text().splitlines() if EXCEPTIONS.exists() else []
    pairs = (line.split(":", 1) for line in lines if line.strip() and not line.startswith("#"))
    return {path.strip(): reason.strip() for path, reason in pairs}


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
    finish("mirrored tests", problems, f"{len(sources)} sources and {len(tests)} tests")


if __name__ == "__main__":
    main()
