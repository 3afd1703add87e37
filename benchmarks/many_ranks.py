"""Times the start, save, load, failure and end of a run of many ranks on this machine, for docs/scaling.md.

A tiny model, so that the ranks' processes and what they say to each other are all there is to time. Prints the median
of the rounds and the least and the most, in seconds:

    start    from the launcher's start until the first step is done
    save     from the end of a step until its checkpoint is saved, nothing else going on
    load     from the banner of a run that resumes until it has its state and its directory
    resume   from the launcher's start until the first step after a resume is done
    failure  from the end of one rank (SIGKILL) until all others have written why they end
    gone     until their processes have ended, and the launcher with them
    end      from the last word of training until the launcher has ended

Usage: benchmarks/many_ranks.py [--nproc N] [--rounds N] [--strategy NAME] [--build DIR]
"""

import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPE = """
model:      {name: vit, img_size: 8, patch_size: 4, embed_dim: 64, depth: 2, num_heads: 2, num_classes: 5}
data:       {name: synthetic, num_samples: 4096, num_val_samples: 64, num_classes: 5, size: 8, image_size: 8,
             batch_size_per_rank: 1, num_threads: 1}
train:      {duration: 2ba, log_accuracy: false, eval_every: 1000ba}
optimizer:  {name: adamw, lr: 0.001}
schedule:   {name: constant}
checkpoint: {every: 2ba, keep_best: 0, async: false}
"""
PATIENCE_S = 300


class Run:
    """A launcher, and when it printed what."""

    def __init__(self, options, recipe, directory, *arguments):
        command = [options.build / "bin" / "paceline", "train", recipe, "--nproc", options.nproc, "--run-dir",
                   directory, f"parallel.strategy={options.strategy}", *arguments]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        self.started = time.time()
        self.launcher = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True, env=environment)
        self.lines = []

    def await_line(self, words):
        """The time at which a line with these words came."""
        for line in self.launcher.stdout:
            self.lines.append((time.time(), line))
            if words in line:
                return self.lines[-1][0]
        raise SystemExit(f"'{words}' did not come:\n" + "".join(line for _, line in self.lines[-20:]))

    def await_end(self):
        self.lines += [(time.time(), line) for line in self.launcher.stdout]
        self.launcher.wait(PATIENCE_S)
        return time.time()

    def ranks(self):
        """The launcher's children that are ranks, by number."""
        found = {}
        children = pathlib.Path(f"/proc/{self.launcher.pid}/task/{self.launcher.pid}/children").read_text().split()
        for child in children:
            words = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            found |= {int(word[5:]): int(child) for word in words if word.startswith(b"RANK=")}
        return found


def time_training(options, recipe, directory):
    """Start, save and end of a run; load and resume of its second half."""
    run = Run(options, recipe, directory)
    figures = {"start": run.await_line("step 1/") - run.started}
    step_done = run.await_line("step 2/")
    figures["save"] = run.await_line("saved ") - step_done
    trained = run.await_line("done after step")
    figures["end"] = run.await_end() - trained
    resumed = Run(options, recipe, directory, "--resume", "auto", "train.duration=3ba")
    banner = resumed.await_line("] paceline ")
    figures["load"] = resumed.await_line("resumed ") - banner
    figures["resume"] = resumed.await_line("step 3/") - resumed.started
    resumed.await_end()
    if run.launcher.returncode != 0 or resumed.launcher.returncode != 0:
        raise SystemExit("a run has failed:\n" + "".join(line for _, line in run.lines + resumed.lines))
    return figures


def time_failure(options, recipe, directory):
    """What follows when the last rank is killed while all train."""
    run = Run(options, recipe, directory, "train.duration=1000000ba", "checkpoint.every=null")
    run.await_line("step 1/")
    victim = options.nproc - 1
    process = run.ranks()[victim]
    killed = time.time()
    os.kill(process, signal.SIGKILL)
    gone = run.await_end() - killed
    told = [path.stat().st_mtime for path in (directory / "logs").glob("rank_*_error.json")]
    if len(told) != victim:
        print(f"{victim - len(told)} of {victim} ranks did not say why they ended", file=sys.stderr)
    return {"failure": max(told) - killed, "gone": gone}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nproc", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--strategy", default="ddp")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    rounds = {}
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="paceline-many-ranks-") as folder:
            recipe = pathlib.Path(folder) / "recipe.yaml"
            recipe.write_text(RECIPE)
            figures = time_training(options, recipe, pathlib.Path(folder) / "run")
            figures |= time_failure(options, recipe, pathlib.Path(folder) / "failing")
        print(f"  round {number + 1}: " + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()),
              file=sys.stderr, flush=True)
        for name, value in figures.items():
            rounds.setdefault(name, []).append(value)
    for name, values in rounds.items():
        print(f"{name:8} {statistics.median(values):6.2f} s ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
