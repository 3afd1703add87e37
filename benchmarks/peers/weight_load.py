"""Reads the weights of ViT-B/32, 353 MB in float32 and in the page cache, into a model that is there.

weight_load.py MODE FILE ROUNDS, MODE one of
    read    torch.load(weights_only=True) and load_state_dict(strict=True)
    mmap    the same with mmap=True, whose tensors load_state_dict copies out of the file
"""

import json
import sys
import time

import timm
import torch

mode, path, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = timm.create_model("vit_base_patch32_224", num_classes=1000)
times = []
for _ in range(rounds):
    begin = time.perf_counter()
    model.load_state_dict(torch.load(path, weights_only=True, mmap=mode == "mmap"), strict=True)
    times.append(1e3 * (time.perf_counter() - begin))
print(json.dumps({"ms": times}))
