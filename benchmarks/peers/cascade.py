"""The first stage of a cascade of quarter scale in PyTorch.

Usage: cascade.py check FILE SIDE PATCH                 whether it gives what `cascade write` put into FILE
       cascade.py train FORM SIDE PATCH STEPS           the median time of a training step of one patient, {"step_ms": ...}
       cascade.py sample FORM SIDE PATCH STEPS ROUNDS   from X-rays to a volume by so many steps of DDIM, {"ms": ...}

FORM: plain; caches, which is plain but keeps what depends on X-rays alone; fast; compiled, which is fast by torch.compile.
"""

import json
import statistics
import sys
import time

import ct_diffusion
import safetensors.torch
import torch
from ct_cascade_twin import Denoiser, Stage

FEW_STEPS = 5  # of the samples in FILE
TOLERANCE = 1e-4
XRAY_SIZE = Stage.xray_size


def difference(found, wanted):
    return ((found - wanted).norm() / wanted.norm()).item()


def under(tensors, prefix):
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def check(file, stage):
    """Largest relative differences of loss, gradients and samples, of either form."""
    tensors = safetensors.torch.load_file(file)
    worst = {}
    for is_fast in (False, True):
        model = Denoiser(stage, is_fast)
        model.load_state_dict(under(tensors, "weights.stages.0."), strict=True)
        volumes, noise, steps = (tensors[name] for name in ("volume", "noise", "steps"))
        noisy = ct_diffusion.noisy_of(volumes, noise, steps)
        loss = ct_diffusion.loss_of(model(tensors["xrays"], noisy, steps), noisy, volumes, noise, steps)
        loss.backward()
        gradients = under(tensors, "gradients.stages.0.")
        largest = max(gradient.norm().item() for gradient in gradients.values())
        differences = {"loss": difference(loss.detach(), tensors["loss"])}
        differences["gradients"] = max((parameter.grad - gradients[name]).norm().item() / largest
                                       for name, parameter in model.named_parameters())
        with torch.inference_mode():
            context = model.encode(tensors["xrays"])
        found = ct_diffusion.sampled(lambda x, step: model.denoise(x, step, context), tensors["first_noise"], FEW_STEPS)
        differences["samples"] = difference(found, tensors["samples"])
        worst = {name: max(value, worst.get(name, 0)) for name, value in differences.items()}
    if any(not value < TOLERANCE for value in worst.values()):
        raise SystemExit(f"the twin differs: {worst}")
    print(json.dumps(worst))


def made(form, stage):
    """In training mode; layers that begin with zeros have small values, so that none is skipped."""
    torch.manual_seed(1)
    model = Denoiser(stage, form in ("fast", "compiled"))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0, 0.02)
    return model


def train(form, stage, count):
    model = made(form, stage)
    forward = torch.compile(model) if form == "compiled" else model
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=0.01, fused=True)
    xrays, volumes = (torch.rand(1, *sizes) * 2 - 1 for sizes in ((2, XRAY_SIZE, XRAY_SIZE), (stage.side,) * 3))
    times = []
    for _ in range(count):
        steps, noise = torch.randint(ct_diffusion.STEPS, (1,)), torch.randn_like(volumes)
        noisy = ct_diffusion.noisy_of(volumes, noise, steps)
        optimizer.zero_grad(set_to_none=True)
        ct_diffusion.loss_of(forward(xrays, noisy, steps), noisy, volumes, noise, steps).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter())
    skip = min(100, max(1, count // 6))
    print(json.dumps({"step_ms": 1e3 * statistics.median(b - a for a, b in zip(times[skip:], times[skip + 1:]))}))


def sample(form, stage, count, rounds):
    model = made(form, stage).eval()
    denoise = torch.compile(model.denoise) if form == "compiled" else model.denoise
    xrays, times = torch.rand(1, 2, XRAY_SIZE, XRAY_SIZE) * 2 - 1, []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        with torch.inference_mode():
            context = None if form == "plain" else model.encode(xrays)
        ct_diffusion.sampled(lambda x, step: denoise(x, step, context or model.encode(xrays)),
                             torch.randn(1, *(stage.side,) * 3), count)
        times.append(time.perf_counter() - begin)
    print(json.dumps({"ms": 1e3 * statistics.median(times[1:])}))


def main():
    torch.set_flush_denormal(True)
    mode, what, side, patch, *numbers = sys.argv[1:]
    stage = Stage(int(side), int(patch))
    {"check": check, "train": train, "sample": sample}[mode](what, stage, *map(int, numbers))


if __name__ == "__main__":
    main()
