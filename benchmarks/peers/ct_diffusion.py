"""The diffusion of task ct_diffusion in PyTorch: schedule, loss of a predicted x_0, DDIM."""

import math

import torch

STEPS, OFFSET, GAMMA = 1000, 0.008, 5.0


def kept_of_steps():
    """a_t of the cosine schedule, float64 [STEPS]."""
    def left(step):
        return math.cos((step / STEPS + OFFSET) / (1 + OFFSET) * math.pi / 2) ** 2
    lost = torch.tensor([1 - left(step + 1) / left(step) for step in range(STEPS)], dtype=torch.float64)
    return (1 - lost.clamp(1e-4, 0.9999)).cumprod(0)


KEPT = kept_of_steps()


def noisy_of(volumes, noise, steps):
    kept = KEPT[steps].view(-1, 1, 1, 1)
    return kept.sqrt().float() * volumes + (1 - kept).sqrt().float() * noise


def loss_of(made, noisy, volumes, noise, steps):
    """The squared error of v by min-SNR weights, averaged over samples."""
    kept = KEPT[steps].view(-1, 1, 1, 1)
    share, rest = kept.sqrt().float(), (1 - kept).sqrt().float()
    wanted = share * noise - rest * volumes
    found = (share * noisy - made) / rest
    ratio = (kept / (1 - kept)).flatten()
    weights = (ratio.clamp_max(GAMMA) / (ratio + 1)).float()
    return ((found - wanted).square().flatten(1).mean(1) * weights).mean()


def trailing(count):
    return [round(STEPS - i * STEPS / count) - 1 for i in range(count)]


@torch.inference_mode()
def sampled(denoise, noise, count):
    """x_0 by DDIM without noise; denoise takes x_t and t to x_0."""
    x, steps = noise, trailing(count)
    for step, before in zip(steps, [*steps[1:], None]):
        made = denoise(x, torch.full((len(x),), step)).clamp(-1, 1)
        if before is None:
            return made
        kept, kept_before = KEPT[step].item(), KEPT[before].item()
        left = (x - math.sqrt(kept) * made) / math.sqrt(1 - kept)
        x = math.sqrt(kept_before) * made + math.sqrt(1 - kept_before) * left
