"""torch.save, or torch.load and load_state_dict, of ViT-B/32's state under AdamW, 1.06 GB in float32; the files are in the page cache."""

import json
import os
import sys
import time

import torch
import torchvision

mode, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = torchvision.models.vit_b_32()
optimizer = torch.optim.AdamW(model.parameters())
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
optimizer.step()
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
os.makedirs(folder, exist_ok=True)
path = os.path.join(folder, "checkpoint.pt")
times = []
if mode == "load":
    torch.save(state, path)
for _ in range(rounds):
    if mode == "save" and os.path.exists(path):
        os.remove(path)
    begin = time.perf_counter()
    if mode == "save":
        torch.save(state, path)
    else:
        loaded = torch.load(path)
        model.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
    times.append(1e3 * (time.perf_counter() - begin))
print(json.dumps({"ms": times}))
