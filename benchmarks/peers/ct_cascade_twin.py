"""models/ct_cascade in PyTorch, by the same parameter names: plainly, or in the form that runs fastest.

Plain: attention keeps its scores, a depth lift is the outer product of features and weights [N, dim, depth, h, w], what a
voxel sees is looked up by grid_sample, cubes are embedded by convolutions. Fast: scaled_dot_product_attention, the lift in
factors, lookups of views at right angles by resizing, linear layers. Both give the same numbers but for rounding.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

GROUPS, EPS = 8, 1e-6


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage of quarter scale; views are parallel beams at 0 and 90 degrees."""

    side: int
    patch: int
    dim: int = 64
    depth: int = 4
    heads: int = 4
    previous: int = 0
    xray_size: int = 128
    xray_dim: int = 128


class Tower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        widths = (1, dim // 8, dim // 4, dim)
        for i, (size, stride) in enumerate(((7, 2), (3, 1), (3, 1)), 1):
            setattr(self, f"conv{i}", nn.Conv2d(widths[i - 1], widths[i], size, stride, size // 2, bias=False))
            setattr(self, f"norm{i}", nn.GroupNorm(GROUPS, widths[i]))

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(image))), 3, 2, 1)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return F.relu(self.norm3(self.conv3(x)))


class Encoder(nn.Module):
    def __init__(self, stage, views):
        super().__init__()
        self.towers = nn.ModuleList(Tower(stage.xray_dim) for _ in range(views))
        self.view_embed = nn.Parameter(torch.zeros(1, views, 1, stage.xray_dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1, (stage.xray_size // 8) ** 2, stage.xray_dim))

    def forward(self, xrays):
        return [tower(xrays[:, i:i + 1]) for i, tower in enumerate(self.towers)]

    def tokens(self, features):
        rows = torch.stack([view.flatten(2).transpose(1, 2) for view in features], 1)
        return (rows + self.view_embed + self.pos_embed).flatten(1, 2)


class Lift(nn.Module):
    def __init__(self, dim, layers, is_fast):
        super().__init__()
        self.hidden, self.norm = nn.Conv2d(dim, dim // 4, 3, 1, 1, bias=False), nn.GroupNorm(GROUPS, dim // 4)
        self.depths, self.value = nn.Conv2d(dim // 4, layers, 1), nn.Conv2d(dim, 1, 1)
        self.is_fast = is_fast

    def forward(self, features):
        """[N, dim, h, w] to [N, layers, h, w]."""
        weights = self.depths(F.silu(self.norm(self.hidden(features)))).softmax(1) * self.depths.out_channels
        if self.is_fast:
            return weights * self.value(features)
        spread = features[:, :, None] * weights[:, None]
        return F.conv3d(spread, self.value.weight[..., None])[:, 0] + weights * self.value.bias


class Lookup(nn.Module):
    """What a parallel view at 0 or 90 degrees shows at the voxels [z][y][x] of a cube."""

    def __init__(self, angle, side, is_fast):
        super().__init__()
        self.angle, self.side, self.is_fast = angle, side, is_fast
        turn = math.radians(angle)
        middles = (torch.arange(side, dtype=torch.float64) + 0.5) * 2 / side - 1
        z, y, x = torch.meshgrid(middles, middles, middles, indexing="ij")
        column, depth = -math.cos(turn) * x - math.sin(turn) * y, math.sin(turn) * x - math.cos(turn) * y
        self.register_buffer("places", torch.stack([column, -z, depth], -1).float(), persistent=False)

    def turned(self, seen):
        """[N, depth, row, column] to [N, z, y, x]: rows go down, columns against x (0 degrees) or y (90), depth against y or
        along x."""
        if self.angle == 0:
            return seen.permute(0, 2, 1, 3).flip(1, 2, 3)
        return seen.permute(0, 2, 3, 1).flip(1, 2)

    def resized(self, images):
        return F.interpolate(images, size=(self.side, self.side), mode="bilinear", align_corners=False)

    def pixels(self, image):
        """[N, 1, H, W], H pixels at least twice as many as voxels made fewer by means, to [N, side, side, side]."""
        square = max(1, image.shape[2] // self.side)
        image = F.avg_pool2d(image, square)
        if self.is_fast:
            return self.turned(self.resized(image).expand(-1, self.side, -1, -1))
        grid = self.places[..., :2].flatten(1, 2).expand(len(image), -1, -1, -1)
        seen = F.grid_sample(image, grid, padding_mode="border", align_corners=False)
        return seen.view(-1, self.side, self.side, self.side)

    def voxels(self, layers):
        if self.is_fast:
            return self.turned(self.resized(layers))
        grid = self.places.expand(len(layers), -1, -1, -1, -1)
        return F.grid_sample(layers[:, None], grid, padding_mode="border", align_corners=False)[:, 0]


class Numbers(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(256, dim), nn.Linear(dim, dim)
        frequencies = torch.exp(torch.arange(128, dtype=torch.float64) * (-math.log(10_000) / 128))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, numbers):
        angles = numbers.double()[:, None] * self.frequencies
        return self.fc2(F.silu(self.fc1(torch.cat([angles.cos(), angles.sin()], 1).float())))


def attention(query, key, value, heads, is_fast):
    query, key, value = (rows.unflatten(2, (heads, -1)).transpose(1, 2) for rows in (query, key, value))
    if is_fast:
        mixed = F.scaled_dot_product_attention(query, key, value)
    else:
        mixed = (query @ key.transpose(2, 3) / math.sqrt(query.shape[3])).softmax(-1) @ value
    return mixed.transpose(1, 2).flatten(2)


def modulated(x, shift, scale):
    return F.layer_norm(x, x.shape[-1:], eps=EPS) * (1 + scale[:, None]) + shift[:, None]


class Block(nn.Module):
    def __init__(self, dim, heads, is_fast):
        super().__init__()
        self.heads, self.is_fast = heads, is_fast
        self.modulation = nn.Linear(dim, 9 * dim)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(dim, 3 * dim, bias=False), "proj": nn.Linear(dim, dim)})
        self.cross = nn.ModuleDict({"q": nn.Linear(dim, dim, bias=False), "proj": nn.Linear(dim, dim)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, 4 * dim), "fc2": nn.Linear(4 * dim, dim)})

    def forward(self, x, condition, keys_values):
        m = [part for part in self.modulation(condition).chunk(9, 1)]
        mixed = attention(*self.attn["qkv"](modulated(x, m[0], m[1])).chunk(3, 2), self.heads, self.is_fast)
        x = x + m[2][:, None] * self.attn["proj"](mixed)
        query = self.cross["q"](modulated(x, m[3], m[4]))
        mixed = attention(query, *keys_values.chunk(2, 2), self.heads, self.is_fast)
        x = x + m[5][:, None] * self.cross["proj"](mixed)
        return x + m[8][:, None] * self.mlp["fc2"](F.gelu(self.mlp["fc1"](modulated(x, m[6], m[7]))))


class Detail(nn.Module):
    def __init__(self, channels, dim, patch):
        super().__init__()
        self.conv1, self.modulation = nn.Conv3d(channels, 16, 3, 1, 1), nn.Linear(dim, 32)
        self.conv2, self.patch = nn.Conv3d(16, 1, 3, 1, 1), patch

    def forward(self, channels, rows):
        """Channels [N, C, side, side, side] and tokens [N, tokens, dim], each of which steers its patch."""
        cubes = channels.shape[2] // self.patch
        factors = self.modulation(rows).transpose(1, 2).unflatten(2, (cubes,) * 3)
        shift, scale = F.interpolate(factors, scale_factor=self.patch).chunk(2, 1)
        return self.conv2(F.silu(self.conv1(channels) * (1 + scale) + shift))[:, 0]


class Denoiser(nn.Module):
    """One stage: x_0 [N, side, side, side] of a noisy volume, its steps and X-rays [N, 2, H, W]."""

    def __init__(self, stage, is_fast, angles=(0, 90)):
        super().__init__()
        voxels, dim, views = stage.patch ** 3, stage.dim, len(angles)
        self.stage, self.is_fast = stage, is_fast
        self.cubes = stage.side // stage.patch
        self.pos_embed = nn.Parameter(torch.zeros(1, self.cubes ** 3, dim))
        self.encoder = Encoder(stage, views)
        self.lift = nn.ModuleList(Lift(stage.xray_dim, stage.side, is_fast) for _ in angles)
        self.lookups = nn.ModuleList(Lookup(angle, stage.side, is_fast) for angle in angles)
        self.volume_embed = nn.Linear((2 if stage.previous else 1) * voxels, dim)
        self.view_embed = nn.Linear(2 * views * voxels, dim, bias=False)
        self.xray_embed = nn.Linear(views * stage.xray_dim, dim)
        self.time_embed = Numbers(dim)
        if stage.previous:
            self.level_embed = Numbers(dim)
        self.keys_values = nn.ModuleList(nn.Linear(stage.xray_dim, 2 * dim, bias=False) for _ in range(stage.depth))
        self.blocks = nn.ModuleList(Block(dim, stage.heads, is_fast) for _ in range(stage.depth))
        self.final = nn.ModuleDict({"modulation": nn.Linear(dim, 2 * dim), "proj": nn.Linear(dim, voxels)})
        if stage.previous:
            self.detail = Detail(3 + 2 * views, dim, stage.patch)

    def embedded(self, layer, volumes):
        """[N, channels, side, side, side] to a row for each cube."""
        patch, cubes = self.stage.patch, self.cubes
        if self.is_fast:
            split = volumes.reshape(len(volumes), -1, cubes, patch, cubes, patch, cubes, patch)
            return layer(split.permute(0, 2, 4, 6, 1, 3, 5, 7).reshape(len(volumes), cubes ** 3, -1))
        weight = layer.weight.unflatten(1, (-1, patch, patch, patch))
        return F.conv3d(volumes, weight, layer.bias, stride=patch).flatten(2).transpose(1, 2)

    def encode(self, xrays):
        """What depends on X-rays alone: what voxels see, rows of it, the condition, keys and values of each block."""
        features = self.encoder(xrays)
        tokens = self.encoder.tokens(features)
        seen = [lookup.pixels(xrays[:, i:i + 1]) for i, lookup in enumerate(self.lookups)]
        seen += [lookup.voxels(lift(view)) for lookup, lift, view in zip(self.lookups, self.lift, features)]
        condition = self.xray_embed(torch.cat([view.mean((2, 3)) for view in features], 1))
        seen = torch.stack(seen, 1)
        return seen, self.embedded(self.view_embed, seen), condition, [kv(tokens) for kv in self.keys_values]

    def denoise(self, noisy, steps, context, previous=None, levels=None):
        seen, rows, condition, keys_values = context
        condition, channels = condition + self.time_embed(steps), [noisy]
        if previous is not None:
            channels.append(F.interpolate(previous[:, None], size=noisy.shape[1:], mode="trilinear")[:, 0])
            condition = condition + self.level_embed(levels * 1000)
        condition = F.silu(condition)
        known = torch.stack(channels, 1)
        x = self.embedded(self.volume_embed, known) + rows + self.pos_embed
        for block, of_block in zip(self.blocks, keys_values):
            x = block(x, condition, of_block)
        x = modulated(x, *self.final["modulation"](condition).chunk(2, 1))
        patch, cubes = self.stage.patch, self.cubes
        made = self.final["proj"](x).view(-1, cubes, cubes, cubes, patch, patch, patch)
        made = made.permute(0, 1, 4, 2, 5, 3, 6).reshape(noisy.shape)
        if previous is None:
            return made
        return channels[1] + made + self.detail(torch.cat([known, seen, made[:, None]], 1), x)

    def forward(self, xrays, noisy, steps, previous=None, levels=None):
        return self.denoise(noisy, steps, self.encode(xrays), previous, levels)
