"""Writes optimizers.json, schedules.json and grad_scaler.json from torch.optim and torch.amp (torch 2.11.0):
python make_golden.py"""
import json
import math
import pathlib

import torch

HERE = pathlib.Path(__file__).parent
SHAPES = [[5, 3], [7], [2, 2, 3, 3]]
NUM_STEPS = 10
LR = 0.1


def wave(shape, phase, dtype):
    """The numbers that the C++ test makes too: sin(0.37 * (i + 1) + phase)."""
    count = math.prod(shape)
    values = [math.sin(0.37 * (i + 1) + phase) for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)


def run_optimizer(kind, options, dtype):
    params = [torch.nn.Parameter(wave(shape, 10.0 * p, dtype)) for p, shape in enumerate(SHAPES)]
    decay = options.pop("weight_decay")
    groups = [{"params": params[0::2], "weight_decay": decay}, {"params": params[1:2], "weight_decay": 0.0}]
    optimizer = kind(groups, lr=LR, foreach=False, fused=False, **options)
    for step in range(NUM_STEPS):
        for p, param in enumerate(params):
            param.grad = wave(SHAPES[p], 10.0 * p + step + 1, dtype)
        for group in optimizer.param_groups:
            group["lr"] = LR / (step + 1)
        optimizer.step()
    state = {
        name: [optimizer.state[param][name].flatten().tolist() for param in params]
        for name in ("momentum_buffer", "exp_avg", "exp_avg_sq")
        if torch.is_tensor(optimizer.state[params[0]].get(name))
    }
    return {"params": [p.detach().flatten().tolist() for p in params], "state": state}


def optimizers():
    cases = [
        ("sgd", torch.optim.SGD, {"momentum": 0.0, "weight_decay": 0.0}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.05}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05}),
        ("adamw", torch.optim.AdamW, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}),
        ("adamw", torch.optim.AdamW, {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.0}),
    ]
    return [
        {"name": name, "options": options, "dtype": str(dtype).removeprefix("torch."),
         **run_optimizer(kind, dict(options), dtype)}
        for name, kind, options in cases
        for dtype in (torch.float64, torch.float32)
    ]


def factors(make, num_steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0)
    scheduler = make(optimizer)
    values = []
    for _ in range(num_steps):
        values.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return values


def schedules():
    from torch.optim import lr_scheduler as lrs

    def warmup(o, w, f):
        return lrs.LinearLR(o, start_factor=f, end_factor=1.0, total_iters=w)

    def chained(w, f, main):
        return lambda o: lrs.ChainedScheduler([warmup(o, w, f), main(o)])

    def sequential(w, f, main):
        return lambda o: lrs.SequentialLR(o, [warmup(o, w, f), main(o)], milestones=[w])

    total = 40
    return {
        "constant": factors(lambda o: warmup(o, 6, 0.1), total),
        "cosine": factors(lambda o: lrs.CosineAnnealingLR(o, T_max=total), total),
        "cosine_warmup": factors(sequential(6, 0.1, lambda o: lrs.CosineAnnealingLR(o, T_max=total - 6, eta_min=0.05)), total),
        "step": factors(lambda o: lrs.StepLR(o, 7, 0.3), total),
        "step_warmup": factors(chained(6, 0.1, lambda o: lrs.StepLR(o, 7, 0.3)), total),
        "multistep_warmup": factors(chained(6, 0.1, lambda o: lrs.MultiStepLR(o, [10, 20, 33], 0.2)), total),
        "one_cycle": factors(lambda o: lrs.OneCycleLR(o, max_lr=1.0, total_steps=total, pct_start=13 / total,
                                                      div_factor=20, final_div_factor=500,
                                                      cycle_momentum=False), total - 1)
    }


def run_grad_scaler(options):
    """SGD over gradients that are scaled by hand; every step whose number is in `overflows` has an infinite one."""
    overflows = [2, 3, 9, 17, 18, 19, 30]
    param = torch.nn.Parameter(wave([7], 0.0, torch.float32))
    optimizer = torch.optim.SGD([param], lr=LR, momentum=0.9, fused=False, foreach=False)
    scaler = torch.amp.GradScaler("cpu", **options)
    scales, trackers = [], []
    for step in range(32):
        param.grad = wave([7], step + 1.0, torch.float32) * scaler.scale(torch.ones(()))
        if step in overflows:
            param.grad[step % 7] = math.inf
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        trackers.append(scaler.state_dict()["_growth_tracker"])
    return {"options": options, "overflows": overflows, "scales": scales, "growth_trackers": trackers,
            "params": param.detach().tolist()}


def grad_scalers():
    return [run_grad_scaler(options) for options in (
        {"init_scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000},
        {"init_scale": 1000.0, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 3},
        {"init_scale": 1e37, "growth_factor": 8.0, "backoff_factor": 0.5, "growth_interval": 2},  # ends at the top
    )]


if __name__ == "__main__":
    for name, content in (("optimizers", optimizers()), ("schedules", schedules()),
                          ("grad_scaler", grad_scalers())):
        (HERE / f"{name}.json").write_text(json.dumps(content) + "\n")
