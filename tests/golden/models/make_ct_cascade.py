"""Writes ct_cascade.json: numbers of the cascade's parts, written here plainly in PyTorch.

    python tests/golden/models/make_ct_cascade.py        # torch 2.11

Weights, inputs and what is told of gradients are make_models.py's. A voxel's pixel and its place in a depth lift are
found one by one, by intersecting its ray with the detector, whatever the geometry; attention keeps its scores.
"""

import math

import make_models
import numpy as np
import torch
from make_models import SAMPLES, fill, rounded, set_weights, summary, words
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

FOV = 400.0
XRAYS, NOISY, PREVIOUS, CONDITION, TOKENS, KEYS_VALUES, LOSS = range(1_000_011, 1_000_018)
BATCH = 2
STEPS, LEVELS = [3, 871], [0.05, 0.3]

CASES = {
    "first": {"views": [0, 90], "xray_size": 32, "side": 8, "patch": 2, "dim": 16, "depth": 2, "heads": 2},
    "next": {"views": [0, 90], "xray_size": 32, "side": 16, "previous": 8, "patch": 4, "dim": 24, "depth": 1,
             "heads": 3},
    "turned": {"views": [180, 270], "xray_size": 24, "side": 8, "patch": 4, "dim": 16, "depth": 1, "heads": 1},
    "shared": {"views": [0, 30, 90], "xray_size": 32, "pool": 2, "shared": True, "side": 6, "previous": 3, "patch": 3,
               "dim": 16, "depth": 1, "heads": 2},
    "cone": {"views": [0, 90, 215], "xray_size": 16, "cone": 700.0, "side": 4, "patch": 2, "dim": 16, "depth": 1,
             "heads": 2},
}


def values(number, *shape):
    u = words(number, math.prod(shape)) / 2.0**32 - 0.5
    return torch.from_numpy((2 * u).reshape(shape))


