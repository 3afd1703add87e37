"""The model of the repository that seed 004 describes, made anew from what it does: a cascade in name, of ViTs whose outputs
carry 16^3 values. Its views are averaged, no stage sees another's volume, v comes out of a token directly, and both X-rays are
compared with one projection. See what it is compared with in quality.py.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F

STEPS, OFFSET = 1000, 0.008
FULL_SIZE = 135_069_062  # parameters of the stages below and what they share
DROPOUT = 0.1
PREVIOUS = 256  # width of what it would tell a later stage of the volume before


@dataclasses.dataclass(frozen=True)
class Shape:
    """A stage: `tokens` a side."""

    side: int
    dim: int
    depth: int
    heads: int
    tokens: int = 16
    lift: tuple = (256, 128)


@dataclasses.dataclass(frozen=True)
class Widths:
    """What stages share."""

    features: tuple = (64, 128, 512)
    condition: int = 1024
    time: int = 256


FULL = (Shape(64, 256, 4, 4), Shape(128, 384, 6, 6), Shape(256, 512, 8, 8))


def groups(channels):
    return nn.GroupNorm(8, channels)


class Encoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        first, second, third = widths.features
        self.features = nn.Sequential(
            nn.Conv2d(1, first, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(first, second, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(second, third, 3, 1, 1), nn.ReLU())
        self.context = nn.Linear(third, widths.condition)
        self.time = nn.Sequential(nn.Linear(widths.time, third), nn.SiLU(), nn.Linear(third, widths.condition))

    def forward(self, xrays, time):
        """X-rays [N, views, H, W] to features [N, C, h, w], the mean over views, and the condition [N, condition]."""
        count, views = xrays.shape[:2]
        features = self.features(xrays.flatten(0, 1)[:, None]).unflatten(0, (count, views)).mean(1)
        return features, self.context(features.mean((2, 3))) + self.time(time)


class Lifting(nn.Module):
    def __init__(self, shape, channels):
        super().__init__()
        first, second = shape.lift
        self.side = shape.side
        self.depths = nn.Sequential(
            nn.Conv2d(channels, first, 3, 1, 1), groups(first), nn.SiLU(),
            nn.Conv2d(first, second, 3, 1, 1), groups(second), nn.SiLU(), nn.Conv2d(second, shape.side, 1))
        self.mask = nn.Conv2d(channels, shape.side, 1)
        self.value = nn.Conv3d(channels, 1, 1)

    def forward(self, features):
        weights = self.depths(features).softmax(1) * self.mask(features).sigmoid()
        weights = weights / (weights.sum(1, keepdim=True) + 1e-8)
        spread = self.value(features[:, :, None] * weights[:, None])
        return F.interpolate(spread, size=(self.side,) * 3, mode="trilinear", align_corners=True)


def split(rows, heads):
    return rows.unflatten(2, (heads, -1)).transpose(1, 2)


class Attention(nn.Module):
    """Of tokens to each other, or with `source` channels to others."""

    def __init__(self, dim, heads, source=None):
        super().__init__()
        self.heads = heads
        if source is None:
            self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        else:
            self.q, self.kv = nn.Linear(dim, dim, bias=False), nn.Linear(source, 2 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, x, others=None):
        rows = self.qkv(x).chunk(3, 2) if others is None else (self.q(x), *self.kv(others).chunk(2, 2))
        query, key, value = (split(each, self.heads) for each in rows)
        weights = self.drop((query @ key.transpose(2, 3) / math.sqrt(query.shape[3])).softmax(-1))
        return self.drop(self.proj((weights @ value).transpose(1, 2).flatten(2)))


class Block(nn.Module):
    def __init__(self, shape, condition, channels):
        super().__init__()
        dim = shape.dim
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(3))
        self.self_attention = Attention(dim, shape.heads)
        self.cross_attention = Attention(dim, shape.heads, channels)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(4 * dim, dim),
                                 nn.Dropout(DROPOUT))
        self.modulation = nn.Linear(condition, 6 * dim)
        nn.init.zeros_(self.modulation.weight)
        nn.init.zeros_(self.modulation.bias)

    def forward(self, x, condition, xrays):
        m = [part[:, None] for part in self.modulation(condition).chunk(6, 1)]
        x = x + m[2] * self.self_attention((1 + m[1]) * self.norms[0](x) + m[0])
        x = x + self.cross_attention(self.norms[1](x), xrays)
        return x + m[5] * self.mlp((1 + m[4]) * self.norms[2](x) + m[3])


class Backbone(nn.Module):
    def __init__(self, shape, condition, channels):
        super().__init__()
        layers, width = [], 1
        for halving in range(int(math.log2(shape.side // shape.tokens))):
            wider = min(shape.dim, shape.dim // 4 * 2 ** halving)
            layers += [nn.Conv3d(width, wider, 3, 2, 1), groups(wider), nn.SiLU()]
            width = wider
        if width != shape.dim:
            layers.append(nn.Conv3d(width, shape.dim, 3, 1, 1))
        self.embed = nn.Sequential(*layers)
        self.position = nn.Parameter(torch.randn(1, shape.tokens ** 3, shape.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(shape, condition, channels) for _ in range(shape.depth))
        self.norm, self.head = nn.LayerNorm(shape.dim), nn.Linear(shape.dim, 1)
        self.shape = shape

    def forward(self, volumes, condition, xrays):
        x = self.embed(volumes).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x, condition, xrays)
        values = self.head(self.norm(x)).transpose(1, 2).unflatten(2, (self.shape.tokens,) * 3)
        return F.interpolate(values, size=(self.shape.side,) * 3, mode="trilinear", align_corners=True)


class StageModel(nn.Module):
    def __init__(self, shape, widths, is_first):
        super().__init__()
        self.previous = None if is_first else nn.Linear(1, PREVIOUS)
        self.lifting = Lifting(shape, widths.features[-1])
        self.backbone = Backbone(shape, widths.condition + (0 if is_first else PREVIOUS), widths.features[-1])

    def forward(self, noisy, features, condition):
        """v of [N, D, H, W]."""
        if self.previous is not None:  # nobody ever gives it a volume
            condition = torch.cat([condition, condition.new_zeros(len(condition), PREVIOUS)], 1)
        x = noisy[:, None] + 0.1 * self.lifting(features)
        return self.backbone(x, condition, features.flatten(2).transpose(1, 2))[:, 0]


class Rebuilt(nn.Module):
    def __init__(self, shapes=FULL, widths=Widths()):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, widths.time), nn.SiLU(), nn.Linear(widths.time, widths.time))
        self.encoder = Encoder(widths)
        self.stages = nn.ModuleList(StageModel(shape, widths, number == 0) for number, shape in enumerate(shapes))

    def forward(self, stage, noisy, times, xrays):
        """`times` are what it is told of steps: t / T as it learns."""
        features, condition = self.encoder(xrays, self.time(times[:, None]))
        return self.stages[stage](noisy, features, condition)


def check_size():
    """That a model of full size has as many parameters as the repository's."""
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in Rebuilt().parameters())
    assert count == FULL_SIZE, f"{count} parameters instead of {FULL_SIZE}"


