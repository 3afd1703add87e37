"""Fails on files and functions past their limits, on names that say nothing, and on loose TODOs."""

import re

from source_tree import EMPTY_NAMES, ROOT, finish, tracked_files

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80
JSON_READER = "src/paceline/base/json.cpp"
# What makes, fills or publishes files elsewhere than through base::FileSystem, where tests take the power away.
FILE_CHANGES = re.compile(r"\bofstream\b|\bfopen\(|\b(?:fs|std::filesystem)::"
                          r"(?:rename|create_director(?:y|ies)|copy|copy_file|resize_file|create_(?:hard_link|symlink))\(")
MAY_CHANGE_FILES = {
    "src/paceline/base/file.cpp",
    "src/paceline/tensor/cuda/cuda_device.cpp",  # a snapshot for debugging, of no use to a later start
}


def function_lengths(text):
    """Yields (first line, length) of each function body: from a line that ends in `{` at namespace or class
    depth and has a `)` before it, to the line that closes it. Good enough for clang-formatted code."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        opened = re.match(r"^(?!\s*:)(\s*)(?!.*\b(namespace|class|struct|enum|switch|if|for|while|else|do|try|catch)\b)"
                          r".*\)[^;]*\{$", line)
        if not opened:
            continue
        close = opened.group(1) + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(close) and not lines[end].startswith(close + " else"):
                yield start + 1, end - start + 1
                break


def main():
    problems = []
    files = tracked_files("src/*.h", "src/*.cpp", "tests/*.h", "tests/*.cpp", "examples/*.cpp", "benchmarks/*.cpp")
    for path in files:
        text = (ROOT / path).read_text()
        count = text.count("\n")
        is_ours_to_name = "shim" not in path.parts  # a shim stands in for another library's header
        if is_ours_to_name and (path.stem in EMPTY_NAMES or EMPTY_NAMES & set(path.parts)):
            problems.append(f"{path}: the name says nothing about what is in it")
        if count > MAX_FILE_LINES and path.parts[0] == "src":
            problems.append(f"{path}: {count} lines, the limit is {MAX_FILE_LINES}")
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line):
                problems.append(f"{path}:{number}: a TODO must name its issue, as in TODO(#12)")
            if path.parts[0] == "src" and str(path) != JSON_READER and re.search(r"(?i)json::(parse|accept)\(", line):
                problems.append(f"{path}:{number}: JSON is read by base::parse_json(), which bounds it")
            if path.parts[0] == "src" and str(path) not in MAY_CHANGE_FILES and FILE_CHANGES.search(line):
                problems.append(f"{path}:{number}: files are changed through base::FileSystem")
        if path.parts[0] == "src":
            problems += [f"{path}:{start}: a function of {length} lines, the limit is {MAX_FUNCTION_LINES}"
                         for start, length in function_lengths(text) if length > MAX_FUNCTION_LINES]
    finish("sizes and words", problems, f"{len(files)} files")


if __name__ == "__main__":
    main()
