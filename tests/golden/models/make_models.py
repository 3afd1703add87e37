"""Writes models.json: numbers of torchvision's ResNets and timm's ViTs for weights given by a formula.

    python tests/golden/models/make_models.py        # torch 2.11, torchvision 0.26, timm 1.0

Weights, images and labels are functions of their indices (see `fill`), which reference_weights.h
repeats in C++, so that no weights are stored. Of a large model's gradients there are, for each parameter,
the norm, the sum weighted by such a function, which no other layout or sign of the elements gives, and
two elements; of a small one's, all elements.
"""

import json
import math
import pathlib

import numpy as np
import timm
import torch
import torchvision
from torch.utils.flop_counter import FlopCounterMode

RESNETS = ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152"]
VITS = [f"vit_{size}_patch{patch}_224" for patch in (16, 32) for size in ("tiny", "small", "base")]
WIDTHS = {"tiny": (192, 3), "small": (384, 6), "base": (768, 12)}
# Their numbers beside those of the state_dict's entries; projections and samples count on from theirs.
IMAGES, LABELS, PROJECTIONS, SAMPLES = 1_000_003, 1_000_004, 2_000_003, 3_000_017
TINY_VIT = {"img_size": 8, "patch_size": 4, "embed_dim": 8, "depth": 2, "num_heads": 2}

# (model, image size, dtype, stem)
CASES = [
    ("resnet18", 64, "float64", "imagenet"),
    ("resnet18", 64, "float32", "imagenet"),
    ("resnet18", 32, "float64", "small"),
    ("resnet34", 32, "float64", "imagenet"),
    ("resnet50", 64, "float64", "imagenet"),
    ("resnet50", 64, "float32", "imagenet"),
    ("resnet101", 32, "float64", "imagenet"),
    ("resnet152", 32, "float64", "imagenet"),
    ("vit_tiny_patch16_224", 64, "float64", None),
    ("vit_tiny_patch16_224", 64, "float32", None),
    ("vit_small_patch32_224", 64, "float64", None),
    ("vit_small_patch32_224", 64, "float32", None),
    ("vit", 8, "float64", None),
    ("vit", 8, "float32", None),
]
BATCH, CLASSES, SMOOTHING = 8, 10, 0.1


def make(name, stem="imagenet", **options):
    if name.startswith("resnet"):
        model = getattr(torchvision.models, name)(**options)
        if stem == "small":
            model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
            model.maxpool = torch.nn.Identity()
        return model
    if name == "vit":
        return timm.models.vision_transformer.VisionTransformer(**{**options, **TINY_VIT})
    if name == "vit_tiny_patch32_224":  # not among timm's names
        return timm.models.vision_transformer.VisionTransformer(
            patch_size=32, embed_dim=192, num_heads=3, **options)
    return timm.create_model(name, **options)


