#!/usr/bin/env python3
"""Writes torch/: small weights as torch.save, safetensors and training programs write them.

    python tests/golden/checkpoint/make_torch_files.py        # torch, safetensors

expected.safetensors holds the values of all that are named *weights*, row by row.
"""

import collections
import json
import pathlib
import shutil
import zipfile

import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent / "torch"


class Net(torch.nn.Module):
    """A class that no reader of weights may ask for."""


def weights():
    """Views of all kinds: transposed, from the middle of a storage, expanded, empty, a scalar, a parameter."""
    base = torch.arange(24, dtype=torch.float32)
    state = collections.OrderedDict()
    state["plain.weight"] = torch.nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3))
    state["transposed"] = base.reshape(4, 6).t()
    state["middle"] = base[5:20:3]
    state["channels_last"] = torch.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    state["expanded"] = torch.tensor([7.0]).expand(3)
    state["empty"] = torch.zeros(0, 3)
    state["counter"] = torch.tensor(17)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
        state[f"typed.{str(dtype).removeprefix('torch.')}"] = torch.arange(3).to(dtype)
    return state


def write_programs(state):
    small = {"w": state["plain.weight"].detach(), "b": torch.ones(2)}
    prefixed = lambda prefix: {prefix + name: value for name, value in small.items()}
    other = {name: value + 1 for name, value in small.items()}
    facts = {"epoch": 3, "best": 0.75, "seed": 1 << 70, "name": "run", "done": True, "none": None, "list": [1, (2.5, "x")],
             "set": {1}, "size": torch.Size([2, 3]), "dtype": torch.float16, "device": torch.device("cpu"), "bytes": b"\xe9"}
    programs = {
        "own_loop.pt": {"model_state_dict": prefixed("module."), "optimizer": {"state": {0: {"step": 1}}}, **facts},
        "lightning.ckpt": {"state_dict": prefixed("net."), "hyper_parameters": {"lr": 0.1}, "epoch": 3},
        "composer.pt": {"state": {"model": prefixed("_orig_mod.module."), "rank": 0}, "rng": [1]},
        "timm.pth.tar": {"state_dict": small, "state_dict_ema": other, "arch": "resnet18", "epoch": 3},
        "deit.pth": {"model": small, "model_ema": other},
        "only_ema.pth": {"model_ema": other, "epoch": 3},
        "no_weights.pt": {"epoch": 3, "lr": 0.1},
    }
    for name, content in programs.items():
        torch.save(content, FOLDER / name)
    save_file(small, FOLDER / "small.safetensors")
    save_file(other, FOLDER / "other.safetensors")


def write_parts(state):
    names = ["plain.weight", "counter", "middle"]
    for suffix, index in (("safetensors", "model.safetensors.index.json"), ("bin", "pytorch_model.bin.index.json")):
        folder = FOLDER / f"parts_{suffix}"
        folder.mkdir()
        parts = {f"part-1-of-2.{suffix}": names[:2], f"part-2-of-2.{suffix}": names[2:]}
        for file, held in parts.items():
            tensors = {name: state[name].detach().contiguous() for name in held}
            save_file(tensors, folder / file) if suffix == "safetensors" else torch.save(tensors, folder / file)
        weight_map = {name: file for file, held in parts.items() for name in held}
        (folder / index).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))


def write_refused(whole):
    torch.save(Net(), FOLDER / "whole_model.pt")
    torch.save({"model": {"w": torch.ones(2).to_sparse()}}, FOLDER / "sparse.pt")
    torch.save({"w": torch.ones(2, dtype=torch.complex64)}, FOLDER / "complex.pt")
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(FOLDER / "script.pt"))
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(FOLDER / "compressed.pt", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in archive.namelist():
            packed.writestr(name, archive.read(name))
    with zipfile.ZipFile(FOLDER / "other.zip", "w") as other:
        other.writestr("readme.txt", "no weights")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    state = weights()
    torch.save(state, FOLDER / "weights.pth")
    torch.save(state, FOLDER / "weights_legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(state, FOLDER / "weights_protocol4.pth", pickle_protocol=4)
    save_file({name: value.detach().contiguous() for name, value in state.items()}, FOLDER / "expected.safetensors")
    write_programs(state)
    write_parts(state)
    write_refused(FOLDER / "weights.pth")
    for path in FOLDER.rglob("*.*"):
        path.chmod(0o644 if path.is_file() else 0o755)


if __name__ == "__main__":
    main()
