"""Makes augmentations.tsv, perspectives.tsv, blurred.tsv with blurred/, displaced.tsv with displaced/
and levels.txt of timm: what Pillow,
torchvision and timm make of the pictures of images/ by operations that make_transforms.py has not.

Run with torch, torchvision, timm and Pillow:
    python make_augmentations.py
Lines of augmentations.tsv are as those of cases.tsv. Made with Pillow 13.0.0, torchvision 0.26.0, torch 2.11.0,
timm 1.0.31.
"""

import pathlib

import numpy as np
import torch
from make_transforms import IMAGES, MODES, apply_step, polynomial_hash
from PIL import Image, ImageFilter
from timm.data import auto_augment as timm_ops
from torchvision import transforms
from torchvision.transforms import functional as F

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(33)


def opened(name):
    return Image.open(IMAGES / name).convert("RGB")


def corners(width, height):
    return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]


def apply(image, step):
    kind, *values = step.split()
    if kind == "perspective":  # x and y of the four corners, mode, fill
        ends = np.array(list(map(int, values[:8]))).reshape(4, 2).tolist()
        return F.perspective(image, corners(*image.size), ends, MODES[values[8]], fill=list(map(int, values[9:])))
    if kind == "rotate_expand":  # angle, mode, fill
        return F.rotate(image, float(values[0]), MODES[values[1]], expand=True, fill=list(map(int, values[2:])))
    if kind == "rotate_about":  # angle, x, y, mode, fill
        return F.rotate(image, float(values[0]), MODES[values[3]], center=list(map(float, values[1:3])),
                        fill=list(map(int, values[4:])))
    if kind == "box_blur":  # radius
        return image.filter(ImageFilter.GaussianBlur(float(values[0])))
    if kind == "timm":  # operation, argument, mode, fill
        args = [] if values[1] == "none" else [float(values[1])]
        if values[0] in ("Posterize", "Solarize", "SolarizeAdd"):
            args = list(map(int, args))
        mode = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}[values[2]]
        return timm_ops.NAME_TO_OP[values[0]](image, *args, resample=mode, fillcolor=tuple(map(int, values[3:])))
    return apply_step(image, step)


def mixed(image, steps):
    """torchvision's AugMix with Pillow's operations: `mix W` begins, `chain W` ends a chain, `mixed` ends all."""
    original = mixture = None
    for step in steps:
        kind, *values = step.split()
        if kind == "mix":
            original = image
            mixture = torch.tensor(float(values[0])) * F.pil_to_tensor(image)
        elif kind == "chain":
            mixture.add_(torch.tensor(float(values[0])) * F.pil_to_tensor(image))
            image = original
        elif kind == "mixed":
            image = F.to_pil_image(mixture.to(torch.uint8))
        else:
            image = apply(image, step)
    return image


def case(name, steps):
    image = mixed(opened(name), filter(None, steps.split("; ")))
    pixels = transforms.ToTensor()(image)
    data = pixels.permute(1, 2, 0).contiguous().numpy().tobytes()
    return "\t".join([name, "none", steps, str(image.height), str(image.width), f"{polynomial_hash(data):016x}"])


