"""Packs what a machine with a GPU needs to try paceline there: programs, plug-in, tests, scripts; no LibTorch.

Usage: tools/gpu_kit.py BUILD ARCHIVE.tar.gz [--require-cuda]
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "paceline-gpu-kit"
MOST_BYTES = 60_000_000
PROGRAMS = ["bin/paceline", "libexec/paceline-rank"]
SCANS = "lib/libpaceline_ct.so"
OF_CUDA = ["bin/gpu_test", "lib/libpaceline_cuda.so"]
# The C library and that of C++ are the machine's own: torch needs both, and no two C libraries go together.
OF_MACHINE = re.compile(r"^(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|mvec|anl|nsl|stdc\+\+|gcc_s))\.so")

# Libraries that nothing of the kit calls, and how the names of their functions begin. Archives are unpacked nowhere, and
# the real one brings 35 MB of others; of scans the kit reads NIfTI alone. Both need a newer C library than all else.
STAND_INS = {"libarchive.so.13": "archive_", "libexpat.so.1": "XML_"}


def run(*command, given=None):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, input=given).stdout


def system_libraries(binary):
    """What the loader takes from the system for a binary of the build folder, but for what stand-ins replace."""
    found, waiting = {}, [binary]
    told = run("ldd", binary)  # LibTorch's libraries, which lie elsewhere, are none of it
    if missing := re.findall(r"^\s*(\S+) => not found", told, re.MULTILINE):
        raise SystemExit(f"{binary}: the loader does not find {', '.join(missing)}")
    places = dict(re.findall(r"(\S+) => (/(?:usr/)?lib\S*) \(0x", told))
    while waiting:
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", "--wide", waiting.pop())):
            if name in places and name not in found and name not in STAND_INS and not OF_MACHINE.match(name):
                found[name] = pathlib.Path(places[name])
                waiting.append(found[name])
    return set(found.values())


def names_of(prefix, binaries):
    """The functions that binaries take from others, by how their names begin."""
    return sorted({name for binary in binaries
                   for name in re.findall(rf"\bUND ({prefix}\w+)", run("readelf", "--dyn-syms", "--wide", binary))})


def write_stand_in(folder, library, names):
    """A library that ends the program when it is called."""
    text = "#include <stdio.h>\n#include <stdlib.h>\n" + "".join(
        f'void {name}(void) {{ fputs("{name}: the kit has no {library}\\n", stderr); abort(); }}\n' for name in names)
    run("cc", "-shared", "-fPIC", "-O1", "-s", f"-Wl,-soname,{library}", "-x", "c", "-", "-o", folder / library, given=text)


def newest_glibc(binaries):
    """The version of the C library that all of them together need."""
    versions = {tuple(map(int, version.split(".")))
                for binary in binaries for version in re.findall(r"\bGLIBC_(\d+\.\d+)", run("readelf", "-V", "--wide", binary))}
    return ".".join(map(str, max(versions)))


def check_run_paths(binary):
    for entries in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", "--wide", binary)):
        for entry in entries.split(":"):
            if not entry.startswith("$ORIGIN"):
                raise SystemExit(f"{binary}: its run path {entry} is of this machine")


def commit():
    """What was built, as far as git knows."""
    try:
        head = run("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD").strip()
        return head + (" with changes" if run("git", "-C", ROOT, "status", "--porcelain", "-uno").strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def fill(kit, build, require_cuda):
    names = [*PROGRAMS, SCANS] + [name for name in OF_CUDA if require_cuda or (build / name).exists()]
    libraries = set()
    for name in names:
        if not (build / name).exists():
            raise SystemExit(f"{build / name} is not there: build it first")
        libraries |= system_libraries(build / name)
        (kit / name).parent.mkdir(parents=True, exist_ok=True)
        run("strip", "-o", kit / name, build / name)
        check_run_paths(kit / name)
    (kit / "lib" / "system").mkdir(parents=True, exist_ok=True)
    for library in libraries:
        shutil.copyfile(library, kit / "lib" / "system" / library.name)
    callers = [*(kit / name for name in names), *libraries]
    for library, prefix in STAND_INS.items():
        write_stand_in(kit / "lib" / "system", library, names_of(prefix, callers))
    (kit / "scripts").mkdir()
    beside = [ROOT / "benchmarks" / "results.py", ROOT / "tests" / "process" / "processes.py",
              *(ROOT / "benchmarks" / "peers" / name for name in ("ct_cascade_twin.py", "ct_diffusion.py"))]
    for script in [*sorted((ROOT / "benchmarks" / "gpu").glob("*.py")), *beside]:
        shutil.copyfile(script, kit / "scripts" / script.name)
    shutil.copy(ROOT / "benchmarks" / "gpu" / "run.sh", kit / "run.sh")
    shutil.copyfile(ROOT / "docs" / "gpu-kit.md", kit / "README.md")
    binaries = [path for path in kit.rglob("*") if path.is_file() and path.parent.name not in ("scripts", NAME)]
    about = {"version": re.search(r"VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1],
             "commit": commit(), "glibc": newest_glibc(binaries),
             "torch": re.search(r"^torch==(\S+)", (ROOT / "deps" / "wheels.txt").read_text(), re.MULTILINE)[1]}
    (kit / "kit.json").write_text(json.dumps(about, indent=2) + "\n")


def nobody(entry):
    """Whose files they were is nobody's business."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("--require-cuda", action="store_true", help="fail without the plug-in and its tests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="paceline-kit-") as folder:
        kit = pathlib.Path(folder) / NAME
        kit.mkdir()
        fill(kit, options.build.resolve(), options.require_cuda)
        options.archive.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(options.archive, "w:gz", compresslevel=9) as archive:
            archive.add(kit, NAME, filter=nobody)
        about = json.loads((kit / "kit.json").read_text())
    size = options.archive.stat().st_size
    if size > MOST_BYTES:
        options.archive.unlink()
        raise SystemExit(f"the archive has {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f} MB")
    print(f"{options.archive}: {size / 1e6:.1f} MB, needs glibc {about['glibc']}, torch {about['torch']}")


if __name__ == "__main__":
    main()
