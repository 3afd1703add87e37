"""Step times beside PyTorch, eager and compiled: in each round own and peers take turns."""

import contextlib
import dataclasses
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys

import machine
import recipes
from results import LEAST_ROUNDS, Ratio
from runs import PART_S, OutOfTime, PartError

HERE = pathlib.Path(__file__).resolve().parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}  # of both sides in a trial on the CPU


@dataclasses.dataclass(frozen=True)
class Contest:
    title: str
    own_model: str
    peer_model: str
    size: int
    batch: int
    optimizer: str
    steps: int  # of a turn
    warm_up: int
    num_classes: int = 1000
    precision: str = "bf16"
    rounds: int = LEAST_ROUNDS
    peers = {"PyTorch eager": [], "torch.compile": ["--compile"]}

    def peer_words(self):
        """The peer's script and what it is told, but for the device."""
        return ["torch_step.py", "--model", self.peer_model, "--size", self.size, "--batch", self.batch, "--steps", self.steps,
                "--classes", self.num_classes, "--precision", self.precision]

    def train(self, kit, steps):
        """A run of ours of so many steps."""
        text = recipes.recipe(self.own_model, self.size, self.batch, steps, self.optimizer)
        text = text.replace("num_classes: 10", f"num_classes: {self.num_classes}")
        return kit.train(text, f"train.precision={self.precision}", "train.compile=graph", "train.log_accuracy=false",
                         **(ONE_THREAD if kit.is_cpu else {}))


def contests(kit):
    if kit.is_cpu:
        return [Contest("ViT dim 64", recipes.VIT64, "vit64", 32, 1, recipes.ADAMW, 20, 10, 10, "fp32"),
                Contest("ResNet-18 32 px", "resnet18", "resnet18", 32, 2, recipes.SGD, 6, 3, 10, "fp32")]
    batch = 128 if min(kit.torch["memory_bytes"]) > 38 * 2**30 else 32
    return [Contest("ResNet-50 224 px", "resnet50", "resnet50", 224, batch, recipes.SGD, 60, 25),
            Contest("ViT-B/32 224 px", "vit_base_patch32_224", "vit_base_patch32", 224, 2 * batch, recipes.ADAMW, 60, 25)]


class Peer:
    """A torch process that waits for its turns."""

    def __init__(self, kit, contest, options):
        self.kit = kit
        script, *told = contest.peer_words()
        words = [sys.executable, "-B", HERE / script, *told, "--device", "cpu" if kit.is_cpu else "cuda", *options]
        environment = os.environ | kit.caches()
        if kit.is_cpu:
            environment |= ONE_THREAD
        self.errors = (kit.folder / "peer.txt").open("w+")
        self.process = subprocess.Popen(list(map(str, words)), env=environment, cwd=kit.folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True)

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], self.kit.remaining_s())
        if not ready:
            raise OutOfTime(f"the part's {PART_S // 60} minutes were over while the peer worked")
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise PartError("the peer failed: " + " / ".join(self.errors.read().strip().splitlines()[-3:]))
        return json.loads(line)

    def step_ms(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.answer()["step_ms"]

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with torch.compile's workers
        self.process.wait()
        self.errors.close()


def own_step_ms(kit, contest):
    """Our step, and the share of it that waited for data."""
    run = contest.train(kit, contest.warm_up + contest.steps + 1)
    timed = run.steps()[contest.warm_up + 1:]
    wait_ms = statistics.mean(line["time/data_wait_ms"] for line in timed)
    step_ms = run.step_ms(contest.warm_up)
    return step_ms, wait_ms / step_ms


def speed(kit, rows):
    for contest in contests(kit):
        name = f"{contest.title}, {contest.precision}, batch {contest.batch}"
        rows.attempt(name, "ms", lambda contest=contest, name=name: contend(kit, rows, contest, name))


def start_peers(kit, rows, contest, name, peers):
    """Fills `peers`, where some may have been started, with all that are warm; returns the number of parameters of each."""
    parameters = {}
    for peer, options in contest.peers.items():  # one after the other: cuDNN tries its algorithms as it gets warm
        if peer not in peers:
            peers[peer] = Peer(kit, contest, options)
        try:
            parameters[peer] = peers[peer].answer()["parameters"]
        except OutOfTime:
            raise
        except PartError as error:  # torch.compile needs a C compiler and Python's headers, say; the others go on
            peers.pop(peer).end()
            rows.add(f"{name}: step of {peer}", None, "ms", "not run", str(error))
    return parameters


def take_turns(kit, contest, figures, shares, peers):
    for number in range(2 if kit.is_cpu else contest.rounds):
        order = list(figures) if number % 2 == 0 else list(reversed(figures))
        for contender in order:
            if contender == "paceline":
                step_ms, share = own_step_ms(kit, contest)
                shares.append(share)
            else:
                step_ms = peers[contender].step_ms()
            figures[contender].append(step_ms)


def contend(kit, rows, contest, name, started=()):
    """Ends all peers, those too that were `started` before, by name."""
    shares, peers = [], dict(started)
    with machine.ClockWatch(kit.torch["uuids"]) as watch:
        try:
            parameters = start_peers(kit, rows, contest, name, peers)
            figures = {"paceline": []} | {peer: [] for peer in peers}
            try:
                take_turns(kit, contest, figures, shares, peers)
            except OutOfTime as error:
                if not all(figures.values()):
                    raise
                rows.add(f"{name}: rounds after {min(map(len, figures.values()))}", None, "", "not run", str(error))
        finally:
            for peer in peers.values():
                peer.end()
    add_rows(rows, name, figures, shares, parameters, watch.summary())


def add_rows(rows, name, figures, shares, parameters, clocks):
    rounds = min(map(len, figures.values()))
    for contender, values in figures.items():
        more = {"parameters": parameters[contender]} if contender in parameters else {"clocks": clocks}
        rows.add(f"{name}: step of {contender}", statistics.median(values[:rounds]), "ms", "measured",
                 f"{min(values[:rounds]):.4g} to {max(values[:rounds]):.4g} in {rounds} rounds", each=values, **more)
    for peer in parameters:
        ratio = Ratio.of(figures["paceline"][:rounds], figures[peer][:rounds])
        rows.add(f"{name}: step of paceline / {peer}", ratio.median, "", "measured",
                 f"{ratio.low:.3f} to {ratio.high:.3f} in {rounds} rounds: {ratio.verdict(is_rate=False)}")
    rows.add(f"{name}: share of paceline's step that waits for data", statistics.median(shares), "", "measured")
