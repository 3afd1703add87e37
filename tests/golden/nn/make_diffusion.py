"""Writes diffusion.json: what diffusers 0.42's DDIMScheduler makes of a few samples under the cosine schedule of Nichol
and Dhariwal with betas from 1e-4 to 0.9999.

    python tests/golden/nn/make_diffusion.py        # torch 2.11, diffusers 0.42

The scheduler is given the betas and, as it would keep float32 ones, their products in float64. Samples and noise are
functions of their indices (see `wave` in make_losses.py), which diffusion_test.cpp repeats. The network that the sampler
asks is a function of what it is given, too: 0.8 tanh(x_t) + 0.3 wave, which leaves [-1, 1] in places.

Whatever the spacing, diffusers' step goes down by TOTAL // num_inference_steps. Between the steps of linspace lies more
than that, so that number is set for the distance there is: a step then ends where the next one begins.
"""

import json
import math
import pathlib

import torch
from diffusers import DDIMScheduler
from diffusers.training_utils import compute_snr
from make_losses import wave

TOTAL, OFFSET, GAMMA = 1000, 0.008, 5.0
SHAPE = (5, 2, 3)
STEPS = [0, 1, 250, 998, 999]


def betas():
    def left(i):
        return math.cos((i / TOTAL + OFFSET) / (1 + OFFSET) * math.pi / 2) ** 2

    return [min(max(1 - left(i + 1) / left(i), 1e-4), 0.9999) for i in range(TOTAL)]


def scheduler(spacing):
    made = DDIMScheduler(num_train_timesteps=TOTAL, trained_betas=betas(), prediction_type="sample", clip_sample=True,
                         timestep_spacing=spacing, set_alpha_to_one=True)
    made.alphas_cumprod = torch.cumprod(1 - torch.tensor(betas(), dtype=torch.float64), 0)
    made.final_alpha_cumprod = torch.tensor(1.0, dtype=torch.float64)
    return made


def flat(tensor):
    return [float(f"{value:.13g}") for value in tensor.flatten().tolist()]


def sampled(spacing, count):
    made = scheduler(spacing)
    made.set_timesteps(count)
    if spacing == "linspace":
        distance = (TOTAL - 1) // (count - 1)
        assert set((made.timesteps[:-1] - made.timesteps[1:]).tolist()) == {distance}
        made.num_inference_steps = TOTAL // distance
        assert TOTAL // made.num_inference_steps == distance
    noisy = 3 * wave(SHAPE, 2)
    for step in made.timesteps:
        told = 0.8 * torch.tanh(noisy) + 0.3 * 2 * wave(SHAPE, 5 + step.item())
        noisy = made.step(told, step, noisy, use_clipped_model_output=True).prev_sample
    return {"spacing": spacing, "count": count, "samples": flat(noisy)}


def main():
    made = scheduler("linspace")
    samples, noise, steps = wave(SHAPE, 0), 2 * wave(SHAPE, 1), torch.tensor(STEPS)
    snr = compute_snr(made, steps)
    spacings = {}
    for spacing in ("trailing", "linspace"):
        for count in (1, 7, 50, 1000):
            made_so = scheduler(spacing)
            made_so.set_timesteps(count)
            spacings[f"{spacing} {count}"] = made_so.timesteps.tolist()
    spacings.pop("linspace 1")  # NumPy's is step 0, which is no noise
    content = {
        "kept": flat(made.alphas_cumprod), "steps": STEPS,
        "noisy": flat(made.add_noise(samples, noise, steps)), "velocity": flat(made.get_velocity(samples, noise, steps)),
        "weights": flat(torch.minimum(snr, torch.full_like(snr, GAMMA)) / (snr + 1)),
        "spacings": spacings,
        "sampled": [sampled(*each) for each in (("trailing", 1), ("trailing", 4), ("trailing", 50), ("linspace", 4),
                                                ("linspace", 28))],
    }
    path = pathlib.Path(__file__).with_name("diffusion.json")
    path.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()
