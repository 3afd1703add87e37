"""Starts the built programs and reads what they leave behind; for the tests in this folder."""

import hashlib
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from processes import children, is_running

BUILD = pathlib.Path(os.environ["PACELINE_BUILD"])
PACELINE = BUILD / "bin" / "paceline"
TIMEOUT_S = 240


def environment(**changes):
    """This environment without what another launcher may have left in it."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "OMP_NUM_THREADS")
    kept = {key: value for key, value in os.environ.items() if key not in names}
    return kept | {key: str(value) for key, value in changes.items()}


def settings(*overrides):
    """The overrides, of those of one key the last: the program itself refuses two."""
    return list({override.partition("=")[0]: override for override in overrides}.values())


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def __str__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def paceline(*arguments, cwd=None, env=None, timeout=TIMEOUT_S):
    """Runs the program to its end."""
    return Result(subprocess.run([str(PACELINE), *map(str, arguments)], cwd=cwd, env=env or environment(),
                                 capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL))


def prepare_scans(scans, volumes, sides, xray_size):
    """Volumes of these sides, the largest first, and X-rays of scans, dealt out by the seed 1."""
    return paceline("data", "prepare", "ct", scans, volumes, "--sides", ",".join(map(str, sides)), "--xray-size", xray_size,
                    "--seed", 1)


def make_phantoms(root, patients, sides, xray_size):
    """Made-up patients with X-rays in `root`, and what is prepared of them: the folders of both."""
    phantoms, volumes = root / "phantoms", root / "volumes"
    for result in (paceline("data", "synth", phantoms, "--kind", "phantom", "--patients", patients, "--size", sides[0],
                            "--xray-size", xray_size), prepare_scans(phantoms, volumes, sides, xray_size)):
        assert result.code == 0, str(result)
    return phantoms, volumes


def start(*arguments, cwd=None, env=None):
    """Starts the program; the caller waits for it."""
    return subprocess.Popen([str(PACELINE), *map(str, arguments)], cwd=cwd, env=env or environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            stdin=subprocess.DEVNULL)


def kill(process, target="group", draws=random):
    """Kills a launcher and its ranks in a random order, or only one of them; returns when all are gone.

    `target`: "group", "launcher" or "rank" (a random one; the launcher while there is none).
    """
    def send_all(pids, number):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    if process.poll() is not None:  # its number may be another process's by now
        process.communicate()
        return
    send_all([process.pid], signal.SIGSTOP)  # it starts no rank while they are counted
    ranks = sorted(children(process.pid))
    everyone = [process.pid, *ranks]
    if target == "group":
        victims = draws.sample(everyone, len(everyone))
    elif target == "rank" and ranks:
        victims = [draws.choice(ranks)]
    else:
        victims = [process.pid]
    send_all(victims, signal.SIGKILL)
    send_all([process.pid], signal.SIGCONT)
    process.communicate(timeout=TIMEOUT_S)
    wait_until(lambda: not any(map(is_running, everyone)), "the end of all that was killed")


def wait_until(condition, what, timeout=TIMEOUT_S):
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s for {what}")
        time.sleep(0.01)


def read_metrics(run, timed=False):
    """The lines of metrics.jsonl; without what tells time unless asked for.

    The report of communication is such a line: every start of a run measures and logs it once.
    """
    text = (run / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]  # a kill may tear one
    if timed:
        return lines
    def is_timed(key):
        return key == "wall_time" or key.startswith(("time/", "throughput/"))
    return [{key: value for key, value in line.items() if not is_timed(key)} for line in lines
            if line.get("text") != "communication"]


def read_safetensors(path):
    """Name to (dtype, shape, bytes)."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length:]
    return {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def checkpoints(run):
    """The complete ones."""
    return sorted((path for path in (run / "checkpoints").glob("step-*") if "tmp" not in path.name),
                  key=lambda path: path.name)


def step_of(checkpoint):
    return int(checkpoint.name.removeprefix("step-"))


def checkpoint_tensors(checkpoint):
    tensors = {}
    for path in sorted(checkpoint.glob("*.safetensors")):
        tensors |= read_safetensors(path)
    return tensors


def checkpoint_digests(checkpoint):
    """Of every rank's tensors: file and name to (dtype, shape, digest of the bytes)."""
    return {(path.name, name): (dtype, shape, hashlib.sha256(data).hexdigest())
            for path in sorted(checkpoint.glob("*.safetensors"))
            for name, (dtype, shape, data) in read_safetensors(path).items()}


def checkpoint_state(checkpoint):
    """What is saved besides tensors (clock, loss scale, callbacks), without what tells time."""
    state = json.loads((checkpoint / "manifest.json").read_text())["state"]
    del state["clock"]["elapsed_s"]
    return state


def protobuf_fields(data):
    """Number and value of each field; a value is an integer or bytes."""
    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at
    at = 0
    while at < len(data):
        key, at = varint(at)
        kind = key & 7
        if kind == 0:
            value, at = varint(at)
        else:
            length, at = varint(at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at:at + length], at + length
        yield key >> 3, value


def read_events(run):
    """The scalars of TensorBoard's files: tag to step to value; of a step's values the newest file's, as readers do."""
    scalars = {}
    for path in sorted(run.glob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at + 16 <= len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            event, at = data[at + 12:at + 12 + length], at + 16 + length
            if at > len(data):
                break  # torn by a kill
            fields = dict(protobuf_fields(event))
            for number, value in protobuf_fields(fields.get(5, b"")):
                entry = dict(protobuf_fields(value))
                if number == 1 and 2 in entry:
                    scalars.setdefault(entry[1].decode(), {})[fields.get(2, 0)] = struct.unpack("<f", entry[2])[0]
    return scalars


def doubles(tensor):
    dtype, _, data = tensor
    form = {"F64": "d", "F32": "f", "I64": "q"}[dtype]
    return struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data)


def largest_difference(left, right):
    """Largest absolute difference over two dictionaries of tensors with the same names."""
    assert left.keys() == right.keys(), left.keys() ^ right.keys()
    return max(abs(a - b) for name in left for a, b in zip(doubles(left[name]), doubles(right[name])))


RECIPE = """
run:       {name: test, seed: 3}
model:     {name: MODEL, num_classes: 4}
data:      {name: image_folder, path: DATA, image_size: 32, global_batch_size: 12, num_threads: 1}
train:     {duration: 3ep}
optimizer: {name: sgd, lr: 0.05}
schedule:  {name: cosine, warmup: 4ba}
loggers:   {jsonl: , system: , tensorboard: }
"""

# A transformer that trains in milliseconds.
TINY_VIT = "vit, img_size: 32, patch_size: 8, embed_dim: 32, depth: 2, num_heads: 2"


class RunTest(unittest.TestCase):
    """A temporary folder with a small data set, made once per class, and a recipe."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="paceline-test-")
        cls.root = pathlib.Path(cls.folder.name)
        cls.data = cls.root / "shapes"
        made = paceline("data", "synth", cls.data, "--classes", 4, "--train-per-class", 15,
                        "--val-per-class", 5, "--min-size", 40, "--max-size", 64)
        assert made.code == 0, made

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def write_recipe(self, model=TINY_VIT, name="recipe.yaml", text=RECIPE):
        path = self.root / name
        path.write_text(text.replace("MODEL", model).replace("DATA", str(self.data)))
        return path

    def train(self, *arguments, code=0, **options):
        result = paceline("train", *arguments, cwd=self.root, **options)
        self.assertEqual(result.code, code, str(result))
        return result

    def run_directory(self, name):
        return self.root / "runs" / name

    def all_files(self):
        """What lies in the folder, less the lists of samples, which a command keeps once the data are old enough."""
        return sorted(path for path in self.root.rglob("*") if path.suffix != ".index")


def send(process, number=signal.SIGTERM):
    process.send_signal(number)
    output, _ = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, output
