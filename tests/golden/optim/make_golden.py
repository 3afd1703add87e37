"""Writes optimizers.json, schedules.json and grad_scaler.json from torch.optim and torch.amp (torch 2.11.0) and timm 1.0.31:
python make_golden.py"""
import collections
import json
import math
import pathlib

import timm.optim
import torch
from timm.scheduler import CosineLRScheduler

HERE = pathlib.Path(__file__).parent
SHAPES = [[5, 3], [7], [2, 2, 3, 3]]
NUM_STEPS = 50
LR = 0.1


def wave(shape, phase, dtype):
    """The numbers that the C++ test makes too: sin(0.37 * (i + 1) + phase)."""
    count = math.prod(shape)
    values = [math.sin(0.37 * (i + 1) + phase) for i in range(count)]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype)


def momentum_at(step):
    """Of a schedule that moves it, as the C++ test computes it too."""
    return 0.9 - 0.05 * math.sin(step)


class MuonBesideAdamW:
    """torch.optim.Muon for the matrices (convolutions as [outputs, all else in memory's order]), AdamW for the rest."""

    def __init__(self, groups, lr, foreach, **options):
        self.params = [param for group in groups for param in group["params"]]
        self.matrices = {}
        for group in groups:
            for param in group["params"]:
                if param.dim() >= 2:
                    rows = param.permute(0, 2, 3, 1) if param.dim() == 4 else param
                    self.matrices[param] = torch.nn.Parameter(rows.reshape(param.shape[0], -1).detach().clone())
        decay = groups[0]["weight_decay"]
        self.muon = torch.optim.Muon(list(self.matrices.values()), lr=lr, weight_decay=decay, **options)
        rest = [param for param in self.params if param.dim() < 2]
        self.adamw = torch.optim.AdamW(rest, lr=lr, weight_decay=0.0, foreach=foreach, fused=False)
        self.param_groups = [*self.muon.param_groups, *self.adamw.param_groups]
        self.state = collections.defaultdict(dict)

    def step(self):
        def rows_of(tensor):
            return (tensor.permute(0, 2, 3, 1) if tensor.dim() == 4 else tensor).reshape(tensor.shape[0], -1)
        for param, matrix in self.matrices.items():
            matrix.grad = rows_of(param.grad).clone()
        self.muon.step()
        self.adamw.step()
        for param, matrix in self.matrices.items():
            def whole(rows, like=param):
                if like.dim() != 4:
                    return rows.reshape(like.shape)
                n, c, h, w = like.shape
                return rows.reshape(n, h, w, c).permute(0, 3, 1, 2)
            param.data.copy_(whole(matrix.data))
            self.state[param]["momentum_buffer"] = whole(self.muon.state[matrix]["momentum_buffer"])
        for param in self.params:
            if param not in self.matrices:
                self.state[param] = self.adamw.state[param]


def run_optimizer(kind, options, dtype):
    torch.set_default_dtype(dtype)  # of NAdam's product of momenta
    params = [torch.nn.Parameter(wave(shape, 10.0 * p, dtype)) for p, shape in enumerate(SHAPES)]
    decay, is_cycled = options.pop("weight_decay"), options.pop("cycled", False)
    groups = [{"params": params[0::2], "weight_decay": decay}, {"params": params[1:2], "weight_decay": 0.0}]
    plainly = {"foreach": False} | ({"fused": False} if kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW) else {})
    optimizer = kind(groups, lr=LR, **plainly, **options)
    for step in range(NUM_STEPS):
        for p, param in enumerate(params):
            param.grad = wave(SHAPES[p], 10.0 * p + step + 1, dtype)
        for group in optimizer.param_groups:
            group["lr"] = LR / (step + 1)
            if is_cycled and "betas" in group:
                group["betas"] = (momentum_at(step), group["betas"][1])
            elif is_cycled:
                group["momentum"] = momentum_at(step)
        optimizer.step()
    state = {
        name: [optimizer.state[param][name].flatten().tolist() if name in optimizer.state[param] else None
               for param in params]
        for name in ("momentum_buffer", "exp_avg", "exp_avg_sq", "square_avg", "grad_avg", "row_var", "col_var", "variance")
        if any(torch.is_tensor(optimizer.state[param].get(name)) for param in params)
    }
    torch.set_default_dtype(torch.float32)
    return {"params": [p.detach().flatten().tolist() for p in params], "state": state}


