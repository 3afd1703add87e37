"""Writes vits.json: numbers of timm's ViTs and DeiTs, and of what it makes of stored weights of other sizes.

    python tests/golden/models/make_vits.py        # torch 2.11, timm 1.0

Weights, images and what is told of gradients are make_models.py's. The tiny networks, whose gradients are told
whole, have each option; vits_test.cpp builds the same.
"""

import math

import make_models
import timm
import torch
from make_models import CLASSES, fill, initial, logits_of, numbers_of, state_summary
from timm.layers import resample_abs_pos_embed, resample_patch_embed
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from torch.utils.flop_counter import FlopCounterMode

VITS = [f"vit_{name}" for name in (
    "tiny_patch16_224", "tiny_patch16_384", "small_patch8_224", "small_patch16_224", "small_patch16_384",
    "small_patch32_224", "small_patch32_384", "base_patch8_224", "base_patch16_224", "base_patch16_384",
    "base_patch32_224", "base_patch32_384", "large_patch14_224", "large_patch16_224", "large_patch16_384",
    "large_patch32_224", "large_patch32_384", "huge_patch14_224", "base_patch16_reg4_gap_256")]
DINOS = [f"vit_{size}_patch14_{kind}dinov2" for size in ("small", "base", "large") for kind in ("", "reg4_")]
DEITS = [f"deit_{size}_{kind}patch16_224" for size in ("tiny", "small", "base") for kind in ("", "distilled_")]
DEITS += ["deit_base_patch16_384", "deit_base_distilled_patch16_384"]
DEIT3S = [f"deit3_{name}" for name in (
    "small_patch16_224", "small_patch16_384", "medium_patch16_224", "base_patch16_224", "base_patch16_384",
    "large_patch16_224", "large_patch16_384", "huge_patch14_224")]
NAMES = VITS + DINOS + DEITS + DEIT3S

TINY = {"img_size": 8, "patch_size": 4, "embed_dim": 8, "depth": 2, "num_heads": 2}
TINIES = {
    "registers": {"img_size": (8, 12), "in_chans": 2, "reg_tokens": 2, "no_embed_class": True, "init_values": 0.1,
                  "qk_norm": True},
    "embedded_registers": {"reg_tokens": 3, "mlp_ratio": 2.5},
    "average": {"class_token": False, "reg_tokens": 1, "global_pool": "avg", "pre_norm": True, "qkv_bias": False},
    "average_of_normed": {"global_pool": "avg", "fc_norm": False},
    "largest": {"global_pool": "max", "class_token": False},
    "average_and_largest": {"global_pool": "avgmax", "final_norm": False},
    "token_then_norm": {"fc_norm": True},
    "distilled": {"distilled": True, "init_values": 0.5},
    "of_any_size": {"img_size": 12, "dynamic_img_size": True},
}
IMAGE_SIZES = {"registers": (2, 8, 12), "of_any_size": (3, 8, 16)}

# (model, image size, type in which the numbers are computed, types in which they are compared)
CASES = [
    ("deit_tiny_distilled_patch16_224", 64, "float64", ["float64"]),
    ("vit_small_patch14_reg4_dinov2", 42, "float64", ["float64"]),
]
LOGITS = {"deit_small_distilled_patch16_224": 224, "vit_small_patch14_reg4_dinov2": 518,
          "vit_base_patch16_reg4_gap_256": 256, "deit3_small_patch16_384": 384, "vit_small_patch8_224": 224}

INITIAL = {"embed_dim": 96, "depth": 1, "num_heads": 2, "img_size": 128, "reg_tokens": 4, "init_values": 0.5,
           "qk_norm": True}

# (positions before the patches', stored grid, grid)
POSITIONS = [(1, (4, 4), (6, 6)), (1, (7, 7), (4, 4)), (0, (4, 4), (3, 5)), (2, (3, 3), (6, 2)), (5, (2, 2), (7, 7)),
             (1, (2, 3), (4, 6))]
