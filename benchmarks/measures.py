"""What is measured: each Measure makes its contenders, functions that do the work once and return a figure."""

import concurrent.futures
import functools
import json
import os
import resource
import shutil
import statistics
import time
import traceback

import algorithm_measures
import cascade_measures
import hidden_communication
import loader_measures
import predict_measures
from workspace import Measure, MeasureError, steps_of


def step_ms(steps, skip):
    """Median time from the end of one step to the end of the next, in milliseconds."""
    times = [line["wall_time"] for line in steps][skip:]
    return 1e3 * statistics.median(b - a for a, b in zip(times, times[1:]))


def with_peak_memory(work):
    """Runs work in a child of its own, so that its children's peak memory can be told; in MiB."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            os.write(writer, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    peak = os.read(reader, 64)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise MeasureError("the process whose memory was to be measured failed")
    return int(peak) / 1024


# Process start to the end of the first step: ResNet-18, 8 JPEG images of 64 pixels a rank.

START_UP = """
model:     {name: resnet18, num_classes: 10}
data:      {name: image_folder, path: DATA, image_size: 64, batch_size_per_rank: 8}
train:     {duration: 1ba, eval_batches: 1}
optimizer: {name: sgd, lr: 0.1}
schedule:  {name: constant}
checkpoint: {keep_best: 0}
"""


def own_start_up(workspace, ranks):
    begin = time.time()
    steps = workspace.train(START_UP, ranks=ranks, threads=2 // ranks)
    return steps[0]["wall_time"] - begin


def peer_start_up(workspace, ranks):
    begin = time.time()
    done = workspace.peer("first_step.py", workspace.folder / "shapes", ranks=ranks, threads=2 // ranks)
    return done["time"] - begin


# Launch-bound: a ViT of width 64, 12 layers, 16 patches, batch 1, one thread.

LAUNCH_BOUND = """
model:     {name: vit, num_classes: 10, img_size: 32, patch_size: 8, embed_dim: 64, depth: 12, num_heads: 4}
data:      {name: synthetic, num_samples: 100000, num_val_samples: 1, num_classes: 10, size: 32,
            global_batch_size: 1, num_threads: 1}
train:     {duration: 600ba, log_accuracy: false, eval_every: 600ba}
optimizer: {name: sgd, lr: 0.01}
schedule:  {name: constant}
checkpoint: {every: 600ba, keep_best: 0}
"""



def own_launch_bound(workspace):
    return step_ms(workspace.train(LAUNCH_BOUND, threads=1), skip=100)


def peer_launch_bound(workspace, *options):
    return workspace.peer("loop.py", "--model", "vit64", "--size", 32, "--batch", 1, "--steps", 600, *options,
                          threads=1)["step_ms"]


def own_added_by_trainer(workspace):
    """The trainer's step less the mean of the bare loops before and after it in the same process; the median of all."""
    runs = workspace.folder / "overhead"
    shutil.rmtree(runs, ignore_errors=True)
    bare = workspace.program("trainer_overhead", workspace.write_recipe(LAUNCH_BOUND), runs, 5, 600)["bare_ms"]
    return statistics.median(step_ms(steps_of(runs / str(number)), skip=100) - statistics.mean(around)
                             for number, around in enumerate(zip(bare, bare[1:])))


# Compute-bound: channels-last float32, two threads.

COMPUTE_BOUND = """
model:     {name: MODEL, num_classes: 10}
data:      {name: synthetic, num_samples: 4096, num_val_samples: 1, num_classes: 10, size: SIZE,
            global_batch_size: 16, num_threads: 1}
train:     {duration: 12ba, log_accuracy: false, eval_every: 12ba}
optimizer: {name: sgd, lr: 0.01}
schedule:  {name: constant}
checkpoint: {every: 12ba, keep_best: 0}
"""


def own_compute(workspace, model, size):
    steps = workspace.train(COMPUTE_BOUND.replace("MODEL", model).replace("SIZE", str(size)))
    return 16e3 / step_ms(steps, skip=2)