def optimizers():
    cases = [
        ("sgd", torch.optim.SGD, {"momentum": 0.0, "weight_decay": 0.0}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.05}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05}),
        ("adamw", torch.optim.AdamW, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}),
        ("adamw", torch.optim.AdamW, {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.0}),
        ("adam", torch.optim.Adam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}),
        ("adam", torch.optim.Adam, {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.0}),
        ("nadam", torch.optim.NAdam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}),
        ("nadam", torch.optim.NAdam, {"betas": (0.8, 0.95), "eps": 1e-4, "momentum_decay": 0.5, "weight_decay": 0.05,
                                      "decoupled_weight_decay": True}),
        ("nadamw", timm.optim.NAdamW, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}),
        ("nadamw", timm.optim.NAdamW, {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.0}),
        ("radam", torch.optim.RAdam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05}),
        ("radam", torch.optim.RAdam, {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.05,
                                      "decoupled_weight_decay": True}),
        ("rmsprop", torch.optim.RMSprop, {"alpha": 0.99, "eps": 1e-8, "weight_decay": 0.05}),
        ("rmsprop", torch.optim.RMSprop, {"alpha": 0.9, "eps": 1e-3, "momentum": 0.8, "weight_decay": 0.05}),
        ("rmsprop", torch.optim.RMSprop, {"alpha": 0.9, "eps": 1e-3, "momentum": 0.8, "centered": True, "weight_decay": 0.0}),
        ("rmsprop_tf", timm.optim.RMSpropTF, {"alpha": 0.9, "eps": 1e-10, "weight_decay": 0.05}),
        ("rmsprop_tf", timm.optim.RMSpropTF, {"alpha": 0.95, "eps": 1e-3, "momentum": 0.9, "weight_decay": 0.05,
                                              "decoupled_decay": True}),
        ("rmsprop_tf", timm.optim.RMSpropTF, {"alpha": 0.95, "eps": 1e-3, "momentum": 0.9, "lr_in_momentum": False,
                                              "centered": True, "weight_decay": 0.05}),
        ("rmsprop", torch.optim.RMSprop, {"alpha": 0.95, "eps": 1e-3, "centered": True, "weight_decay": 0.05}),
        ("rmsprop_tf", timm.optim.RMSpropTF, {"alpha": 0.95, "eps": 1e-3, "decoupled_decay": True, "weight_decay": 0.05}),
        ("rmsprop_tf", timm.optim.RMSpropTF, {"alpha": 0.95, "eps": 1e-3, "centered": True, "weight_decay": 0.05}),
        ("lion", timm.optim.Lion, {"betas": (0.9, 0.99), "weight_decay": 0.05}),
        ("lion", timm.optim.Lion, {"betas": (0.5, 0.8), "weight_decay": 0.0}),
        ("lamb", timm.optim.Lamb, {"betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.05}),
        ("lamb", timm.optim.Lamb, {"betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.05, "max_grad_norm": None,
                                   "bias_correction": False, "grad_averaging": False, "trust_clip": True}),
        ("lamb", timm.optim.Lamb, {"betas": (0.9, 0.99), "eps": 1e-6, "weight_decay": 0.05, "decoupled_decay": True,
                                   "always_adapt": True, "max_grad_norm": 0.5, "cycled": True}),
        ("lars", timm.optim.Lars, {"momentum": 0.0, "weight_decay": 0.05, "trust_coeff": 0.02}),
        ("lars", timm.optim.Lars, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05, "trust_coeff": 0.05,
                                   "trust_clip": True}),
        ("lars", timm.optim.Lars, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05, "trust_coeff": 0.02,
                                   "eps": 1e-3, "always_adapt": True, "cycled": True}),
        ("adafactor", torch.optim.Adafactor, {"weight_decay": 0.05}),
        ("adafactor", torch.optim.Adafactor, {"beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 2.0, "weight_decay": 0.0}),
        ("muon", MuonBesideAdamW, {"weight_decay": 0.05}),
        ("muon", MuonBesideAdamW, {"momentum": 0.8, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3,
                                   "weight_decay": 0.0}),
        ("sgd", torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.05, "cycled": True}),
        ("adam", torch.optim.Adam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05, "cycled": True}),
        ("adamw", torch.optim.AdamW, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05, "cycled": True}),
        ("nadamw", timm.optim.NAdamW, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05, "cycled": True}),
        ("radam", torch.optim.RAdam, {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.05, "cycled": True}),
        ("rmsprop", torch.optim.RMSprop, {"alpha": 0.9, "eps": 1e-3, "momentum": 0.8, "weight_decay": 0.05,
                                          "cycled": True}),
        ("rmsprop_tf", timm.optim.RMSpropTF, {"alpha": 0.95, "eps": 1e-3, "momentum": 0.9, "weight_decay": 0.05,
                                              "cycled": True}),
        ("lion", timm.optim.Lion, {"betas": (0.9, 0.99), "weight_decay": 0.05, "cycled": True}),
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


