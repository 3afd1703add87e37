"""A PyTorch or timm optimizer's step over the parameters of a ResNet-50: the median time.

Usage: optimizer_step.py NAME FORM REPEATS, FORM fused, foreach or plain
"""

import json
import statistics
import sys
import time

import timm.optim
import torch
import torchvision

name, form, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])


class MuonAndAdamW:
    """torch.optim.Muon for matrices, convolutions as [outputs, all else], and AdamW for all else, the head included."""

    def __init__(self, groups, lr, **_):
        decayed, plain = (list(group["params"]) for group in groups)
        head = decayed.pop()
        self.filters = decayed
        self.matrices = [torch.nn.Parameter(weight.detach().flatten(1)) for weight in decayed]
        self.parts = [torch.optim.Muon(self.matrices, lr=lr), torch.optim.AdamW([head, *plain], lr=lr, fused=True)]

    def step(self):
        for filters, matrix in zip(self.filters, self.matrices):
            matrix.grad = filters.grad.flatten(1)
        for part in self.parts:
            part.step()


kinds = {"sgd": (torch.optim.SGD, {"momentum": 0.9}), "adam": (torch.optim.Adam, {}), "adamw": (torch.optim.AdamW, {}),
         "nadam": (torch.optim.NAdam, {}), "nadamw": (timm.optim.NAdamW, {}), "radam": (torch.optim.RAdam, {}),
         "rmsprop": (torch.optim.RMSprop, {}), "rmsprop_tf": (timm.optim.RMSpropTF, {}), "lion": (timm.optim.Lion, {}),
         "lamb": (timm.optim.Lamb, {}), "muon": (MuonAndAdamW, {})}
forms = {"fused": {"fused": True}, "foreach": {"foreach": True}, "plain": {"foreach": False}}
kind, options = kinds[name]
parameters = list(torchvision.models.resnet50().parameters())
decayed = [p for p in parameters if p.dim() > 1]
groups = [{"params": decayed, "weight_decay": 0.01}, {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]
optimizer = kind(groups, lr=1e-3, **options, **forms[form])
for parameter in parameters:
    parameter.grad = torch.empty_like(parameter).uniform_(-1, 1)
times = []
for _ in range(repeats):
    start = time.perf_counter()
    optimizer.step()
    times.append(time.perf_counter() - start)
print(json.dumps({"ms": 1e3 * statistics.median(times)}))