class Tower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, dim // 8, 7, 2, 3, bias=False), nn.GroupNorm(8, dim // 8)
        self.conv2, self.norm2 = nn.Conv2d(dim // 8, dim // 4, 3, 1, 1, bias=False), nn.GroupNorm(8, dim // 4)
        self.conv3, self.norm3 = nn.Conv2d(dim // 4, dim, 3, 1, 1, bias=False), nn.GroupNorm(8, dim)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 3, 2, 1)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2, 2)
        return F.relu(self.norm3(self.conv3(x)))


class Encoder(nn.Module):
    def __init__(self, case, dim=64):
        super().__init__()
        views, self.pool = len(case["views"]), case.get("pool", 1)
        self.towers = nn.ModuleList(Tower(dim) for _ in range(1 if case.get("shared") else views))
        self.view_embed = nn.Parameter(torch.empty(1, views, 1, dim))
        self.pos_embed = nn.Parameter(torch.empty(1, 1, (case["xray_size"] // 8 // self.pool) ** 2, dim))

    def forward(self, xrays):
        return [self.towers[view % len(self.towers)](xrays[:, view:view + 1]) for view in range(xrays.shape[1])]

    def tokens(self, features):
        pooled = [F.avg_pool2d(view, self.pool).flatten(2).transpose(1, 2) for view in features]
        tokens = torch.stack(pooled, 1) + self.view_embed + self.pos_embed
        return tokens.flatten(1, 2)


class Lift(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.hidden, self.norm = nn.Conv2d(dim, dim // 4, 3, 1, 1, bias=False), nn.GroupNorm(8, dim // 4)
        self.depths, self.value = nn.Conv2d(dim // 4, layers, 1), nn.Conv2d(dim, 1, 1)

    def forward(self, features):
        """By the outer product of features and weights and a 1x1x1 convolution, which is what it stands for."""
        weights = self.depths(F.silu(self.norm(self.hidden(features)))).softmax(1) * self.depths.out_channels
        product = features.unsqueeze(2) * weights.unsqueeze(1)
        # The bias spreads as the features do.
        return F.conv3d(product, self.value.weight.unsqueeze(2)).squeeze(1) + weights * self.value.bias


    def factored(self, features):
        weights = self.depths(F.silu(self.norm(self.hidden(features)))).softmax(1) * self.depths.out_channels
        return weights * self.value(features)


def places(case, angle):
    """Where each voxel [z][y][x] is seen: column, row and depth, each from -1 to 1."""
    side, source = case["side"], case.get("cone")
    turn = math.radians(angle)
    along = np.array([math.sin(turn), -math.cos(turn), 0])
    right = np.array([-math.cos(turn), -math.sin(turn), 0])
    seen = np.empty((side, side, side, 3))
    for z, y, x in np.ndindex(side, side, side):
        voxel = (np.array([x, y, z]) + 0.5 - side / 2) * FOV / side
        hit = voxel
        if source:  # where its ray passes the plane through the isocentre
            ray = voxel + source * along
            hit = ray * source / (ray @ along) - source * along
        reach = FOV / 2 * (abs(along[0]) + abs(along[1]))
        seen[z, y, x] = hit @ right / (FOV / 2), -hit[2] / (FOV / 2), voxel @ along / reach
    return torch.from_numpy(seen)


class Numbers(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(256, dim), nn.Linear(dim, dim)

    def forward(self, numbers):
        frequencies = torch.tensor([10_000 ** (-i / 128) for i in range(128)], dtype=torch.float64)
        angles = numbers.double()[:, None] * frequencies
        return self.fc2(F.silu(self.fc1(torch.cat([angles.cos(), angles.sin()], 1).to(self.fc1.weight.dtype))))


def attention(query, key, value, heads):
    split = [rows.unflatten(2, (heads, -1)).transpose(1, 2) for rows in (query, key, value)]
    scores = split[0] @ split[1].transpose(2, 3) / math.sqrt(split[0].shape[3])
    return (scores.softmax(-1) @ split[2]).transpose(1, 2).flatten(2)


def modulated(x, shift, scale):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.modulation = nn.Linear(dim, 9 * dim)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(dim, 3 * dim, bias=False), "proj": nn.Linear(dim, dim)})
        self.cross = nn.ModuleDict({"q": nn.Linear(dim, dim, bias=False), "proj": nn.Linear(dim, dim)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, 4 * dim), "fc2": nn.Linear(4 * dim, dim)})

    def forward(self, x, condition, keys_values):
        m = self.modulation(condition).chunk(9, 1)
        mixed = attention(*self.attn.qkv(modulated(x, m[0], m[1])).chunk(3, 2), self.heads)
        x = x + m[2][:, None] * self.attn.proj(mixed)
        mixed = attention(self.cross.q(modulated(x, m[3], m[4])), *keys_values.chunk(2, 2), self.heads)
        x = x + m[5][:, None] * self.cross.proj(mixed)
        return x + m[8][:, None] * self.mlp.fc2(F.gelu(self.mlp.fc1(modulated(x, m[6], m[7]))))


class Detail(nn.Module):
    def __init__(self, channels, dim, patch):
        super().__init__()
        self.conv1, self.modulation = nn.Conv3d(channels, 16, 3, 1, 1), nn.Linear(dim, 32)
        self.conv2, self.patch = nn.Conv3d(16, 1, 3, 1, 1), patch

    def forward(self, channels, rows):
        """Channels [N, C, side, side, side], rows [N, tokens, dim]; each token's factors are written to all its voxels."""
        cubes = channels.shape[2] // self.patch
        factors = self.modulation(rows).transpose(1, 2).unflatten(2, (cubes,) * 3)
        shift, scale = F.interpolate(factors, scale_factor=self.patch, mode="nearest").chunk(2, 1)
        return self.conv2(F.silu(self.conv1(channels) * (1 + scale) + shift))[:, 0]


class Stage(nn.Module):
    def __init__(self, case, xray_dim=64):
        super().__init__()
        dim, voxels, views = case["dim"], case["patch"] ** 3, len(case["views"])
        previous = case.get("previous")
        self.case = case
        self.pos_embed = nn.Parameter(torch.empty(1, (case["side"] // case["patch"]) ** 3, dim))
        self.encoder = Encoder(case, xray_dim)
        self.lift = nn.ModuleList(Lift(xray_dim, case["side"]) for _ in self.encoder.towers)
        self.volume_embed = nn.Linear((2 if previous else 1) * voxels, dim)
        self.view_embed = nn.Linear(2 * views * voxels, dim, bias=False)
        self.xray_embed = nn.Linear(views * xray_dim, dim)
        self.time_embed = Numbers(dim)
        if previous:
            self.level_embed = Numbers(dim)
        self.keys_values = nn.ModuleList(nn.Linear(xray_dim, 2 * dim, bias=False) for _ in range(case["depth"]))
        self.blocks = nn.ModuleList(Block(dim, case["heads"]) for _ in range(case["depth"]))
        self.final = nn.ModuleDict({"modulation": nn.Linear(dim, 2 * dim), "proj": nn.Linear(dim, voxels)})
        if previous:
            self.detail = Detail(3 + 2 * views, dim, case["patch"])

    def at_voxels(self, xrays, features):
        pixels, lifts, side = [], [], self.case["side"]
        for view, angle in enumerate(self.case["views"]):
            seen = places(self.case, angle).to(xrays.dtype).expand(len(xrays), -1, -1, -1, -1)
            square = max(n for n in range(1, xrays.shape[2] + 1)
                         if n <= max(1, xrays.shape[2] // side) and xrays.shape[2] % n == 0)
            image = F.avg_pool2d(xrays[:, view:view + 1], square)
            pixels.append(F.grid_sample(image, seen[..., :2].flatten(1, 2), padding_mode="border",
                                        align_corners=False).view(-1, side, side, side))
            layers = self.lift[view % len(self.lift)](features[view])
            lifts.append(F.grid_sample(layers[:, None], seen, padding_mode="border", align_corners=False)[:, 0])
        return torch.stack(pixels + lifts, 1)

    def forward(self, xrays, noisy, steps, previous, levels):
        patch, dim = self.case["patch"], self.case["dim"]
        features = self.encoder(xrays)
        tokens = self.encoder.tokens(features)
        condition = self.xray_embed(torch.cat([view.mean((2, 3)) for view in features], 1)) + self.time_embed(steps)
        channels = [noisy]
        if previous is not None:
            channels.append(F.interpolate(previous[:, None], size=noisy.shape[1:], mode="trilinear")[:, 0])
            condition = condition + self.level_embed(levels * 1000)
        condition = F.silu(condition)

        def embedded(layer, volumes):
            weight = layer.weight.view(dim, -1, patch, patch, patch)
            return F.conv3d(volumes, weight, layer.bias, stride=patch).flatten(2).transpose(1, 2)
        x = embedded(self.volume_embed, torch.stack(channels, 1)) + self.pos_embed
        seen = self.at_voxels(xrays, features)
        x = x + embedded(self.view_embed, seen)
        for block, keys_values in zip(self.blocks, self.keys_values):
            x = block(x, condition, keys_values(tokens))
        rows = modulated(x, *self.final.modulation(condition).chunk(2, 1))
        cubes = self.case["side"] // patch
        made = self.final.proj(rows).view(-1, cubes, cubes, cubes, patch, patch, patch)
        made = made.permute(0, 1, 4, 2, 5, 3, 6).reshape(noisy.shape)
        if previous is None:
            return made
        return channels[1] + made + self.detail(torch.cat([torch.stack(channels, 1), seen, made[:, None]], 1), rows)


def all_of(tensor):
    return rounded(tensor.detach().double().flatten().tolist(), 13)


def told(number, tensor):
    return rounded(summary(number, tensor.detach()), 13)


def gradients(module):
    return {name: told(number, parameter.grad) for number, (name, parameter) in enumerate(module.named_parameters())}


def inputs_of(case):
    size, side, previous = case["xray_size"], case["side"], case.get("previous")
    return [values(XRAYS, BATCH, len(case["views"]), size, size).requires_grad_(),
            values(NOISY, BATCH, side, side, side).requires_grad_(), torch.tensor(STEPS),
            values(PREVIOUS, BATCH, previous, previous, previous).requires_grad_() if previous else None,
            torch.tensor(LEVELS, dtype=torch.float64)]


def stage_numbers(case):
    stage = Stage(case).double()
    set_weights(stage)
    inputs = inputs_of(case)
    output = stage(*inputs)
    (output * values(LOSS, *output.shape)).sum().backward()
    features = stage.encoder(inputs[0])
    for lift in stage.lift:
        lift.forward = lift.factored
    with FlopCounterMode(display=False) as counter:
        stage(*(each if each is None else each[:1].detach() for each in inputs))
    return {"options": case, "names": [name for name, _ in stage.named_parameters()],
            "output": told(SAMPLES + 5, output),
            "tokens": told(SAMPLES + 1, stage.encoder.tokens(features)), "gradients": gradients(stage),
            "xrays_grad": told(SAMPLES + 2, inputs[0].grad), "noisy_grad": told(SAMPLES + 3, inputs[1].grad),
            **({"previous_grad": told(SAMPLES + 4, inputs[3].grad)} if inputs[3] is not None else {}),
            "flops": counter.get_total_flops()}


def part_numbers(module, *inputs):
    module = module.double()
    set_weights(module)
    inputs = [each.requires_grad_() for each in inputs]
    output = module(*inputs)
    (output * values(LOSS, *output.shape)).sum().backward()
    return {"names": [name for name, _ in module.named_parameters()], "output": all_of(output),
            "input_grads": [all_of(each.grad) for each in inputs], "gradients": gradients(module)}


def main():
    torch.set_num_threads(1)
    make_models.write({
        "made_with": {"torch": torch.__version__, "threads": 1},
        "tower": part_numbers(Tower(64), values(XRAYS, 2, 1, 16, 16)),
        "lift": part_numbers(Lift(64, 5), values(XRAYS, 2, 64, 2, 3)),
        "block": part_numbers(Block(8, 2), values(TOKENS, 3, 5, 8), values(CONDITION, 3, 8),
                              values(KEYS_VALUES, 3, 4, 16)),
        "stages": {name: stage_numbers(case) for name, case in CASES.items()},
    }, "ct_cascade.json")


if __name__ == "__main__":
    main()
