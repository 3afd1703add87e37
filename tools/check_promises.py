"""Fails if docs/promises.md names a place or a test that is not there, or leaves out a document that promises."""

import re

from source_tree import ROOT, finish, tracked_files

TABLE = "docs/promises.md"
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| \[[^\]]+\]\((?P<place>[^)]+)\) \| `(?P<file>[^`]+)` \| `(?P<test>[^`]+)` \|$")
# Documents that tell how things are made, measured or decided; what they promise stands elsewhere.
WITHOUT_PROMISES = {"docs/architecture.md", "docs/benchmarks.md", "docs/benchmarks-intel-xeon.md",
                    "docs/hardware.md", TABLE}


def tests_in(text):
    """The names of a test file's tests: Suite.Case in C++, test_name in Python."""
    cases = re.findall(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)", text, re.MULTILINE)
    return {f"{suite}.{case}" for suite, case in cases} | set(re.findall(r"^    def (test_\w+)\(", text, re.MULTILINE))


def main():
    problems = []
    named = set()
    rows = 0
    for number, line in enumerate((ROOT / TABLE).read_text().splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| promise", "|---")):
            continue
        place = f"{TABLE}:{number}"
        row = ROW.match(line)
        if not row:
            problems.append(f"{place}: not a row of | promise | [place](link) | `file` | `test` |")
            continue
        rows += 1
        made_in = (ROOT / "docs" / row["place"]).resolve()
        if not made_in.is_file():
            problems.append(f"{place}: {row['place']} is not there")
        else:
            named.add(str(made_in.relative_to(ROOT)))
        file = ROOT / row["file"]
        if not file.is_file():
            problems.append(f"{place}: {row['file']} is not there")
        elif row["test"] not in tests_in(file.read_text()):
            problems.append(f"{place}: {row['file']} has no test {row['test']}")
    documents = {str(path) for path in tracked_files("README.md", "docs/*.md") if len(path.parts) <= 2}
    for missing in sorted(documents - named - WITHOUT_PROMISES):
        problems.append(f"{TABLE}: no row names a promise of {missing}")
    finish("promises", problems, f"{rows} promises")


if __name__ == "__main__":
    main()
