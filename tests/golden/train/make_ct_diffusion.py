"""Writes ct_diffusion.json: the loss of task ct_diffusion and its gradient, written here plainly in PyTorch.

    python tests/golden/train/make_ct_diffusion.py        # torch 2.11

v follows from the noise itself and from what the network takes volume and noise to be; a view's line integrals are sums over
voxels, which those of rays through their middles are. Inputs are make_models.py's words.
"""

import json
import math
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))
from make_models import rounded, words  # noqa: E402

BATCH, SIDE, XRAYS = 3, 6, 24
TRAINED_STEPS = 1000
STEPS = [0, 412, 987]
MADE, VOLUMES, NOISE, IMAGES = range(1_000_021, 1_000_025)
WINDOW, FULL_SCALE = (-800, 2000), 2.5
CASES = {"usual": (5, 0.3), "no gamma": (None, 0.3), "measured": (5, 0), "small gamma": (0.5, 2)}  # gamma, physics' weight


def values(number, *shape):
    return torch.from_numpy((2 * (words(number, math.prod(shape)) / 2.0**32 - 0.5)).reshape(shape))


def kept_at(steps):
    def left(step):
        return math.cos((step / TRAINED_STEPS + 0.008) / 1.008 * math.pi / 2) ** 2
    kept, product = [], 1.0
    for step in range(TRAINED_STEPS):
        product *= 1 - min(max(1 - left(step + 1) / left(step), 1e-4), 0.9999)
        kept.append(product)
    return torch.tensor([kept[step] for step in steps], dtype=torch.float64)


def diffusion(made, volumes, noise, kept, gamma):
    """Of each sample."""
    share, rest = (root.sqrt().view(-1, 1, 1, 1) for root in (kept, 1 - kept))
    noisy = share * volumes + rest * noise
    noise_found = (noisy - share * made) / rest
    errors = (share * noise_found - rest * made - (share * noise - rest * volumes)).square().mean((1, 2, 3))
    ratio = kept / (1 - kept)
    return errors * (1 if gamma is None else ratio.clamp(max=gamma) / (ratio + 1))


def views(volumes):
    """Line integrals over a cube's side of [N][z][y][x]: frontal and lateral, seen from in front and from the left."""
    hu = WINDOW[0] + (volumes + 1) / 2 * (WINDOW[1] - WINDOW[0])
    water = (1 + hu / 1000).clamp(min=0)
    frontal, lateral = water.mean(2).flip(1, 2), water.mean(3).flip(1, 2)
    return torch.stack([frontal, lateral], 1)


def physics(made, images, kept):
    """Of each sample, times what noise has left of it."""
    squares = images.unflatten(3, (SIDE, -1)).unflatten(2, (SIDE, -1)).mean((3, 5))
    wanted = (squares + 1) / 2 * FULL_SCALE
    return (views(made) - wanted).square().mean((1, 2, 3)) * kept


def numbers(gamma, weight):
    volumes, noise = values(VOLUMES, BATCH, SIDE, SIDE, SIDE), values(NOISE, BATCH, SIDE, SIDE, SIDE)
    made = values(MADE, BATCH, SIDE, SIDE, SIDE).requires_grad_()
    kept = kept_at(STEPS)
    parts = diffusion(made, volumes, noise, kept, gamma), physics(made, values(IMAGES, BATCH, 2, XRAYS, XRAYS), kept)
    loss = (parts[0] + weight * parts[1]).sum()
    loss.backward()
    return {"gamma": gamma, "physics_weight": weight, "loss": rounded([loss.item()], 13)[0],
            "parts": rounded([part.sum().item() for part in parts], 13),
            "gradient": rounded(made.grad.flatten().tolist(), 13)}


def main():
    told = {"made_with": {"torch": torch.__version__}, "window": WINDOW, "full_scale": FULL_SCALE, "steps": STEPS,
            "cases": {name: numbers(*case) for name, case in CASES.items()}}
    (HERE / "ct_diffusion.json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
