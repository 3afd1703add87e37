"""What a result must say of the machine: driver, GPUs, clocks, torch."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading

PROBE = """
import json, os, torch
told = {"version": torch.__version__, "lib": os.path.join(os.path.dirname(torch.__file__), "lib"), "cuda": torch.version.cuda,
        "gpus": [], "memory_bytes": [], "uuids": [], "trouble": ""}
try:
    for found in [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]:
        told["gpus"].append(found.name)
        told["memory_bytes"].append(found.total_memory)
        told["uuids"].append(f"GPU-{found.uuid}")
except Exception as error:  # a driver that is too old, say
    told["trouble"] = (str(error).splitlines() or [repr(error)])[0]
print(json.dumps(told))
"""
PROBE_S = 300  # from a network's disk an import may take minutes


class MachineError(Exception):
    """Why nothing can run here."""


def probe_torch():
    """What this Python's torch tells, asked in a process of its own: it would keep a context on the GPU."""
    try:
        done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_S)
    except subprocess.TimeoutExpired:
        raise MachineError(f"{sys.executable}: torch did not tell its GPUs within {PROBE_S} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise MachineError(f"{sys.executable} cannot import torch ({last}): pip install torch==2.11.0, "
                           "or set PACELINE_PYTHON to a Python that has it")
    return json.loads(done.stdout.splitlines()[-1])


def check_torch(torch, needed, is_cpu):
    """Refuses a torch that the programs were not linked with."""
    version = torch["version"].split("+")[0]
    if version != needed:
        raise MachineError(f"{sys.executable} has torch {torch['version']}, and these programs are linked with {needed}")
    if is_cpu:
        return
    if not (torch["cuda"] or "").startswith("13."):
        raise MachineError(f"this torch is built for CUDA {torch['cuda']}, and the plug-in for CUDA 13: install the cu130 wheel")
    if not torch["gpus"]:
        why = f" ({torch['trouble']})" if torch["trouble"] else ""
        raise MachineError(f"torch sees no GPU{why}: look at nvidia-smi and CUDA_VISIBLE_DEVICES, or try the scripts with --cpu")


def ask_driver(fields, uuids=()):
    """What nvidia-smi says of these GPUs, by field, or of all; nothing where it is not there."""
    of = [f"--id={','.join(uuids)}"] if uuids else []
    try:
        done = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", *of],
                              capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    return [dict(zip(fields, (cell.strip() for cell in line.split(",")))) for line in done.stdout.splitlines()]


def driver_version():
    told = ask_driver(["driver_version"])
    if told:
        return told[0]["driver_version"]
    try:
        text = pathlib.Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    found = re.search(r"\b\d{3}\.[\d.]+", text)
    return found[0] if found else None


def require_glibc(needed):
    """The programs would end with a word of the loader that says less."""
    name, _, version = os.confstr("CS_GNU_LIBC_VERSION").partition(" ")
    if [int(part) for part in version.split(".")[:2]] < [int(part) for part in needed.split(".")]:
        raise MachineError(f"these programs need glibc {needed} or newer, and here is {name} {version}")


class ClockWatch:
    """The clocks of the first of these GPUs while it works, every two seconds."""

    FIELDS = ["clocks.sm", "clocks.mem", "utilization.gpu", "power.draw", "temperature.gpu"]

    def __init__(self, uuids=()):
        self.uuids = uuids[:1]
        self.samples = []
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()

    def watch(self):
        while True:
            told = ask_driver(self.FIELDS, self.uuids)
            if not told:
                return
            self.samples.append(told[0])
            if self.is_over.wait(2):
                return

    def summary(self):
        """Of the samples in which the GPU worked: minimum, median and maximum of each field."""
        rows = [row for row in self.samples if row["utilization.gpu"].isdigit() and int(row["utilization.gpu"]) >= 50]
        found = {}
        for field in self.FIELDS:
            values = [float(row[field]) for row in rows if re.fullmatch(r"[\d.]+", row[field])]
            if values:
                found[field] = {"min": min(values), "median": statistics.median(values), "max": max(values)}
        return found


def clocks(uuids=()):
    """The highest clocks of these GPUs, and what limits them."""
    return ask_driver(["clocks.max.sm", "clocks.max.mem", "power.limit", "persistence_mode"], uuids)
