"""Checkpoints of ViT-B/32 under AdamW, 1.06 GB in float32; files are in the page cache.

checkpoint.py MODE FOLDER ROUNDS, MODE one of
    save        torch.save
    async_save  what a step waits for torch.distributed.checkpoint.async_save, whose staging memory is kept
    load        torch.load by mmap, whose tensors the model takes as its own
    use         the same, or torch.load without mmap where that is faster, and one pass over all of it in place
"""

import copy
import json
import os
import shutil
import statistics
import sys
import time

import torch
import torch.distributed.checkpoint as dcp
import torchvision
from torch.distributed.checkpoint.staging import BlockingAsyncStager
from torch.utils._pytree import tree_leaves

mode, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = torchvision.models.vit_b_32()
optimizer = torch.optim.AdamW(model.parameters())
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
optimizer.step()
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
path = os.path.join(folder, "checkpoint.pt")


class KeptStager(BlockingAsyncStager):
    """Copies into memory that it keeps; torch's own keep theirs on machines with a GPU alone."""

    kept = None

    def stage(self, state):
        if self.kept is None:
            self.kept = copy.deepcopy(state)
        for source, target in zip(tree_leaves(state), tree_leaves(self.kept), strict=True):
            if isinstance(source, torch.Tensor):
                target.copy_(source)
        return self.kept


stager = KeptStager()


def state():
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def save():
    torch.save(state(), path)


def async_save():
    """Returns what is to be done before the next."""
    return dcp.async_save(state(), checkpoint_id=os.path.join(folder, "step"), async_stager=stager, no_dist=True).result


def load(by_mmap):
    loaded = torch.load(path, mmap=by_mmap, weights_only=True)
    model.load_state_dict(loaded["model"], assign=True)
    optimizer.load_state_dict(loaded["optimizer"])


@torch.no_grad()
def load_and_use(by_mmap):
    load(by_mmap)
    for tensor in [*model.state_dict().values(), *(part for parts in optimizer.state.values() for part in parts.values())]:
        tensor.mul_(1)


def times_of(work):
    """In ms, each round without what the former wrote."""
    times = []
    for _ in range(rounds):
        if mode.endswith("save"):
            shutil.rmtree(folder)
            os.makedirs(folder)
        begin = time.perf_counter()
        finish = work()
        times.append(1e3 * (time.perf_counter() - begin))
        if finish:
            finish()
    return times


CANDIDATES = {"save": [save], "async_save": [async_save], "load": [lambda: load(True)],
              "use": [lambda: load_and_use(True), lambda: load_and_use(False)]}
if mode in ("load", "use"):
    save()
print(json.dumps({"ms": min(map(times_of, CANDIDATES[mode]), key=lambda times: statistics.median(times[1:]))}))