def one_cycle_momenta(total):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0, momentum=0.5)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=total, pct_start=13 / total,
                                                    base_momentum=0.8, max_momentum=0.95)
    values = []
    for _ in range(total - 1):
        values.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    return values


def timm_factors(num_steps, **options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=1.0)
    scheduler = CosineLRScheduler(optimizer, **options)
    return [scheduler._get_lr(step)[0] for step in range(num_steps)]


def by_epoch(values):
    """Of a run whose epochs have four steps and whose trainer moves the rate between them."""
    return [value for value in values for _ in range(4)]


def get_inverse_sqrt_schedule(optimizer, num_warmup_steps, timescale=None):
    """As Hugging Face's transformers define it."""
    timescale = timescale or num_warmup_steps
    shift = timescale - num_warmup_steps

    def factor(step):
        if step < num_warmup_steps:
            return step / num_warmup_steps
        return 1 / math.sqrt((step + shift) / timescale)
    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


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
                                                      cycle_momentum=False), total - 1),
        "one_cycle_momentum": one_cycle_momenta(total),
        "constant_warmup": factors(lambda o: lrs.ConstantLR(o, factor=0.1, total_iters=6), total),
        "polynomial": factors(lambda o: lrs.PolynomialLR(o, total_iters=total, power=0.9), total),
        "polynomial_warmup": factors(sequential(6, 0.1, lambda o: lrs.PolynomialLR(o, total_iters=total - 6, power=2.0)), total),
        "linear": factors(lambda o: lrs.LinearLR(o, start_factor=1.0, end_factor=0.2, total_iters=total), total),
        "exponential": factors(lambda o: lrs.ExponentialLR(o, 0.93), total),
        "exponential_warmup": factors(chained(6, 0.1, lambda o: lrs.ExponentialLR(o, 0.93)), total),
        "restarts": factors(lambda o: lrs.CosineAnnealingWarmRestarts(o, T_0=5, T_mult=2, eta_min=0.05), total),
        "timm_cycles": timm_factors(total, t_initial=10, cycle_decay=0.5, cycle_limit=4, lr_min=0.01),
        "timm_k_decay": timm_factors(total, t_initial=34, k_decay=1.5, warmup_t=6, warmup_lr_init=0.1, warmup_prefix=True),
        "epochs_torchvision": by_epoch(factors(
            lambda o: lrs.SequentialLR(o, [warmup(o, 2, 0.01), lrs.CosineAnnealingLR(o, T_max=8)], milestones=[2]), 10)),
        "epochs_timm": by_epoch(timm_factors(10, t_initial=10, warmup_t=2, warmup_lr_init=0.02, lr_min=0.01)),
        "inverse_sqrt": factors(lambda o: get_inverse_sqrt_schedule(o, 6), total),
        "inverse_sqrt_timescale": factors(lambda o: get_inverse_sqrt_schedule(o, 6, timescale=11), total),
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
