"""Writes compression.json: what torch's communication hooks make of the gradients of two Gloo ranks.

    python tests/golden/parallel/make_compression.py         # torch 2.11

Gradients and the first Q of PowerSGD are functions of their indices (see `wave`), which compression_test.cpp repeats.
"""

import json
import math
import pathlib

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

RANKS, STEPS, START = 2, 6, 2
KEPT = (1, 2, 5)  # steps in the file: as they are, the first and the last compressed
SHAPES = [[16, 24], [12], [8, 3, 2, 2], [2, 3]]


def wave(shape, phase):
    values = [math.sin(0.7 * i * (1 + 0.01 * i) + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def gradient(step, rank, number):
    return wave(SHAPES[number], 10.0 * step + 3.0 * rank + number)


def first_q(rank, number):
    rows = SHAPES[number][0]
    columns = math.prod(SHAPES[number]) // rows
    return wave([columns, min(rank, rows, columns)], 100.0 + number)


def short(tensor):
    return [float(f"{value:.11g}") for value in tensor.reshape(-1).tolist()]


class Bucket:
    """What the hooks ask of torch.distributed.GradBucket: all gradients in one bucket."""

    def __init__(self, tensors):
        self.flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        self.views = [part.view(tensor.shape) for part, tensor
                      in zip(self.flat.split([tensor.numel() for tensor in tensors]), tensors)]

    def buffer(self):
        return self.flat

    def gradients(self):
        return self.views

    def index(self):
        return 0

    def is_last(self):
        return True


def power_sgd(rank, approximation_rank):
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=approximation_rank, start_powerSGD_iter=START)
    compressed = [n for n in range(len(SHAPES)) if len(SHAPES[n]) > 1 and powerSGD_hook._should_compress(
        SHAPES[n][0], math.prod(SHAPES[n][1:]), min(approximation_rank, SHAPES[n][0]), 2)[0]]
    qs = [first_q(approximation_rank, n) for n in compressed]
    # As if an earlier step had left them, so that the hook draws none.
    state.q_memory_dict[0] = torch.cat([q.reshape(-1) for q in qs])
    state.p_memory_dict[0] = torch.empty(sum(SHAPES[n][0] * q.shape[1] for n, q in zip(compressed, qs)),
                                         dtype=torch.float64)
    means = []
    for step in range(STEPS):
        bucket = Bucket([gradient(step, rank, n) for n in range(len(SHAPES))])
        mean = powerSGD_hook.powerSGD_hook(state, bucket).wait()
        if step in KEPT:
            means.append(short(mean))
    error = Bucket([torch.zeros(shape, dtype=torch.float64) for shape in SHAPES])
    error.flat.copy_(state.error_dict[0])
    return {"approximation_rank": approximation_rank, "compressed": compressed, "means": means,
            "errors": [short(error.views[n]) for n in compressed]}


def cast(rank, hook):
    bucket = Bucket([gradient(0, rank, n).float() for n in range(len(SHAPES))])
    return short(hook(None, bucket).wait())


def work(rank, store, results):
    dist.init_process_group("gloo", rank=rank, world_size=RANKS, store=dist.FileStore(store, RANKS))
    golden = {"fp16": cast(rank, default_hooks.fp16_compress_hook), "bf16": cast(rank, default_hooks.bf16_compress_hook),
              "powersgd": [power_sgd(rank, approximation_rank) for approximation_rank in (1, 4)]}
    if rank == 0:  # errors are those of rank 0
        pathlib.Path(results).write_text(json.dumps(golden) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(
            work, (folder + "/store", str(pathlib.Path(__file__).with_name("compression.json"))), nprocs=RANKS)
