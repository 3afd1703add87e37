"""Fails on an #include that layers.txt does not allow, and on CUDA outside the cuda/ folders."""

import re

from source_tree import ROOT, finish, module_of, read_layers, tracked_files

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
CUDA_HEADER = re.compile(r"^(cuda|cublas|cudnn|nccl|nvml|nvToolsExt|nvtx|c10/cuda|ATen/cuda|torch/csrc/cuda)")
TORCH_HEADER = re.compile(r"^(ATen|c10|torch|caffe2)/")


def check_file(path, layers):
    module = module_of(path)
    in_cuda = "cuda" in path.parts
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        where = f"{path}:{number}"
        if re.match(r"\s*#\s*if\s+0\b", line):
            yield f"{where}: '#if 0' hides dead code; remove it"
        if re.match(r"\s*#\s*if.*CUDA", line) and not in_cuda:
            yield f"{where}: CUDA code lives in <module>/cuda/, chosen by CMake, not behind #ifdef"
        found = INCLUDE.match(line)
        if not found:
            continue
        header = found.group(1)
        if CUDA_HEADER.match(header) and not in_cuda:
            yield f"{where} includes {header}: CUDA headers belong in <module>/cuda/"
        if TORCH_HEADER.match(header) and not layers.sees_torch(module):
            yield f"{where} includes {header}: {module} must not see LibTorch"
        if header.startswith("paceline/"):
            target = header.split("/")[1]
            if target != module and target not in layers.edges[module]:
                yield f"{where} includes {header}: {module} may not depend on {target} (layers.txt)"


def main():
    layers = read_layers()
    files = [f for f in tracked_files("src/paceline/*.h", "src/paceline/*.cpp", "src/paceline/*.cu") if module_of(f)]
    problems = [f"{f}: module '{module_of(f)}' is not in layers.txt" for f in files if module_of(f) not in layers.edges]
    problems += [p for f in files if module_of(f) in layers.edges for p in check_file(f, layers)]
    finish("layers", problems, f"{len(files)} files of {len(layers.edges)} modules")


if __name__ == "__main__":
    main()
