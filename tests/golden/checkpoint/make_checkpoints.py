"""Writes version-1 to version-6, each as that version of the format was: checkpoints of one small model.

    python tests/golden/checkpoint/make_checkpoints.py        # numpy, xxhash

Two ranks hold it, cut as saved_runs.h cuts it. The bytes come from the description of the format, not
from paceline; version 2 counts channels-last tensors in their memory order, says so, and has the checksum
of a file's header in the place of that of the whole file; version 3 tells what the run was given, version 4 the names of the classes, version
5 what was done to the network, version 6 whose weights stand for the trained ones. Before version 3 a run that had diverged was saved, too: version-2-diverged is such a checkpoint.
"""

import json
import pathlib
import struct

import numpy as np
import xxhash

OFFSET, RANKS = 5, 2
DTYPES = {"float32": "F32", "float64": "F64", "int64": "I64"}
ALIGNMENT = 8


def model(has_diverged):
    """whole_model(OFFSET) of saved_runs.h."""
    numbers = lambda count: np.arange(count, dtype=np.float64) + OFFSET
    tensors = {
        "conv.weight": numbers(24).reshape(2, 3, 2, 2).astype(np.float32),
        "fc.weight": numbers(21).reshape(3, 7),
        "optimizer.momentum_buffer/fc.weight": (numbers(21) / 3).reshape(3, 7),
        "bn.num_batches_tracked": np.array(OFFSET, dtype=np.int64),
    }
    if has_diverged:
        tensors["fc.weight"][2, 3] = np.nan
    return tensors


def checksum(data):
    return f"{xxhash.xxh3_64_intdigest(data):016x}"


def slices_of(tensor, order):
    """(begin, end, values) of each rank's part, counted in `order`."""
    flat = (tensor.transpose(order) if order else tensor).reshape(-1)
    bounds = [flat.size * rank // RANKS for rank in range(RANKS + 1)]
    return [(begin, end, flat[begin:end]) for begin, end in zip(bounds, bounds[1:])]


def safetensors(tensors):
    """The bytes of a file and of its header. Tensors of large elements come first."""
    header, data = {}, b""
    for name, values in sorted(tensors, key=lambda item: -item[1].itemsize):
        header[name] = {"dtype": DTYPES[values.dtype.name], "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    length = struct.pack("<Q", len(text))
    return length + text + data, length + text


def write(folder, version, has_diverged=False):
    files = [[] for _ in range(RANKS)]
    records = []
    for name, tensor in model(has_diverged).items():
        order = [0, 2, 3, 1] if version >= 2 and tensor.ndim == 4 else []
        record = {"name": name, "dtype": DTYPES[tensor.dtype.name], "shape": list(tensor.shape)}
        if version >= 2:
            record["order"] = order
        record["slices"] = []
        for rank, (begin, end, values) in enumerate(slices_of(tensor, order)):
            if begin == end:
                continue
            is_whole = end - begin == tensor.size
            stored = name if is_whole else f"{name}[{begin}:{end}]"
            files[rank].append((stored, values.reshape(tensor.shape) if is_whole else values))
            record["slices"].append({"file": f"rank-{rank}.safetensors", "tensor": stored, "begin": begin,
                                     "end": end, "xxh3": checksum(values.tobytes())})
        records.append(record)
    folder.mkdir(exist_ok=True)
    file_records = []
    for rank, tensors in enumerate(files):
        name = f"rank-{rank}.safetensors"
        content, header = safetensors(tensors)
        (folder / name).write_bytes(content)
        own = {"xxh3": checksum(content)} if version == 1 else {"header_xxh3": checksum(header)}
        file_records.append({"name": name, "size": len(content), **own})
    manifest = {
        "format": "paceline-checkpoint", "version": version, "step": 1,
        "environment": {"world_size": RANKS, "threads_per_rank": 1, "libtorch": "", "instruction_set": "",
                        "device": ""},
        "monitored": {"name": "val/top1", "value": float(OFFSET)},
        **({"inputs": {}} if version >= 3 else {}),
        **({"class_names": ["cat", "dog"]} if version >= 4 else {}),
        **({"surgery": [{"algorithm": "blurpool", "options": "{min_channels: 2}",
                         "layers": {"convolutions": ["conv"]}}]} if version >= 5 else {}),
        **({"standing_weights": ""} if version >= 6 else {}),
        "state": {"clock": {"step": 1}},
        "config": "run: {}\n", "files": file_records, "tensors": records,
    }
    rest = json.dumps(manifest, indent=1)[1:] + "\n"  # without the bracket, which the first line has
    (folder / "manifest.json").write_text(f'{{"xxh3": "{checksum(rest.encode())}",\n{rest}')


if __name__ == "__main__":
    for number in (1, 2, 3, 4, 5, 6):
        write(pathlib.Path(__file__).with_name(f"version-{number}"), number)
    write(pathlib.Path(__file__).with_name("version-2-diverged"), 2, has_diverged=True)
