"""What a step waits for a slow network: two hosts of one rank and one thread, a link of 1 Gbit/s between them."""

import pathlib
import shutil
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "process"))

from two_nodes import ADDRESSES, Nodes  # noqa: E402
from workspace import MeasureError  # noqa: E402

RECIPE = """
model:     {name: resnet18, num_classes: 1000}
data:      {name: synthetic, num_samples: 4096, num_val_samples: 2, num_classes: 1000, size: 224,
            batch_size_per_rank: 16, num_threads: 1}
train:     {duration: 8ba, log_accuracy: false, eval_every: 8ba}
optimizer: {name: sgd, lr: 0.01}
schedule:  {name: constant}
parallel:  {strategy: ddp}
checkpoint: {every: 8ba, keep_best: 0}
"""
# Nothing to send before backward is over.
ONE_BUCKET = tuple(f"parallel.ddp.{key}" for key in ("first_bucket_mib=1024", "bucket_mib=1024", "last_bucket_mib=0"))
SKIPPED_STEPS = 2


def train(workspace, steps_of, *overrides):
    """Trains on both hosts; returns the steps of metrics.jsonl."""
    recipe = workspace.write_recipe(RECIPE)
    directory = workspace.folder / "two-nodes"
    shutil.rmtree(directory, ignore_errors=True)
    nodes = Nodes()
    try:
        if refusal := nodes.make():
            raise MeasureError(f"no network namespaces here: {refusal}")
        started = [nodes.start(node, [workspace.build / "bin" / "paceline", "train", recipe, *overrides, "--run-dir",
                                      directory, "--nproc", 1, "--nnodes", 2, "--node-rank", node, "--rdzv",
                                      f"{ADDRESSES[0]}:29541"], workspace.environment(1)) for node in range(2)]
        words = [process.communicate()[0] for process in started]
        if any(process.returncode != 0 for process in started):
            raise MeasureError("\n---\n".join(words))
    finally:
        nodes.remove()
    return steps_of(directory)[SKIPPED_STEPS:]


def median(steps, phase):
    return statistics.median(step[f"time/{phase}_ms"] for step in steps)


def exposed_ms(workspace, steps_of):
    return median(train(workspace, steps_of), "exposed_communication")


def wire_ms(workspace, steps_of):
    """What the step waits where nothing is hidden."""
    steps = train(workspace, steps_of, *ONE_BUCKET)
    wire = median(steps, "exposed_communication")
    backward = median(steps, "backward")
    if backward < 1.5 * wire:
        raise MeasureError(f"backward takes {backward:.0f} ms, too little beside {wire:.0f} ms on the wire")
    return wire
