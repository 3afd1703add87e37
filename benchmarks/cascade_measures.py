"""A cascade's first stage at quarter scale (dim 64, 4 blocks of 4 heads, two X-rays of 128 px) beside its twin in PyTorch.

Before anything is timed the twin has paceline's weights and batch and must give its loss, gradients and samples. Both sides
then train without the loss of projections, clip gradients and step by AdamW; both draw a volume in 50 steps.
"""

import statistics

from workspace import Measure

RECIPE = """
model:     {name: ct_cascade, stages: [{volume_size: SIDE, patch: PATCH, dim: 64, depth: 4, heads: 4}], xray_size: 128,
            xray_dim: 128}
task:      {name: ct_diffusion, physics_weight: 0, sampling_steps: 1}
data:      {name: ct, path: VOLUMES, side: SIDE, xray_size: 128, global_batch_size: 1, num_threads: 1}
train:     {duration: STEPSba, eval_every: STEPSba, eval_batches: 1, log_accuracy: false, grad_clip_norm: 1.0}
optimizer: {name: adamw, lr: 1e-4, weight_decay: 0.01}
schedule:  {name: constant}
checkpoint: {every: STEPSba, keep_best: 0}
"""
SHAPES = {"tokens4096": ("32³, 4,096 tokens", 32, 2), "tokens64": ("16³, 64 tokens", 16, 4)}
STEPS = {"tokens4096": 7, "tokens64": 400}
DRAWN_STEPS = 50
DRAWN_ROUNDS = {"tokens4096": 1, "tokens64": 5}


def volumes(workspace):
    folder = workspace.folder / "volumes"
    if not folder.exists():
        phantoms = workspace.folder / "phantoms"
        workspace.paceline("data", "synth", phantoms, "--kind", "phantom", "--patients", 24, "--size", 32, "--xray-size", 128)
        workspace.paceline("data", "prepare", "ct", phantoms, folder, "--sides", "32,16", "--xray-size", 128)
    return folder


def check(workspace, shape):
    """Once, that the twin is one."""
    _, side, patch = SHAPES[shape]
    file = workspace.folder / f"{shape}.safetensors"
    if not file.exists():
        workspace.output([workspace.build / "bin" / "cascade", "write", side, patch, file], 2)
        workspace.peer("cascade.py", "check", file, side, patch)


def own_training(workspace, shape, threads):
    _, side, patch = SHAPES[shape]
    recipe = RECIPE
    for name, value in {"VOLUMES": volumes(workspace), "STEPS": STEPS[shape], "SIDE": side, "PATCH": patch}.items():
        recipe = recipe.replace(name, str(value))
    ends = [line["wall_time"] for line in workspace.train(recipe, threads=threads)]
    skip = min(100, max(1, len(ends) // 6))
    return 1 / statistics.median(b - a for a, b in zip(ends[skip:], ends[skip + 1:]))


def peer_training(workspace, shape, threads, form):
    _, side, patch = SHAPES[shape]
    return 1e3 / workspace.peer("cascade.py", "train", form, side, patch, STEPS[shape], threads=threads)["step_ms"]


def own_sampling(workspace, shape, threads):
    _, side, patch = SHAPES[shape]
    return workspace.program("cascade", "sample", side, patch, DRAWN_STEPS, DRAWN_ROUNDS[shape], threads=threads)["ms"]


def peer_sampling(workspace, shape, threads, form):
    _, side, patch = SHAPES[shape]
    return workspace.peer("cascade.py", "sample", form, side, patch, DRAWN_STEPS, DRAWN_ROUNDS[shape], threads=threads)["ms"]


def best(workspace, run, shape, threads, is_rate):
    """By the peer's faster form, eager or compiled, which is found once."""
    key = (run.__name__, shape, threads)
    if key not in workspace.settings:
        figures = {form: run(workspace, shape, threads, form) for form in ("fast", "compiled")}
        workspace.settings[key] = (max if is_rate else min)(figures, key=figures.get)
    return run(workspace, shape, threads, workspace.settings[key])


def checked(run, shape):
    """Of the peer: no figure of what is no twin."""
    def contender(workspace):
        check(workspace, shape)
        return run(workspace)
    return contender


def training(shape, threads):
    title = f"training step of a cascade, {SHAPES[shape][0]}, b1, {threads} thread{'s' * (threads > 1)}"
    must, goal = ("≥ 2.0", "≥ 4.5") if shape == "tokens4096" else ("≥ 1.3", "≥ 2.0")
    for form, beside, bounds in (("plain", "plainly", (must, goal)),
                                 ("best", "its best of eager and compile, fused and factored", ("≥ 1.0", "≥ 1.3"))):
        def peer(w, form=form):
            if form == "best":
                return best(w, peer_training, shape, threads, is_rate=True)
            return peer_training(w, shape, threads, form)
        yield Measure(f"cascade_train_{shape}_{form}_{threads}", title, "samples/s", *bounds,
                      lambda w: own_training(w, shape, threads), checked(peer, shape), beside=beside)


def sampling(shape, threads):
    title = f"{DRAWN_STEPS} DDIM steps of a cascade, {SHAPES[shape][0]}, {threads} thread{'s' * (threads > 1)}"
    for form, beside, bounds in (("plain", "plainly, X-rays encoded each step", ("≤ 0.333", "≤ 0.2")),
                                 ("caches", "plainly, X-rays encoded once", ("≤ 0.833", "≤ 0.625")),
                                 ("best", "X-rays encoded once, its best of eager and compile, fused and factored", ("", ""))):
        def peer(w, form=form):
            if form == "best":
                return best(w, peer_sampling, shape, threads, is_rate=False)
            return peer_sampling(w, shape, threads, form)
        yield Measure(f"cascade_sample_{shape}_{form}_{threads}", title, "ms", *bounds,
                      lambda w: own_sampling(w, shape, threads), checked(peer, shape), beside=beside)


MEASURES = [measure for rows in (training, sampling) for shape in SHAPES for threads in (1, 2) for measure in rows(shape, threads)]