def words(number, count):
    """`count` 32-bit hashes of (number, index)."""
    x = np.arange(count, dtype=np.uint32) + np.uint32((0x9E3779B9 * (number + 1)) % 2**32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return x


def fill(number, name, shape, norm_bias):
    """The values of entry `number` of a state_dict: uniform, scaled so that activations stay near 1.

    A `norm_bias` of 2.5 keeps most ReLUs open, so that float32 rounding does not flip them and numbers
    can be compared across machines.
    """
    u = words(number, int(np.prod(shape))) / 2.0**32 - 0.5
    if name.endswith("num_batches_tracked"):
        values = np.full_like(u, 3)
    elif name.endswith("running_var"):
        values = 1 + 0.5 * u
    elif name.endswith("running_mean"):
        values = 0.2 * u
    elif name.endswith("bias"):
        values = 0.2 * u + (norm_bias if "bn" in name else 0.0)
    elif name.endswith("weight") and len(shape) == 1:
        values = 1 + 0.5 * u
    elif name.endswith("weight"):
        gain = 2.0 if len(shape) == 4 else 1.0
        values = u * np.sqrt(12 * gain / np.prod(shape[1:]))
    else:
        values = 0.4 * u
    return torch.from_numpy(values.reshape(shape))


def set_weights(model, norm_bias=0.0):
    with torch.no_grad():
        for number, (name, tensor) in enumerate(model.state_dict().items()):
            tensor.copy_(fill(number, name, tuple(tensor.shape), norm_bias))


def images(batch, size, dtype):
    """Of `size` pixels a side, or of (channels, height, width)."""
    shape = (batch, *size) if isinstance(size, tuple) else (batch, 3, size, size)
    u = words(IMAGES, math.prod(shape)) / 2.0**32 - 0.5
    return torch.from_numpy((4 * u).reshape(shape)).to(dtype)


def labels(batch):
    return torch.from_numpy((words(LABELS, batch) % CLASSES).astype(np.int64))


def summary(number, gradient):
    """Of a gradient or buffer: norm, weighted sum, two elements."""
    flat = gradient.flatten().numpy()
    weights = np.sqrt(12) * (words(PROJECTIONS + number, flat.size) / 2.0**32 - 0.5)
    places = words(SAMPLES + number, 2) % np.uint32(flat.size)
    return [float(np.linalg.norm(flat)), float(np.dot(flat, weights)), *map(float, flat[places])]


def run_case(name, size, dtype_name, stem):
    dtype = getattr(torch, dtype_name)
    options = {} if name.startswith("resnet") else {"img_size": size}
    model = make(name, stem or "imagenet", num_classes=CLASSES, **options).to(dtype)
    norm_bias = 2.5 if dtype_name == "float32" else 0.0
    case = {"model": name, "image_size": size, "dtype": dtype_name, "stem": stem or "imagenet",
            "norm_bias": norm_bias}
    return {**case, **numbers_of(model, size, dtype_name, norm_bias, is_small=name == "vit")}


def numbers_of(model, size, dtype_name, norm_bias, is_small):
    """What a pass over a batch gives: logits, loss, gradients and statistics."""
    set_weights(model, norm_bias)
    x = images(BATCH, size, getattr(torch, dtype_name))
    with torch.no_grad():
        eval_logits = model.eval()(x[:2])
    logits = model.train()(x)
    loss = torch.nn.functional.cross_entropy(logits, labels(BATCH), reduction="sum",
                                             label_smoothing=SMOOTHING)
    loss.backward()
    numbers = {n: number for number, n in enumerate(model.state_dict())}
    gradients = {n: p.grad.double() for n, p in model.named_parameters()}
    case = {
        "eval_logits": eval_logits.double().flatten().tolist(),
        "logits": logits[:2].detach().double().flatten().tolist(),
        "loss": loss.item(),
        "grad_norm": torch.stack([g.norm() for g in gradients.values()]).norm().item(),
        "gradients": {n: summary(numbers[n], g) for n, g in gradients.items()},
        "buffers": {n: summary(numbers[n], b.double()) for n, b in model.named_buffers()},
    }
    if is_small:
        case["whole_gradients"] = {n: g.flatten().tolist() for n, g in gradients.items()}
    return rounded(case, 13 if dtype_name == "float64" else 9)


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def state_summary(name, build=make):
    """Names and shapes of the state_dict in order, as a hash."""
    with torch.device("meta"):
        model = build(name)
    lines = [f"{n}:{','.join(map(str, t.shape))}\n" for n, t in model.state_dict().items()]
    return {"entries": len(lines), "parameters": sum(p.numel() for p in model.parameters()),
            "hash": f"{fnv1a(''.join(lines)):016x}"}


def initial(name, build=make):
    """Mean, deviation and mean absolute value of each parameter as drawn."""
    torch.manual_seed(1)
    out = {}
    for n, p in build(name).named_parameters():
        if not n.startswith("blocks.") or n.startswith("blocks.0."):
            p = p.detach().double()
            out[n] = [p.mean().item(), p.std(correction=0).item(), p.abs().mean().item()]
    return out


def flops(name, build=make):
    timm.layers.set_fused_attn(False)  # the counter sees matrix products, not the fused kernel
    with torch.device("meta"):
        model = build(name).eval()
        with FlopCounterMode(display=False) as counter:
            model(torch.empty(1, 3, 224, 224))
    timm.layers.set_fused_attn(True)
    return counter.get_total_flops()


def logits_of(model, size, dtype=torch.float32):
    """In evaluation, of one image."""
    set_weights(model.to(dtype))
    with torch.no_grad():
        return model.eval()(images(1, size, dtype)).double().flatten().tolist()


def rounded(value, digits=13):
    """The same with so many significant digits: the tests' 1e-10, or 1e-5 of float32, leave room for it."""
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def write(numbers, file_name="models.json"):
    path = pathlib.Path(__file__).with_name(file_name)
    text = json.dumps(rounded(numbers), separators=(",", ":"))
    path.write_text(text.replace("},", "},\n") + "\n")


def main():
    torch.set_num_threads(1)
    write({
        "made_with": {"torch": torch.__version__, "torchvision": torchvision.__version__,
                      "timm": timm.__version__, "threads": 1},
        "state": {name: state_summary(name) for name in RESNETS + VITS},
        "flops": {name: flops(name) for name in ("resnet18", "resnet50", "vit_base_patch32_224")},
        "initial": {name: initial(name) for name in ("resnet18", "vit_tiny_patch16_224")},
        "base_logits": logits_of(make("vit_base_patch32_224", num_classes=CLASSES), 224),
        "cases": [run_case(*case) for case in CASES],
    })


if __name__ == "__main__":
    main()
