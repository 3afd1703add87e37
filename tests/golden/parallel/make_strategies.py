"""Writes strategies.json: weights after 30 AdamW steps under torch's DistributedDataParallel and fully_shard.

    python tests/golden/parallel/make_strategies.py        # torch 2.11

The two agree to 1e-12 on 2 and on 4 ranks, or nothing is written. Net, data and shares of the ranks are
those of tests/support/block_net.h and ragged_step.h.
"""

import json
import math
import os
import pathlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F

STEPS, GLOBAL_BATCH, LR, CLIP = 30, 13, 0.01, 0.5
VARIANTS = {
    "plain": {},
    "microbatches": {"num_microbatches": 3},
    "tied": {"num_microbatches": 2, "ties_blocks": True},
    "frozen": {"num_microbatches": 2, "freezes_first_blocks": True},
}


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


class Block(nn.Module):
    def __init__(self, width, phase, tied=None):
        super().__init__()
        self.up = nn.Parameter(wave((2 * width, width), phase))
        self.bias = nn.Parameter(wave((2 * width,), phase + 1))
        self.down = tied if tied is not None else nn.Parameter(wave((width, 2 * width), phase))

    def forward(self, x):
        return x + F.linear(torch.tanh(F.linear(x, self.up, self.bias)), self.down)


class Net(nn.Module):
    def __init__(self, ties_blocks, freezes_first_blocks):
        super().__init__()
        self.stem = nn.Parameter(wave((6, 3, 3, 3), 0.0))
        for i in range(4):
            tied = self.block1.down if ties_blocks and i == 3 else None
            setattr(self, f"block{i}", Block(6, float(i), tied))
        self.head = nn.Parameter(wave((5, 6), 9.0))
        if freezes_first_blocks:
            for parameter in [self.stem, *self.block0.parameters(), *self.block1.parameters()]:
                parameter.requires_grad_(False)

    def forward(self, images):
        x = F.conv2d(images, self.stem, stride=2).mean((2, 3))
        for i in range(4):
            x = getattr(self, f"block{i}")(x)
        return F.linear(x, self.head)


def microbatches(rank, world_size, count):
    largest = -(-GLOBAL_BATCH // world_size)
    first = min(GLOBAL_BATCH, rank * largest)
    last = min(GLOBAL_BATCH, first + largest)
    size = -(-largest // count)
    for i in range(count):
        begin = min(last, first + i * size)
        yield slice(begin, min(last, begin + size))


def train(rank, world_size, peer, num_microbatches=1, ties_blocks=False, freezes_first_blocks=False):
    net = Net(ties_blocks, freezes_first_blocks)
    if peer == "ddp":
        model = nn.parallel.DistributedDataParallel(net)
    else:
        if not ties_blocks:  # fully_shard wants a shared parameter in one unit
            for i in range(4):
                fully_shard(getattr(net, f"block{i}"))
        model = fully_shard(net)
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in trained if p.dim() > 1], "weight_decay": 0.01},
         {"params": [p for p in trained if p.dim() <= 1], "weight_decay": 0.0}], lr=LR)
    images, targets = wave((64, 3, 8, 8), 3.0), wave((64, 5), 5.0)
    for _ in range(STEPS):
        parts = list(microbatches(rank, world_size, num_microbatches))
        for number, part in enumerate(parts):
            is_last = number + 1 == len(parts)
            if peer == "ddp":
                model.require_backward_grad_sync = is_last
            else:
                model.set_requires_gradient_sync(is_last)
            loss = (model(images[part]) - targets[part]).square().sum()
            (loss * world_size / GLOBAL_BATCH).backward()  # both peers divide by the ranks
        nn.utils.clip_grad_norm_(trained, CLIP)
        optimizer.step()
        optimizer.zero_grad()
    whole = {}
    for name, parameter in net.named_parameters(remove_duplicate=False):
        value = parameter.detach()
        whole[name] = (value.full_tensor() if hasattr(value, "full_tensor") else value).flatten()
    return whole


def work(rank, world_size, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29611 + world_size))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    results = {f"{peer} {name}": train(rank, world_size, peer, **options)
               for peer in ("ddp", "fully_shard") for name, options in VARIANTS.items()}
    if rank == 0:
        torch.save(results, f"{folder}/{world_size}.pt")
    dist.destroy_process_group()


def main():
    folder = pathlib.Path(__file__).parent
    scratch = pathlib.Path(os.environ.get("TMPDIR", "/tmp"))
    runs = []
    for world_size in (2, 4):
        mp.spawn(work, (world_size, scratch), nprocs=world_size)
        file = scratch / f"{world_size}.pt"
        runs.append(torch.load(file))
        file.unlink()
    golden = {}
    for name in VARIANTS:
        expected = runs[0][f"ddp {name}"]
        for run in runs:
            for peer in ("ddp", "fully_shard"):
                for key, value in run[f"{peer} {name}"].items():
                    difference = (value - expected[key]).abs().max().item()
                    assert difference < 1e-12, (name, peer, key, difference)
        golden[name] = {key: [float(f"{x:.13g}") for x in value.tolist()] for key, value in expected.items()}
    (folder / "strategies.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
