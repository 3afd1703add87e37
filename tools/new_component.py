"""Writes the files of a new component and registers it: a stub that compiles, trains and passes the checks.

Usage: new_component.py KIND NAME, as in `new_component.py transform random_posterize`. The header declares the
component's Config, its Schema and make(); the source defines make(); the test is a first one. The templates lie
in tools/component_templates/, where the component is called new_part."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

from source_tree import EMPTY_NAMES, ROOT, SOURCE

TEMPLATES = ROOT / "tools" / "component_templates"
LIST = SOURCE / "app" / "recipe" / "builtin.cpp"


@dataclasses.dataclass(frozen=True)
class Kind:
    """Where components of a kind live, below src/paceline, and which registry holds them."""
    folder: str
    registry: str
    has_own_folder: bool = False

    @property
    def module(self):
        return self.folder.split("/")[0]

    def stem(self, name):
        return f"{self.folder}/{name}/{name}" if self.has_own_folder else f"{self.folder}/{name}"


KINDS = {
    "algorithm": Kind("algorithms", "algorithms", has_own_folder=True),
    "callback": Kind("callbacks", "callbacks"),
    "dataset": Kind("data/sources", "datasets"),
    "logger": Kind("loggers", "loggers"),
    "loss": Kind("nn/losses", "losses"),
    "model": Kind("models", "models", has_own_folder=True),
    "optimizer": Kind("optim", "optimizers"),
    "sampler": Kind("data/loader", "samplers"),
    "schedule": Kind("optim", "schedules"),
    "task": Kind("train/tasks", "tasks"),
    "transform": Kind("data/transforms/named", "transforms"),
}


def fail(problem):
    raise SystemExit(f"new_component.py: {problem}")


def class_name(name):
    return "".join(word.capitalize() for word in name.split("_"))


def check_name(kind, name):
    """Fails unless nothing has the name yet and files, classes and recipes can."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > 40:
        fail(f"'{name}' is no name for a component: write up to 40 lower-case letters, digits and single "
             "underscores, a letter first, as in random_crop")
    if name in EMPTY_NAMES:
        fail(f"'{name}' says nothing about what it does: choose another name")
    for suffix in (".h", ".cpp"):
        if (path := (SOURCE / kind.stem(name)).with_suffix(suffix)).exists():
            fail(f"{path.relative_to(ROOT)} exists: choose another name")
    declared = re.compile(rf'\b(?:struct|class) (?:{class_name(name)}|{class_name(name)}Config)\b(?! *;)'
                          rf'|string_view name = "{name}"')
    for path in sorted((SOURCE / kind.module).rglob("*.h")) + sorted((SOURCE / kind.module).rglob("*.cpp")):
        if declared.search(path.read_text()):
            fail(f"{path.relative_to(ROOT)} has a '{name}' already: choose another name")


def fill(template, name):
    return (TEMPLATES / template).read_text().replace("new_part", name).replace("NewPart", class_name(name))


def with_include(text, header):
    """The list of components with one more header, in order."""
    own, *others = re.findall(r'^#include "paceline/[^"]+"\n', text, re.MULTILINE)
    ordered = "".join(sorted({*others, f'#include "paceline/{header}"\n'}))
    return text.replace("".join(others), ordered, 1)


def registered(text, kind, name):
    """The list of components with the new one behind the last of its kind."""
    line = f"  registries.{kind.registry}.add<{kind.module}::{class_name(name)}Config>();\n"
    lines = text.splitlines(keepends=True)
    places = [i for i, other in enumerate(lines) if f"registries.{kind.registry}" in other]
    if not places:
        fail(f"{LIST.relative_to(ROOT)} registers nothing in registries.{kind.registry}")
    return "".join(lines[:places[-1] + 1] + [line] + lines[places[-1] + 1:])


def write_component(kind_name, name):
    """Returns the files that are new or changed."""
    kind = KINDS[kind_name]
    check_name(kind, name)
    listed = registered(with_include(LIST.read_text(), f"{kind.stem(name)}.h"), kind, name)
    files = {SOURCE / f"{kind.stem(name)}.h": fill(f"{kind_name}.h", name),
             SOURCE / f"{kind.stem(name)}.cpp": fill(f"{kind_name}.cpp", name),
             ROOT / "tests" / "unit" / f"{kind.stem(name)}_test.cpp": fill(f"{kind_name}_test.cpp", name),
             LIST: listed}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if shutil.which("clang-format"):  # a longer name breaks lines elsewhere
        subprocess.run(["clang-format", "-i", *files], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-B", ROOT / "tools" / "install_headers.py", "--write"], check=True,
                   stdout=subprocess.DEVNULL)
    return [path.relative_to(ROOT) for path in files] + [pathlib.Path("cmake/install_manifest.txt")]


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        fail(f"give KIND and NAME, as in 'new_component.py transform random_posterize'; kinds are {', '.join(KINDS)}")
    for path in write_component(sys.argv[1], sys.argv[2]):
        print(path)
    print("Write what it does, then: ./dev docs for the reference, ./dev test, ./dev lint. What acts more rarely than every "
          "second step, or refuses fsdp, needs a line in kNeeds of tests/rank/app/every_component_test.cpp, too; an "
          "algorithm one in tests/rank/app/pairs/methods.h.")


if __name__ == "__main__":
    main()
