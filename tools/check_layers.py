"""Fails on an #include that layers.txt does not allow, on folders of a module that include each other in a
circle, on a folder that hides what is in it, and on CUDA outside the cuda/ folders."""

import collections
import pathlib
import re

from source_tree import ROOT, finish, module_of, read_layers, tracked_files

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
CUDA_HEADER = re.compile(r"^(cuda|cublas|cudnn|nccl|nvml|nvToolsExt|nvtx|c10/cuda|ATen/cuda|torch/csrc/cuda)")
TORCH_HEADER = re.compile(r"^(ATen|c10|torch|caffe2)/")
MOST_FILES_IN_A_FOLDER = 40


def includes_of(path):
    """Line numbers and headers."""
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1)


def check_file(path, layers):
    module = module_of(path)
    in_cuda = "cuda" in path.parts
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        where = f"{path}:{number}"
        if re.match(r"\s*#\s*if\s+0\b", line):
            yield f"{where}: '#if 0' hides dead code; remove it"
        if re.match(r"\s*#\s*if.*CUDA", line) and not in_cuda:
            yield f"{where}: CUDA code lives in <module>/cuda/, chosen by CMake, not behind #ifdef"
    for number, header in includes_of(path):
        where = f"{path}:{number}"
        if CUDA_HEADER.match(header) and not in_cuda:
            yield f"{where} includes {header}: CUDA headers belong in <module>/cuda/"
        if TORCH_HEADER.match(header) and not layers.sees_torch(module):
            yield f"{where} includes {header}: {module} must not see LibTorch"
        if header.startswith("paceline/"):
            target = header.split("/")[1]
            if target != module and target not in layers.edges[module]:
                yield f"{where} includes {header}: {module} may not depend on {target} (layers.txt)"


def folder_includes(files):
    """Which folder includes from which, each with a file that does."""
    edges = collections.defaultdict(dict)
    for path in files:
        for number, header in includes_of(path):
            target = str(pathlib.PurePath("src", header).parent)
            if header.startswith("paceline/") and target != str(path.parent):
                edges[str(path.parent)].setdefault(target, f"{path}:{number} includes {header}")
    return edges


def find_circle(edges):
    """A way from a folder back to itself, as its edges' reasons, or None."""
    finished = set()

    def visit(folder, way):
        if folder in finished:
            return None
        names = [name for name, _ in way]
        if folder in names:
            return [reason for _, reason in way[names.index(folder):]]
        for target, reason in sorted(edges.get(folder, {}).items()):
            if circle := visit(target, [*way, (folder, reason)]):
                return circle
        finished.add(folder)
        return None

    return next(filter(None, (visit(folder, []) for folder in sorted(edges))), None)


def folder_problems(files):
    sizes = collections.Counter(path.parent for path in files)
    for folder, size in sorted(sizes.items()):
        if size > MOST_FILES_IN_A_FOLDER:
            yield f"{folder} holds {size} files: give it rooms of at most {MOST_FILES_IN_A_FOLDER}"
    if circle := find_circle(folder_includes(files)):
        yield "these folders include each other in a circle:\n  " + "\n  ".join(circle)


def main():
    layers = read_layers()
    files = [f for f in tracked_files("src/paceline/*.h", "src/paceline/*.cpp", "src/paceline/*.cu") if module_of(f)]
    problems = [f"{f}: module '{module_of(f)}' is not in layers.txt" for f in files if module_of(f) not in layers.edges]
    problems += [p for f in files if module_of(f) in layers.edges for p in check_file(f, layers)]
    problems += folder_problems(files)
    finish("layers", problems, f"{len(files)} files of {len(layers.edges)} modules")


if __name__ == "__main__":
    main()
