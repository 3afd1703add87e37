"""Writes composer.tsv: what Composer's RandAugment and AugMix (mosaicml 0.32.1) make of the pictures of images/ for
given draws, and composer_arguments.txt: what its operations hand to Pillow for them.

    python tests/golden/data/transforms/make_composer.py

Run with mosaicml, torchvision and Pillow. What Composer computes, as a contract for the C++: u is numpy's uniform number of
[0, 1), and a draw from low to high is low + (high - low) * u. Of most operations the level is drawn from 0.1 to the
severity, then for what moves pixels a side: above 0.5 the other one. Posterize keeps 4 - int(level * 4 / 10) bits; rotate
turns by int(level * 30 / 10) degrees; solarize's threshold is 256 - int(level * 256 / 10); shears have the slope
level * 0.3 / 10; translations are of int(level * (side / 3) / 10) pixels. Colour, contrast, brightness and sharpness draw
a side, then a factor from 1 to the severity (side above 0.5) or from 1 - 0.09 * severity to 1; brightness above 1 is
multiplied by 0.75. The "original" ones have the factor level * 1.8 / 10 + 0.1. What moves pixels is bilinear, and black
comes in. AugMix sums the chains by their float32 shares, then takes float32 shares of sum and image, cut off to bytes.

Lines of composer.tsv are as those of cases.tsv; a step `composer NAME SEVERITY U V` has the draws of an operation.
Lines of composer_arguments.txt: operation, severity, both draws, the image's height and width, the argument.
Made with mosaicml 0.32.1, Pillow 11.3.0, numpy 2.2.6.
"""

import pathlib
from unittest import mock

import numpy as np
from composer.algorithms.augmix import augmix_image
from composer.algorithms.randaugment import randaugment_image
from composer.algorithms.utils import augmentation_primitives as primitives
from make_transforms import IMAGES, polynomial_hash
from PIL import Image, ImageEnhance, ImageOps

HERE = pathlib.Path(__file__).parent
OPS = {op.__name__: op for op in [*primitives.augmentation_sets["all"], *primitives.augmentation_sets["original"]]}
rng = np.random.default_rng(44)


def opened(name):
    return Image.open(IMAGES / name).convert("RGB")


def uniforms_from(numbers):
    """Stands for numpy's uniform() and random(): the next of these numbers, each of which must be taken."""
    left = list(numbers)

    def uniform(low=0.0, high=1.0):
        return low + (high - low) * left.pop(0)
    return uniform, left


def num_uniforms(op):
    uniform, left = uniforms_from([0.25] * 9)
    with mock.patch.object(np.random, "uniform", uniform), mock.patch.object(np.random, "random", uniform):
        OPS[op](Image.new("RGB", (8, 8)), 5)
    return 9 - len(left)


NUM_UNIFORMS = {op: num_uniforms(op) for op in OPS}


def drawn_step(op, severity, draws=None):
    """An operation with its draws, two numbers, of which it takes as many as it wants."""
    draws = draws or (round(float(rng.uniform()), 6), round(float(rng.uniform()), 6))
    return op, severity, draws


def text_of(step):
    op, severity, draws = step
    return f"composer {op} {severity} {draws[0]} {draws[1]}"


def patched(steps, more=()):
    """Has Composer draw these operations and their numbers."""
    numbers = [number for op, _, draws in steps for number in draws[: NUM_UNIFORMS[op]]]
    uniform, left = uniforms_from(numbers)
    chosen = iter([OPS[op] for op, _, _ in steps])
    patches = mock.patch.multiple(np.random, uniform=uniform, random=uniform, choice=lambda _: next(chosen), **dict(more))
    return patches, left


def line(name, steps, image):
    pixels = np.asarray(image, dtype=np.float32) / np.float32(255)
    hashed = polynomial_hash(pixels.tobytes())
    return "\t".join([name, "none", steps, str(image.height), str(image.width), f"{hashed:016x}"])