def schedule():
    """a_t, float32 [STEPS]."""
    places = (torch.arange(STEPS + 1, dtype=torch.float64) / STEPS + OFFSET) / (1 + OFFSET)
    left = (places * math.pi / 2).cos().square()
    return (1 - (1 - left[1:] / left[:-1]).clamp(1e-4, 0.9999)).cumprod(0).float()


def physics_loss(made, xrays):
    """Sums along depth, stretched to [0, 1] over the whole batch, against X-rays in [-1, 1] of any view."""
    drawn = made.clamp(-10, 10).sum(1, keepdim=True)
    drawn = (drawn - drawn.min()) / (drawn.max() - drawn.min() + 1e-8)
    drawn = F.interpolate(drawn, size=xrays.shape[2:], mode="bilinear", align_corners=True)
    return torch.stack([F.mse_loss(drawn[:, 0], xrays[:, view]) for view in range(xrays.shape[1])]).mean()


def training_loss(model, kept, volumes, xrays, physics_weight):
    steps = torch.randint(STEPS, (len(volumes),))
    noise = torch.randn_like(volumes)
    share, rest = (part.view(-1, 1, 1, 1) for part in (kept[steps].sqrt(), (1 - kept[steps]).sqrt()))
    noisy = share * volumes + rest * noise
    told = model(0, noisy, steps / STEPS, xrays)
    loss = F.mse_loss(told, share * noise - rest * volumes)
    return loss + physics_weight * physics_loss(share * noisy - rest * told, xrays)


@torch.no_grad()
def samples(model, kept, xrays, side, count=50, is_mended=False):
    """Its DDIM: raw steps and v in the place of the noise, or with both mended and x_0 clamped to [-1, 1]."""
    x = torch.randn(len(xrays), side, side, side)
    steps = torch.linspace(STEPS - 1, 0, count).long()
    for step, before in zip(steps, [*steps[1:], None]):
        share, rest = kept[step].sqrt(), (1 - kept[step]).sqrt()
        told = model(0, x, (step / STEPS if is_mended else step.float()).expand(len(x)), xrays)
        limit = 1 if is_mended else 10
        made = (share * x - rest * told).clamp(-limit, limit)
        if before is None:
            return made
        noise = (x - share * made) / rest if is_mended else (share * x - made) / rest
        x = kept[before].sqrt() * made + (1 - kept[before]).sqrt() * noise