PATCHES = [(4, 8), (8, 6), (5, 7)]  # stored and wanted size


def make(name, num_classes=1000, **options):
    if name not in TINIES:
        return timm.create_model(name, num_classes=num_classes, **options)
    options = {**TINY, **TINIES[name]}
    kind = VisionTransformerDistilled if options.pop("distilled", False) else VisionTransformer
    return kind(num_classes=num_classes, **options)


def make_initial(mode, distilled=False):
    if distilled:
        options = {key: value for key, value in INITIAL.items() if key != "reg_tokens"}
        return VisionTransformerDistilled(weight_init=mode, **options)
    return VisionTransformer(weight_init=mode, **INITIAL)


def flops(name):
    timm.layers.set_fused_attn(False)  # the counter sees matrix products, not the fused kernel
    with torch.device("meta"):
        model = make(name).eval()
        with FlopCounterMode(display=False) as counter:
            model(torch.empty(1, 3, *model.patch_embed.img_size))
    timm.layers.set_fused_attn(True)
    return {"image_size": model.patch_embed.img_size[0], "flops": counter.get_total_flops()}


def tiny_case(name):
    size = IMAGE_SIZES.get(name, (3, 8, 8))
    # What resamples positions does so in float32.
    dtype = "float32" if name == "of_any_size" else "float64"
    model = make(name, CLASSES).to(getattr(torch, dtype))
    numbers = numbers_of(model, size, dtype, norm_bias=0.0, is_small=True)
    for parameter, gradient in numbers["whole_gradients"].items():
        decimals = 11 - math.floor(math.log10(max(map(abs, gradient)) or 1))  # a tenth of what the tests allow
        numbers["whole_gradients"][parameter] = [round(value, decimals) for value in gradient]
    return {"model": name, "image_size": size, "dtypes": [dtype] if dtype == "float32" else [dtype, "float32"],
            **numbers}


def run_case(name, size, dtype, compared):
    model = make(name, CLASSES, img_size=size).to(getattr(torch, dtype))
    return {"model": name, "image_size": [3, size, size], "dtypes": compared,
            **numbers_of(model, size, dtype, norm_bias=0.0, is_small=False)}


def positions(number, prefix, stored, wanted):
    values = fill(number, "pos_embed", (1, prefix + stored[0] * stored[1], 3), 0.0).float()
    made = resample_abs_pos_embed(values, wanted, stored, prefix)
    return {"number": number, "prefix": prefix, "stored": list(values.shape), "wanted": wanted,
            "values": make_models.rounded(made.flatten().tolist(), 8)}


def patches(number, stored, wanted):
    values = fill(number, "patch_embed.proj.weight", (4, 2, stored, stored), 0.0).float()
    made = resample_patch_embed(values, (wanted, wanted))
    return {"number": number, "stored": list(values.shape), "wanted": wanted,
            "values": make_models.rounded(made.flatten().tolist(), 8)}


def main():
    torch.set_num_threads(1)
    numbers = {
        "made_with": {"torch": torch.__version__, "timm": timm.__version__, "threads": 1},
        "state": {name: state_summary(name, make) for name in NAMES + list(TINIES)},
        "flops": {name: flops(name) for name in NAMES},
        "initial": {mode or "timm": initial(mode, make_initial) for mode in ("", "jax", "jax_nlhb", "moco")},
        "initial_distilled": initial("jax", lambda mode: make_initial(mode, distilled=True)),
        "no_weight_decay": sorted(make("vit_tiny_patch16_224").no_weight_decay()),
        "logits": {name: {"image_size": size, "values": logits_of(make(name, CLASSES), size)}
                   for name, size in LOGITS.items()},
        "cases": [tiny_case(name) for name in TINIES] + [run_case(*case) for case in CASES],
        "positions": [positions(50 + number, *each) for number, each in enumerate(POSITIONS)],
        "patches": [patches(70 + number, *each) for number, each in enumerate(PATCHES)],
    }
    make_models.write(numbers, "vits.json")



if __name__ == "__main__":
    main()
