"""Writes timm_augmix.tsv: what timm's AugMix (timm 1.0.31) makes of pictures of images/ for given draws.

    python tests/golden/data/transforms/make_timm_augmix.py

Run with timm, torchvision and Pillow. What timm computes, as a contract for the C++: the chains' sum by float32 shares,
clipped and cut off to bytes, then Pillow's blend of the image with it. Lines are as those of cases.tsv; `timm` steps are
those of augmentations.tsv, and `blended M` ends a mixture.
"""

import pathlib
from unittest import mock

import numpy as np
from make_transforms import IMAGES, polynomial_hash
from PIL import Image
from timm.data import auto_augment as timm_ops

HERE = pathlib.Path(__file__).parent
MODE = "bicubic 124 116 104"
OPS = ["AutoContrast none", "ColorIncreasing 1.2", "ContrastIncreasing 0.8", "BrightnessIncreasing 1.25",
       "SharpnessIncreasing 0.75", "Equalize none", "Rotate -8.5", "PosterizeIncreasing 3", "SolarizeIncreasing 190",
       "ShearX 0.07", "ShearY -0.09", "TranslateXRel 0.11", "TranslateYRel -0.02"]
rng = np.random.default_rng(55)


def apply(op):
    name, value = op.split()
    args = [] if value == "none" else [int(value) if name.startswith(("Poster", "Solar")) else float(value)]
    return lambda image: timm_ops.NAME_TO_OP[name](image, *args, resample=Image.BICUBIC, fillcolor=(124, 116, 104))


def augmix(name, chains, shares, mixing):
    """Chains of operations; the shares of the chains; that of all chains together."""
    depths, chosen = iter([len(chain) for chain in chains]), iter(chains)
    drawn = {"dirichlet": lambda alphas: np.array(shares), "beta": lambda a, b: mixing,
             "randint": lambda low, high: next(depths), "choice": lambda *_, **__: list(map(apply, next(chosen)))}
    with mock.patch.multiple(np.random, **drawn):
        image = timm_ops.AugMixAugment([], width=len(chains))(Image.open(IMAGES / name).convert("RGB"))
    steps = ["mix 0"]
    for chain, share in zip(chains, shares):
        steps += [*(f"timm {op} {MODE}" for op in chain), f"chain {share}"]
    pixels = np.asarray(image, dtype=np.float32) / np.float32(255)
    return "\t".join([name, "none", "; ".join([*steps, f"blended {mixing}"]), str(image.height), str(image.width),
                      f"{polynomial_hash(pixels.tobytes()):016x}"])


def main():
    lines = []
    for name, width in (("444.jpg", 3), ("444.jpg", 1), ("rgb.png", 4), ("ramp.png", 3), ("1x1.jpg", 2)):
        for _ in range(3):
            chains = [list(rng.choice(OPS, rng.integers(1, 4))) for _ in range(width)]
            shares = [round(float(share), 6) for share in rng.dirichlet([1.0] * width)]
            lines.append(augmix(name, chains, shares, round(float(rng.beta(1.0, 1.0)), 6)))
    (HERE / "timm_augmix.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