def random_ends(width, height, share):
    right, down = int(share * (width // 2)), int(share * (height // 2))
    def near(corner):
        x = rng.integers(0, right + 1) if corner[0] == 0 else rng.integers(width - right - 1, width)
        y = rng.integers(0, down + 1) if corner[1] == 0 else rng.integers(height - down - 1, height)
        return [int(x), int(y)]
    return [near(corner) for corner in corners(width, height)]


def make_cases():
    for name, (width, height) in (("444.jpg", (109, 83)), ("rgb.png", (23, 19)), ("flat.jpg", (200, 3))):
        for mode in ("nearest 0 0 0", "bilinear 10 200 30", "bicubic 1 2 3"):
            for share in (0.2, 0.5, 1.0):
                ends = " ".join(str(v) for point in random_ends(width, height, share) for v in point)
                yield case(name, f"perspective {ends} {mode}")
    bicubic = "bicubic 10 200 30"
    for step in [*(f"rotate {angle} {bicubic}" for angle in (0, 9, -27.3, 90, 133.33)),
                 f"affine 12.5 3 -7 1.3 10 -20 {bicubic}", f"affine -100 0.5 2.25 0.4 0 33 {bicubic}",
                 f"affine 0 0 0 1.7 0 0 {bicubic}", f"affine 0 0 0 1e-5 3 0 {bicubic}"]:
        yield case("444.jpg", step)
    for name in ("flat.jpg", "narrow.jpg", "1x1.jpg", "ramp.png"):
        yield case(name, f"rotate 30 {bicubic}")
    for mode in ("nearest 9 8 7", "bilinear 10 200 30", "bicubic 1 2 3"):
        for angle in (0, 15, -27.3, 45, 90, 180, 270, 301.7):
            yield case("444.jpg", f"rotate_expand {angle} {mode}")
            yield case("444.jpg", f"rotate_about {angle} 20 61.5 {mode}")
    yield case("flat.jpg", "rotate_expand 33 nearest 0 0 0; flip; sharpness 1.7")
    for radius in (0.1, 0.3, 0.5, 0.77, 1.0, 1.31, 1.9, 2.0, 3.7, 9.5, 40):
        yield case("444.jpg", f"box_blur {radius}")
    for name in ("flat.jpg", "narrow.jpg", "1x1.jpg", "ramp.png"):
        yield case(name, "box_blur 1.4")
    yield from make_timm_cases()
    for steps in ("mix 0.5; mixed", "mix 0.3; posterize 3; chain 0.7; mixed",
                  "mix 0.2137; rotate 9 bilinear 0 0 0; equalize; chain 0.1234; solarize 100; chain 0.25; "
                  "autocontrast; augment ShearX 0.1 nearest 0 0 0; chain 0.4129; mixed; flip; saturation 1.2",
                  "flip; crop 3 4 50 60; mix 0.9; contrast 1.3; vertical_flip; chain 0.1; mixed; crop 1 1 20 20",
                  "mix 0; invert; brightness 1.4; chain 1; mixed"):
        yield case("444.jpg", steps)
    yield case("1x1.jpg", "mix 0.31; invert; chain 0.69; mixed")


def make_timm_cases():
    for mode in ("bilinear 128 128 128", "bicubic 124 116 104"):
        for op, values in {"ShearX": (0.27, -0.1), "ShearY": (0.31, -0.2), "TranslateXRel": (0.405, -0.1), "TranslateYRel": (0.21, -0.45),
                           "Rotate": (27, -13.3)}.items():
            for value in values:
                yield case("444.jpg", f"timm {op} {value} {mode}")
    plain = "bicubic 0 0 0"
    for step in ("AutoContrast none", "Equalize none", "Invert none", "Posterize 8", "Posterize 3",
                 "Solarize 26", "Solarize 256", "SolarizeAdd 99", "SolarizeAdd 0", "Color 1.81", "Contrast 0.19",
                 "Brightness 1.3", "Sharpness 1.9", "Desaturate 0.3", "Desaturate 1", "GaussianBlur 1.81"):
        yield case("444.jpg", f"timm {step} {plain}")


def make_perspectives():
    """Width, height, the corners' ends, torchvision's coefficients."""
    for width, height in ((224, 224), (109, 83), (500, 375), (32, 32), (7, 5)):
        for share in (0.1, 0.5, 0.5, 0.9):
            ends = random_ends(width, height, share)
            coefficients = F._get_perspective_coeffs(corners(width, height), ends)
            yield " ".join([str(width), str(height), *(str(v) for end in ends for v in end),
                            *(f"{value:.9g}" for value in coefficients)])


def make_blurred():
    """Source, kernel's width and height, deviation, what torchvision makes of it."""
    (HERE / "blurred").mkdir(exist_ok=True)
    for name, width, height, sigma in (("444.jpg", 3, 3, 0.5), ("444.jpg", 5, 9, 1.7), ("444.jpg", 23, 23, 2.0),
                                       ("rgb.png", 9, 3, 0.1), ("flat.jpg", 31, 5, 4.0), ("ramp.png", 7, 7, 1.1)):
        if height // 2 >= opened(name).height:
            height = 1
        image = F.gaussian_blur(opened(name), [width, height], [sigma, sigma])
        result = f"{name.split('.')[0]}_{width}x{height}.png"
        image.save(HERE / "blurred" / result)
        yield "\t".join([name, str(width), str(height), str(sigma), result])


def make_displaced():
    """Source, mode, fill, what torchvision makes of it displaced by waves."""
    (HERE / "displaced").mkdir(exist_ok=True)
    for name, mode, fill in (("444.jpg", "bilinear", (0, 0, 0)), ("444.jpg", "bilinear", (10, 200, 30)),
                             ("rgb.png", "bilinear", (255, 0, 9)), ("ramp.png", "nearest", (9, 8, 7))):
        image = opened(name)
        rows, columns = np.mgrid[: image.height, : image.width]
        right = 3.7 * np.sin((2.0 * columns + 3.0 * rows) / 11)
        down = 2.9 * np.sin((2.0 * columns + 3.0 * rows) / 7)
        displacement = np.stack([right * 2 / image.width, down * 2 / image.height], 2)
        displaced = F.elastic_transform(image, torch.tensor(displacement[None], dtype=torch.float32), MODES[mode],
                                        list(map(float, fill)))
        result = f"{name.split('.')[0]}_{mode}_{fill[0]}.png"
        displaced.save(HERE / "displaced" / result)
        yield "\t".join([name, mode, *map(str, fill), result])


def make_levels():
    """timm's arguments of levels 0, 0.5, ... 10 and 12, with the positive sign: operation, arguments."""
    timm_ops.random.random = lambda: 0.0
    for op, level_to_arg in timm_ops.LEVEL_TO_ARG.items():
        if level_to_arg is None or op in ("GaussianBlurRand", "PosterizeOriginal", "TranslateX", "TranslateY"):
            continue
        values = [level_to_arg(level, {})[0] for level in (*(i / 2 for i in range(21)), 12)]
        yield " ".join([op, *(repr(float(value)) for value in values)])


def main():
    (HERE / "augmentations.tsv").write_text("\n".join(make_cases()) + "\n")
    (HERE / "perspectives.tsv").write_text("\n".join(make_perspectives()) + "\n")
    (HERE / "blurred.tsv").write_text("\n".join(make_blurred()) + "\n")
    (HERE / "displaced.tsv").write_text("\n".join(make_displaced()) + "\n")
    (HERE / "levels.txt").write_text("\n".join(make_levels()) + "\n")


if __name__ == "__main__":
    main()
