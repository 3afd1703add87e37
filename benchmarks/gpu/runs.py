"""Starts the kit's programs and reads what they leave behind."""

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

from processes import children, is_running

PART_S = 8 * 60  # within which a part must end
LEAST_S = 5  # with less left nothing is begun
MOST_END_S = 60  # that processes take to end once they were killed


class PartError(Exception):
    """Why a row of a part has no value."""


class OutOfTime(PartError):
    """Why what is left of a part did not run."""


def say(text):
    """Prints a line; a reader that has left loses no result."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")


class Rows:
    """The rows of a part: what was found, and whether it is as it must be."""

    def __init__(self):
        self.rows = []

    def add(self, name, value, unit, result, why="", **more):
        """`result`: passed, failed, measured (nothing is demanded) or not run, which has a reason."""
        self.rows.append({"name": name, "value": value, "unit": unit, "result": result, "why": why, **more})
        shown = f" {value:.4g} {unit}".rstrip() if isinstance(value, (int, float)) else ""
        say(f"  {result}: {name}{':' if shown else ''}{shown}{f' ({why})' if why else ''}")

    def judge(self, name, value, unit, is_right, why="", **more):
        self.add(name, value, unit, "passed" if is_right else "failed", why, **more)

    def attempt(self, name, unit, work):
        """Runs `work`, which adds its rows by itself; what it could not do is a row too."""
        try:
            work()
        except OutOfTime as error:
            self.add(name, None, unit, "not run", str(error))
        except PartError as error:
            self.add(name, None, unit, "failed", str(error))
        except Exception as error:  # of these scripts: the other rows must not be lost by it
            traceback.print_exc()
            self.add(name, None, unit, "failed", f"{type(error).__name__}: {error}")


@dataclasses.dataclass
class Run:
    """A run's directory, and what the program said."""

    path: pathlib.Path
    said: str = ""

    def lines(self):
        text = (self.path / "metrics.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def steps(self):
        return [line for line in self.lines() if "train/loss" in line]

    def losses(self):
        return [line["train/loss"] for line in self.steps()]

    def last(self, name):
        """The last value of a measure."""
        return [line[name] for line in self.lines() if name in line][-1]

    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    def is_on_gpu(self):
        """Only there memory is logged."""
        return "memory/allocated_bytes" in self.steps()[-1]

    def step_ms(self, skip):
        """The mean time of a step, without the first ones."""
        times = [line["wall_time"] for line in self.steps()][skip:]
        return 1e3 * (times[-1] - times[0]) / (len(times) - 1)

    def tensor_digests(self):
        """Of the last checkpoint: file and name of each tensor to its bytes' digest."""
        found = {}
        for path in sorted((self.path / "checkpoints" / "last").glob("*.safetensors")):
            data = path.read_bytes()
            (length,) = struct.unpack("<Q", data[:8])
            header = json.loads(data[8:8 + length])
            header.pop("__metadata__", None)
            for name, entry in header.items():
                begin, end = entry["data_offsets"]
                found[path.name, name] = hashlib.sha256(data[8 + length + begin:8 + length + end]).hexdigest()
        return found


class Kit:
    """The unpacked archive, the machine and a scratch folder."""

    def __init__(self, root, torch, is_cpu, num_gpus):
        self.root, self.torch, self.is_cpu, self.num_gpus = root, torch, is_cpu, num_gpus
        self.program = root / "bin" / "paceline"
        self.end = time.monotonic() + PART_S

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paceline-gpu-"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def remaining_s(self):
        left = self.end - time.monotonic()
        if left < LEAST_S:
            raise OutOfTime(f"the part's {PART_S // 60} minutes were over")
        return left

    def caches(self):
        """Where LibTorch, torch.compile and Triton keep compiled kernels: neither at home nor in what others share."""
        return {"TMPDIR": str(self.folder), "PYTORCH_KERNEL_CACHE_PATH": str(self.folder / "kernels"),
                "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"), "TRITON_CACHE_DIR": str(self.folder / "triton")}

    def environment(self, on_gpu=True, **changes):
        """Of our programs: LibTorch and what a bare machine may lack come first, and launchers leave nothing."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "NODE_RANK")
        kept = {key: value for key, value in os.environ.items() if key not in names}
        folders = [str(self.root / "lib" / "system"), self.torch["lib"], kept.get("LD_LIBRARY_PATH", "")]
        kept["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
        if self.is_cpu or not on_gpu:
            kept |= {"CUDA_VISIBLE_DEVICES": "", "OMP_WAIT_POLICY": "passive"}
        return kept | self.caches() | changes

    def call(self, *command, on_gpu=True, **changes):
        """Runs a program to its end; returns what it did. Its time is what the part has left."""
        words = list(map(str, command))
        left = self.remaining_s()
        try:
            process = subprocess.Popen(words, env=self.environment(on_gpu, **changes), cwd=self.folder, text=True,
                                       errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise PartError(f"{words[0]}: {error.strerror}") from None
        with process:
            try:
                out, err = process.communicate(timeout=left)
            except BaseException as stop:  # also of who interrupts this script
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started itself, as compute-sanitizer does
                if isinstance(stop, subprocess.TimeoutExpired):
                    raise OutOfTime(f"the part's {PART_S // 60} minutes were over while {words[0]} ran") from None
                raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def paceline(self, *arguments, on_gpu=True, **changes):
        done = self.call(self.program, *arguments, on_gpu=on_gpu, **changes)
        if done.returncode != 0:
            raise PartError(f"paceline {arguments[0]} ended with {done.returncode}: {last_words(done)}")
        return done

    def train_arguments(self, text, overrides, name, ranks):
        recipe = self.folder / f"{name}.yaml"
        recipe.write_text(text)
        return ["train", recipe, *overrides, "--run-dir", self.folder / name, "--nproc", ranks]

    def train(self, text, *overrides, name="run", ranks=1, on_gpu=True, phase="", **changes):
        """Trains in a new run directory; `phase` is the folder in it of the phase that is looked at."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        done = self.paceline(*self.train_arguments(text, overrides, name, ranks), on_gpu=on_gpu, **changes)
        run = Run(path / phase, done.stdout + done.stderr)
        if on_gpu and not self.is_cpu and not run.is_on_gpu():
            reasons = [line for line in run.said.splitlines() if "on the CPU although" in line]
            raise PartError("the run was on the CPU" + "".join(f": {line}" for line in reasons))
        return run

    def run_in(self, name, phase):
        """A phase of a run that has been."""
        return Run(self.folder / name / phase)

    def start_training(self, text, *overrides, name, ranks):
        """The same in the background; the caller ends it."""
        words = [self.program, *self.train_arguments(text, overrides, name, ranks)]
        return subprocess.Popen(list(map(str, words)), env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def last_words(done):
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return " / ".join(lines[-3:]) or "no word"


def kill(process):
    """Kills a launcher and its ranks; returns when all are gone: the driver takes a while to free what a rank had."""
    everyone = [process.pid, *children(process.pid)]
    for pid in everyone:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + MOST_END_S
    while any(map(is_running, everyone)):
        if time.monotonic() > deadline:
            raise PartError(f"ranks live {MOST_END_S} s after they were killed")
        time.sleep(0.05)


def largest_difference(own, other):
    """The largest |a - b| / max(1, |b|) of two runs' losses."""
    if len(own) != len(other) or not own:
        raise PartError(f"{len(own)} steps beside {len(other)}")
    return max(abs(a - b) / max(1, abs(b)) for a, b in zip(own, other))
