"""A bare training step of a cascade's first stage in PyTorch, on data that lie on the device.

Takes turns as torch_step.py does: says {"ready": ...} when it is warm, and for each line that it reads runs --steps steps
and says {"step_ms": ...}. The network is ct_cascade_twin.py's: plain, or with --fast in the form that runs fastest.

Usage: cascade_step.py --side VOXELS --patch VOXELS --dim N --depth N --heads N --xray-size PIXELS --xray-dim N --batch N
                       --steps N [--device cuda] [--precision bf16|fp32] [--fast] [--compile]
"""

import argparse
import contextlib
import json
import sys
import time

import ct_diffusion
import torch
from ct_cascade_twin import Denoiser, Stage
from torch.nn import functional

WARM_UP = 3
PHYSICS_WEIGHT = 0.3
FULL_SCALE = 3  # of X-rays, 1 being a way through water
OF_STAGE = ("side", "patch", "dim", "depth", "heads", "xray_size", "xray_dim")


def parse():
    parser = argparse.ArgumentParser()
    for name in (*OF_STAGE, "batch", "steps"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def physics_loss(made, xrays, steps):
    """Line integrals of volumes in [-1, 1] beside those of X-rays, by what noise has left; views at 0 and 90 degrees."""
    attenuations = (2 * made.float() + 2).clamp_min(0)
    found = torch.stack([attenuations.mean(2).flip(1, 2), attenuations.mean(3).flip(1, 2)], 1)
    wanted = functional.adaptive_avg_pool2d((xrays + 1) * (FULL_SCALE / 2), found.shape[2:])
    return ((found - wanted).square().flatten(1).mean(1) * ct_diffusion.KEPT[steps].float()).mean()


class Training:
    """Model, optimizer and a batch."""

    def __init__(self, options):
        self.options, device = options, options.device
        ct_diffusion.KEPT = ct_diffusion.KEPT.to(device)
        self.model = Denoiser(Stage(**{name: getattr(options, name) for name in OF_STAGE}), options.fast)
        for parameter in self.model.parameters():  # layers that begin with zeros too, so that none is skipped
            torch.nn.init.normal_(parameter, 0, 0.02)
        self.model.to(device)
        self.forward = torch.compile(self.model) if options.compile else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-4, weight_decay=0.01, fused=True)
        sizes = ((2, options.xray_size, options.xray_size), (options.side,) * 3)
        self.xrays, self.volumes = (torch.rand(options.batch, *size, device=device) * 2 - 1 for size in sizes)

    def autocast(self):
        if self.options.precision == "bf16":
            return torch.autocast(self.options.device, torch.bfloat16)
        return contextlib.nullcontext()

    def step(self):
        steps = torch.randint(ct_diffusion.STEPS, (self.options.batch,), device=self.volumes.device)
        noise = torch.randn_like(self.volumes)
        noisy = ct_diffusion.noisy_of(self.volumes, noise, steps)
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            made = self.forward(self.xrays, noisy, steps).float()
            loss = ct_diffusion.loss_of(made, noisy, self.volumes, noise, steps)
            loss = loss + PHYSICS_WEIGHT * physics_loss(made, self.xrays, steps)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def step_ms(self, count):
        self.wait()
        begin = time.perf_counter()
        for _ in range(count):
            self.step()
        self.wait()
        return 1e3 * (time.perf_counter() - begin) / count

    def wait(self):
        if self.options.device == "cuda":
            torch.cuda.synchronize()


def main():
    options = parse()
    torch.manual_seed(1)
    torch.set_flush_denormal(True)
    torch.backends.cudnn.benchmark = True
    training = Training(options)
    training.step_ms(min(WARM_UP, options.steps))
    parameters = sum(parameter.numel() for parameter in training.model.parameters())
    print(json.dumps({"ready": True, "parameters": parameters}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"step_ms": training.step_ms(options.steps)}), flush=True)


if __name__ == "__main__":
    main()