def peer_compute(workspace, model, size):
    done = workspace.peer("loop.py", "--model", model, "--size", size, "--batch", 16, "--steps", 12, "--channels-last")
    return 16e3 / done["step_ms"]


# A model of each family, 224 px, float32, two threads; the peer is timm's or torchvision's in its fastest form.

FAMILIES = ("resnet50d", "resnext50_32x4d", "convnext_tiny", "convnextv2_atto", "mobilenet_v3_small", "efficientnet_b0",
            "vit_tiny_patch16_224", "vit_base_patch32_224")
FORMS = ((), ("--channels-last",), ("--compile",), ("--compile", "--channels-last"))
FAMILY_STEPS = {1: 24, 8: 10}  # by batch


def own_family(workspace, model, batch):
    text = COMPUTE_BOUND.replace("MODEL", model).replace("SIZE", "224").replace("batch_size: 16", f"batch_size: {batch}")
    steps = FAMILY_STEPS[batch]
    return step_ms(workspace.train(text.replace("12ba", f"{steps}ba")), skip=steps // 6)


def peer_family_in(workspace, form, model, batch):
    return workspace.peer("loop.py", "--model", model, "--size", 224, "--batch", batch, "--steps",
                          FAMILY_STEPS[batch], *form)["step_ms"]


@functools.cache
def fastest_form(workspace, model, batch):
    return min(FORMS, key=lambda form: peer_family_in(workspace, form, model, batch))


def peer_family(workspace, model, batch):
    return peer_family_in(workspace, fastest_form(workspace, model, batch), model, batch)


# DDP: what synchronisation adds to a step of two ranks of one thread; ResNet-18, 64 px, 16 a rank.

DDP = COMPUTE_BOUND.replace("MODEL", "resnet18").replace("SIZE", "64").replace(
    "global_batch_size: 16", "batch_size_per_rank: 16").replace("12ba", "40ba")


def alone_ms(workspace, text):
    """The mean step of two independent processes of one thread at the same time."""
    recipe = workspace.write_recipe(text)

    def train_alone(number):
        directory = workspace.folder / f"alone-{number}"
        shutil.rmtree(directory, ignore_errors=True)
        workspace.paceline("train", recipe, "--run-dir", directory, threads=1)
        return step_ms(steps_of(directory), skip=5)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return statistics.mean(pool.map(train_alone, range(2)))


def own_ddp_overhead(workspace):
    return step_ms(workspace.train(DDP, ranks=2, threads=1), skip=5) - alone_ms(workspace, DDP)


def peer_ddp_overhead(workspace):
    done = workspace.peer("ddp.py", ranks=2, threads=1)
    return done["step_ms"] - done["no_sync_ms"]


# Scaling: ResNet-18, 224 px, 16 images a rank; two ranks of one thread beside two independent processes.

SCALING = COMPUTE_BOUND.replace("MODEL", "resnet18").replace("SIZE", "224").replace(
    "global_batch_size: 16", "batch_size_per_rank: 16")


def scaling(workspace, figure):
    recipe = workspace.write_recipe(SCALING)
    return workspace.once("scaling", figure, lambda: json.loads(workspace.paceline(
        "bench", "scaling", recipe, "--nproc", 2, "--steps", 7, "--json", threads=1))["rows"][0])


# FSDP: two ranks of one thread, 224 px, AdamW.

FSDP = """
model:     {name: MODEL, num_classes: 10}
data:      {name: synthetic, num_samples: 4096, num_val_samples: 2, num_classes: 10, size: 224,
            batch_size_per_rank: BATCH, num_threads: 1}
train:     {duration: 12ba, log_accuracy: false, eval_every: 12ba}
optimizer: {name: adamw, lr: 0.001}
schedule:  {name: constant}
parallel:  {strategy: fsdp}
checkpoint: {every: 12ba, keep_best: 0}
"""


def own_fsdp(workspace, model, batch):
    recipe = FSDP.replace("MODEL", model).replace("BATCH", str(batch))
    return step_ms(workspace.train(recipe, ranks=2, threads=1), skip=3)


def peer_fsdp(workspace, model, batch):
    return workspace.peer("fsdp.py", model, batch, 12, ranks=2, threads=1)["step_ms"]


def fsdp_memory(workspace, model, batch, figure):
    """The peak of a rank's tensors in training, and what paceline predicts of it, in MiB."""
    def run():
        workspace.train(FSDP.replace("MODEL", model).replace("BATCH", str(batch)), ranks=2, threads=1)
        told = json.loads((workspace.folder / "run" / "summary.json").read_text())["peak_memory"]
        return {name: size / 2**20 for name, size in told.items()}

    return workspace.once(f"memory of {model}", figure, run)


# What a strategy costs on one rank, where it has nothing to do.

def own_wrapped(workspace, strategy):
    return step_ms(workspace.train(LAUNCH_BOUND, f"parallel.strategy={strategy}", threads=1), skip=100)


# Checkpoints: the state of ViT-B/32 under AdamW, 1.06 GB, two threads. The first round is not counted: it may wait
# for its memory.

CHECKPOINT_ROUNDS = 4


def own_checkpoint(workspace, mode):
    return workspace.program("checkpoint_save", mode, workspace.folder / "checkpoints", CHECKPOINT_ROUNDS, threads=2)


def own_checkpoint_ms(workspace, mode):
    return statistics.median(own_checkpoint(workspace, mode)["ms"][1:])


def peer_checkpoint_ms(workspace, mode):
    done = workspace.peer("checkpoint.py", mode, workspace.folder / "peer", CHECKPOINT_ROUNDS)
    return statistics.median(done["ms"][1:])


# Weights: those of ViT-B/32, 353 MB in a file of torch.save that lies in the page cache; the first round is not counted.

def weight_file(workspace):
    path = workspace.folder / "weights.pth"
    if not path.exists():
        workspace.output([workspace.build / "bin" / "weight_load", "write", path], 2)
    return path


def own_weight_load(workspace):
    done = workspace.program("weight_load", "load", weight_file(workspace), CHECKPOINT_ROUNDS, threads=2)
    return statistics.median(done["ms"][1:])


def peer_weight_load(workspace, mode):
    done = workspace.peer("weight_load.py", mode, weight_file(workspace), CHECKPOINT_ROUNDS)
    return statistics.median(done["ms"][1:])


# An optimizer's step, beside the peer's fastest form of it, of those that it has on a CPU.

OPTIMIZERS = {"sgd": "fused", "adam": "fused", "adamw": "fused", "nadam": "foreach", "nadamw": "foreach", "radam": "foreach",
              "rmsprop": "foreach", "rmsprop_tf": "foreach", "lion": "foreach", "lamb": "foreach", "muon": "plain"}


def own_optimizer(workspace, name):
    return workspace.program("optimizer_step", name, 60, threads=2)["ms"]


def peer_optimizer(workspace, name, form):
    forms = {form, "plain"} if form == "plain" else {form, "foreach", "plain"}
    return min(workspace.peer("optimizer_step.py", name, each, 30)["ms"] for each in forms)


# An augmentation of an image of 224 pixels in memory, on one thread: the mean over 500 draws of the best of some tries.

AUGMENTATIONS = (("rand_augment", "rand_augment(2, 9)"), ("augmix", "augmix"), ("gaussian_blur", "gaussian_blur(9)"),
                 ("perspective", "random_perspective"))
AUGMENTATION_TRIES = 5


FSDP_MODELS = (("tiny", "vit_tiny_patch16_224", 8), ("base", "vit_base_patch32_224", 2))

MEASURES = [
    Measure("startup", "process start to end of first step", "s", "≤ 0.25", "≤ 0.167",
            lambda w: own_start_up(w, 1), lambda w: peer_start_up(w, 1)),
    Measure("startup2", "the same over two launched ranks, DDP", "s", "≤ 0.2", "≤ 0.125",
            lambda w: own_start_up(w, 2), lambda w: peer_start_up(w, 2)),
    Measure("memory", "peak resident memory of that process", "MiB", "≤ 0.5", "≤ 0.4",
            lambda w: with_peak_memory(lambda: own_start_up(w, 1)),
            lambda w: with_peak_memory(lambda: peer_start_up(w, 1))),
    Measure("launch_bound", "launch-bound step (ViT dim 64, 12 layers, batch 1)", "ms", "≤ 0.77", "",
            own_launch_bound, peer_launch_bound, beside="eager Python"),
    Measure("launch_bound_compiled", "launch-bound step (ViT dim 64, 12 layers, batch 1)", "ms", "", "≤ 0.77",
            own_launch_bound, lambda w: peer_launch_bound(w, "--compile"), beside="torch.compile"),
    Measure("trainer", "what the trainer adds to a bare loop of that step", "ms", "≤ 0.05 ms", "≤ 0.02 ms",
            own_added_by_trainer, lambda w: w.peer("lightning_loop.py", 600, threads=1)["added_ms"],
            beside="Lightning, barebones"),
    Measure("resnet18", "compute-bound step, ResNet-18 224 px b16", "img/s", "≥ 1.0", "≥ 1.15",
            lambda w: own_compute(w, "resnet18", 224), lambda w: peer_compute(w, "resnet18", 224)),
    Measure("resnet50", "compute-bound step, ResNet-50 128 px b16", "img/s", "≥ 1.0", "≥ 1.15",
            lambda w: own_compute(w, "resnet50", 128), lambda w: peer_compute(w, "resnet50", 128)),
    *[Measure(f"family_{model}_b{batch}", f"step of {model}, 224 px b{batch}, two threads", "ms", "≤ 1.0",
              "≤ 0.8" if batch == 1 else "", lambda w, model=model, batch=batch: own_family(w, model, batch),
              lambda w, model=model, batch=batch: peer_family(w, model, batch), beside="its best of eager and compile")
      for model in FAMILIES for batch in (8, 1)],
    Measure("ddp", "DDP overhead, two ranks of one thread, ResNet-18 64 px b16", "ms", "≤ 1.0", "≤ 0.6",
            own_ddp_overhead, peer_ddp_overhead),
    Measure("scaling", "two ranks of one thread, ResNet-18 224 px b16", "img/s", "≥ 0.90", "≥ 0.97",
            lambda w: scaling(w, "samples_per_s"), lambda w: scaling(w, "ceiling_samples_per_s"),
            beside="two independent processes", is_contest=False),
    Measure("exposed", "communication not hidden by backward, two hosts, 1 Gbit/s, ResNet-18 224 px b16", "ms", "≤ 0.20",
            "≤ 0.08", lambda w: hidden_communication.exposed_ms(w, steps_of),
            lambda w: hidden_communication.wire_ms(w, steps_of), beside="all of it", is_contest=False),
    *[Measure(f"optimizer_{name}", f"step of {name} over ResNet-50's 25.6 million parameters, two threads", "ms",
              "≤ 0.7" if name in ("sgd", "adamw", "lion") else "≤ 1.0", "≤ 0.5",
              lambda w, name=name: own_optimizer(w, name),
              lambda w, name=name, form=form: peer_optimizer(w, name, form), beside="its fastest of fused, foreach and plain")
      for name, form in OPTIMIZERS.items()],
    *[Measure(f"augment_{name}", f"{operation} of an image of 224 pixels", "us", "≤ 0.25", "≤ 0.125",
              lambda w, operation=operation: w.program("image_ops", AUGMENTATION_TRIES, operation)["us"],
              lambda w, name=name: w.peer("augment.py", name, AUGMENTATION_TRIES, threads=1)["us"], beside="torchvision with Pillow")
      for name, operation in AUGMENTATIONS],
    *[Measure(f"all_reduce{mib}", f"all_reduce of {mib} MiB between two local ranks", "ms", "≤ 0.5", "≤ 0.25",
              lambda w, mib=mib: w.program("all_reduce", mib, 30, ranks=2)["ms"],
              lambda w, mib=mib: w.peer("all_reduce.py", mib, 30, ranks=2, threads=1)["ms"], beside="Gloo")
      for mib in (1, 16, 64)],
    *[Measure(f"fsdp_{size}", f"FSDP step, {model} b{batch}, two ranks of one thread", "ms", "≤ 1.0", "≤ 0.77",
              lambda w, model=model, batch=batch: own_fsdp(w, model, batch),
              lambda w, model=model, batch=batch: peer_fsdp(w, model, batch), beside="fully_shard")
      for size, model, batch in FSDP_MODELS],
    *[Measure(f"fsdp_memory_{size}", f"FSDP peak of a rank's tensors, {model} b{batch}, two ranks", "MiB", "≤ 1.25", "≤ 1.10",
              lambda w, model=model, batch=batch: fsdp_memory(w, model, batch, "measured_bytes"),
              lambda w, model=model, batch=batch: fsdp_memory(w, model, batch, "predicted_bytes"),
              beside="state + transient + activations by formula", is_contest=False)
      for size, model, batch in FSDP_MODELS],
    *[Measure(f"{strategy}_alone", f"{strategy} on one rank, the launch-bound step", "ms", "≤ 1.03", "≤ 1.01",
              lambda w, strategy=strategy: own_wrapped(w, strategy), own_launch_bound, beside="strategy none", is_contest=False)
      for strategy in ("ddp", "fsdp")],
    *loader_measures.MEASURES,
    *predict_measures.MEASURES,
    *algorithm_measures.MEASURES,
    *cascade_measures.MEASURES,
    *[Measure(name, "what a step waits for a checkpoint of 1.06 GB", "ms", must, goal, lambda w: own_checkpoint_ms(w, "stall"),
              lambda w, mode=mode: peer_checkpoint_ms(w, mode), beside=beside)
      for name, mode, must, goal, beside in (
          ("checkpoint_stall", "async_save", "≤ 0.2", "≤ 0.05", "dcp.async_save, its staging memory kept"),
          ("checkpoint_stall_save", "save", "", "", "torch.save"))],
    Measure("checkpoint_write", "writing it", "GB/s", "≥ 0.8", "≥ 0.95", lambda w: own_checkpoint(w, "write")["gb_per_s"],
            lambda w: own_checkpoint(w, "raw")["gb_per_s"], beside="write and fsync of as many bytes", is_contest=False),
    *[Measure(name, f"loading it into model and optimizer, verified, from the page cache{what}", "ms", must, goal,
              lambda w, mode=mode: own_checkpoint_ms(w, mode), lambda w, mode=mode: peer_checkpoint_ms(w, mode), beside=beside)
      for name, mode, what, must, goal, beside in (
          ("checkpoint_load", "load", "", "≤ 0.5", "≤ 0.1",
           "torch.load(mmap, weights_only), assign: not verified, read at first use"),
          ("checkpoint_use", "use", ", and one pass over it in place, as the next step makes", "", "",
           "torch.load(weights_only), assign, not verified, by mmap or not, whichever is faster"))],
    *[Measure(name, "reading a .pth of 353 MB into a model", "ms", must, goal, own_weight_load,
              lambda w, mode=mode: peer_weight_load(w, mode), beside=beside)
      for name, mode, must, goal, beside in (
          ("weight_load", "read", "≤ 0.5", "≤ 0.2", "torch.load(weights_only), load_state_dict"),
          ("weight_load_mmap", "mmap", "", "", "torch.load(weights_only, mmap), load_state_dict"))],
]