def rand_augment(name, steps):
    patches, left = patched(steps)
    with patches:
        image = randaugment_image(opened(name), severity=steps[0][1], depth=len(steps))
    assert not left
    return line(name, "; ".join(map(text_of, steps)), image)


def augmix(name, chains, shares, mixing):
    """Chains of operations; the shares of the chains; that of all chains together."""
    steps = [step for chain in chains for step in chain]
    depths = iter([len(chain) for chain in chains])
    given = {"dirichlet": lambda alphas: np.array(shares, dtype=np.float64), "beta": lambda a, b: mixing,
             "randint": lambda low, high: next(depths)}
    patches, left = patched(steps, given)
    with patches:
        image = augmix_image(opened(name), severity=steps[0][1], depth=-1, width=len(chains), alpha=1.0)
    assert not left
    text = ["mix 0"]
    for chain, share in zip(chains, shares):
        text += [*map(text_of, chain), f"chain {share}"]
    return line(name, "; ".join([*text, f"mixed_of {mixing}"]), image)


def make_cases():
    for op in OPS:
        for severity in (9, 3, 10):
            for draws in (None, None, (0.999, 0.75), (0.0, 0.25)):
                yield rand_augment("444.jpg", [drawn_step(op, severity, draws)])
    for name in ("1x1.jpg", "flat.jpg", "narrow.jpg", "ramp.png", "rgb.png"):
        for op in OPS:
            yield rand_augment(name, [drawn_step(op, 9)])
    for _ in range(12):
        yield rand_augment("444.jpg", [drawn_step(op, 9) for op in rng.choice(list(OPS), 3)])
    for name, width in (("444.jpg", 3), ("444.jpg", 1), ("rgb.png", 4), ("ramp.png", 3), ("1x1.jpg", 2)):
        for _ in range(3):
            chains = [[drawn_step(op, 3) for op in rng.choice(list(OPS), rng.integers(1, 4))] for _ in range(width)]
            shares = [round(float(share), 6) for share in rng.dirichlet([1.0] * width)]
            yield augmix(name, chains, shares, round(float(rng.beta(1.0, 1.0)), 6))


def argument(op, severity, draws, size):
    """What Pillow is handed."""
    seen = []
    image = Image.new("RGB", size)

    def keep(_, *values, **__):
        seen.append(values)
        return image
    kept = {"posterize": keep, "solarize": keep}
    enhancers = ("Color", "Contrast", "Brightness", "Sharpness")
    uniform, left = uniforms_from(draws[: NUM_UNIFORMS[op]])
    with mock.patch.object(Image.Image, "rotate", keep), mock.patch.object(Image.Image, "transform", keep), \
            mock.patch.multiple(ImageOps, **kept), mock.patch.multiple(np.random, uniform=uniform, random=uniform):
        for name in enhancers:
            mock.patch.object(getattr(ImageEnhance, name), "enhance", keep, create=True).start()
        OPS[op](image, severity)
        mock.patch.stopall()
    assert not left
    values = seen[0]
    if len(values) == 1:
        return values[0]
    matrix = values[2]  # of size, kind, matrix
    return matrix[{"shear_x": 1, "shear_y": 3, "translate_x": 2, "translate_y": 5}[op]]


def make_arguments():
    for op in OPS:
        if NUM_UNIFORMS[op] == 0:
            continue
        for severity in (0, 1, 3, 9, 10):
            for draws in ((0.0, 0.0), (0.5, 0.5), (0.999999, 0.999999), (0.51, 0.2), tuple(rng.uniform(size=2))):
                draws = tuple(map(float, draws))
                for width, height in ((224, 197), (32, 32)):
                    value = float(argument(op, severity, draws, (width, height)))
                    yield f"{op} {severity} {draws[0]!r} {draws[1]!r} {height} {width} {value!r}"


def main():
    (HERE / "composer.tsv").write_text("\n".join(make_cases()) + "\n")
    (HERE / "composer_arguments.txt").write_text("\n".join(make_arguments()) + "\n")


if __name__ == "__main__":
    main()
