"""A measure, and the scratch folder in which its contenders run."""

import copy
import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
from typing import Callable

from conversation import Conversation

PEERS = pathlib.Path(__file__).resolve().parent / "peers"
TIMEOUT_S = 900
ALLOCATOR = "libtcmalloc_minimal.so.4"


class MeasureError(Exception):
    """Why a measure gives no figure."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """`must` and `goal` bound own / other, or with a unit own's figure, `share` bounds own / whole; see results.Bound."""

    name: str
    title: str
    unit: str
    must: str
    goal: str
    own: Callable
    other: Callable
    beside: str = ""  # what the other is, where it is not plain PyTorch
    is_contest: bool = True  # whether it is a peer; else a limit: a formula, the disk, paceline with less to do
    needs: str = ""  # an environment variable without which the measure is left out
    whole: Callable = None  # what own's figure is a part of
    share: str = ""  # a goal for that part

    @property
    def is_rate(self):
        """Whether more is better."""
        return self.unit.endswith("/s")

    def contenders(self, workspace, with_others, build=None):
        """Name to function: own and its whole, and either the peer or limit or, in the workspace of another build, own."""
        found = {"own": lambda: self.own(workspace)}
        if self.whole and not build:
            found["whole"] = lambda: self.whole(workspace)
        if build:
            found["other"] = lambda: self.own(build)
        elif with_others:
            found["other"] = lambda: self.other(workspace)
        return found


class Workspace:
    """A scratch folder with the data that all contenders read."""

    def __init__(self, build):
        self.build = build.resolve()
        self.peer_python = None
        if "PACELINE_PEERS" in os.environ:
            self.peer_python = pathlib.Path(os.environ["PACELINE_PEERS"]) / "bin" / "python"
        self.figures = {}
        self.conversations = {}
        self.settings = {}  # of peers, by what was found to be fastest here

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paceline-bench-"))
        self.paceline("data", "synth", self.folder / "shapes", "--classes", "10", "--train-per-class", "64",
                      "--val-per-class", "2")
        return self

    def __exit__(self, *_):
        for conversation in self.conversations.values():
            conversation.close()
        shutil.rmtree(self.folder)

    def beside(self, build):
        """The same folder and data for the programs of another build."""
        other = copy.copy(self)
        other.build = build.resolve()
        other.figures = {}
        return other

    def environment(self, threads):
        return os.environ | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}

    def output(self, command, threads, extra_environment=None):
        """Runs a command to its end and returns what it prints; shows its errors if it fails."""
        environment = self.environment(threads) | (extra_environment or {})
        words = list(map(str, command))
        try:
            result = subprocess.run(words, env=environment, timeout=TIMEOUT_S, cwd=self.folder, capture_output=True, text=True)
        except FileNotFoundError:
            raise MeasureError(f"{words[0]} is not there: was that folder built?") from None
        except subprocess.TimeoutExpired:
            raise MeasureError(f"{' '.join(words)} took more than {TIMEOUT_S} s") from None
        if result.returncode != 0:
            raise MeasureError(f"{' '.join(words)} failed:\n{result.stderr}")
        return result.stdout

    def once(self, work, figure, run):
        """One of the figures of a run that gives several; each is handed out once before work runs again."""
        figures = self.figures.setdefault(work, {})
        if figure not in figures:
            figures.update(run())
        return figures.pop(figure)

    def paceline(self, *arguments, threads=2):
        return self.output([self.build / "bin" / "paceline", *map(str, arguments)], threads)

    def program(self, name, *arguments, threads=1, ranks=1):
        """Runs a program of the benchmarks; returns the JSON of its last line."""
        launch = [self.build / "bin" / "paceline", "launch", "--nproc", ranks, "--"] if ranks > 1 else []
        return last_json(self.output([*launch, self.build / "bin" / name, *arguments], threads))

    def peer(self, script, *arguments, threads=2, ranks=1):
        """Runs a peer script with the allocator that paceline's ranks have; returns the JSON of its last line."""
        python = [str(self.peer_python)]
        if ranks > 1:
            python += ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={free_port()}"]
        # The compiler's pool of processes would outlive the script and be taken for a disturbance.
        environment = {"LD_PRELOAD": ALLOCATOR, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        return last_json(self.output([*python, PEERS / script, *arguments], threads, environment))

    def ask(self, python, script, question, threads=1):
        """What a peer script that stays answers. Its environment is that of peer()."""
        environment = self.environment(threads) | {"LD_PRELOAD": ALLOCATOR}
        try:
            if script not in self.conversations:
                log = self.folder / f"{script.stem}.log"
                self.conversations[script] = Conversation([python, script], environment, self.folder, log)
            return self.conversations[script].ask(question, TIMEOUT_S)
        except FileNotFoundError:
            raise MeasureError(f"{python} is not there") from None
        except (EOFError, TimeoutError) as error:
            self.conversations.pop(script).close()
            raise MeasureError(f"{script.name} {question}: {error}") from None

    def write_recipe(self, text):
        path = self.folder / "recipe.yaml"
        path.write_text(text.replace("DATA", str(self.folder / "shapes")))
        return path

    def train(self, recipe, *overrides, ranks=1, threads=2, run="run"):
        """Trains; returns the lines of metrics.jsonl that are steps."""
        directory = self.folder / run
        shutil.rmtree(directory, ignore_errors=True)
        self.paceline("train", self.write_recipe(recipe), *overrides, "--run-dir", directory, "--nproc", ranks,
                      threads=threads)
        return steps_of(directory)


def last_json(output):
    """The JSON of the last line that ends with an object, which a rank's number may precede."""
    return json.loads([line[line.index("{"):] for line in output.splitlines() if line.endswith("}")][-1])


def steps_of(directory):
    """The lines of a run's metrics.jsonl that are steps."""
    lines = map(json.loads, (directory / "metrics.jsonl").read_text().splitlines())
    return [line for line in lines if "train/loss" in line]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
