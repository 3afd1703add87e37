"""What the checks know about the source tree: its files, its modules and the edges of layers.txt."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "paceline"
# Of files, folders and components: none of these says what is in them.
EMPTY_NAMES = {"utils", "util", "misc", "helper", "helpers", "common", "manager"}


class Layers:
    """The module graph of layers.txt."""

    def __init__(self, text):
        self.edges = {}
        self.libraries = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, allowed, libraries = (part.strip() for part in (line + " ").split(":"))
            for other in allowed.split():
                if other not in self.edges:
                    raise SystemExit(f"layers.txt:{number}: '{name}' names '{other}', which is not above it")
            self.edges[name] = set(allowed.split())
            self.libraries[name] = set(libraries.split())

    def sees_torch(self, module):
        """Whether LibTorch is among the libraries of this module or of one it may include."""
        return "torch" in self.libraries[module] or any(map(self.sees_torch, self.edges[module]))


def read_layers():
    return Layers((SOURCE / "layers.txt").read_text())


def tracked_files(*patterns):
    """The files that git tracks or would add, as paths relative to the root."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns],
                         cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [pathlib.Path(line) for line in out.splitlines() if (ROOT / line).exists()]


def module_of(path):
    """`src/paceline/data/codec/jpeg.h` belongs to module `data`; None outside src/paceline."""
    parts = path.parts
    return parts[2] if len(parts) > 3 and parts[:2] == ("src", "paceline") else None


def finish(check, problems, looked_at):
    """Prints the problems; the exit code says whether there were any."""
    for problem in problems:
        print(problem)
    print(f"{check}: {len(problems)} problems in {looked_at}")
    raise SystemExit(1 if problems else 0)
