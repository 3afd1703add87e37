"""The parts of the kit but for speed: each takes the kit and adds its rows."""

import json
import os
import pathlib
import shutil
import time
from xml.etree import ElementTree

import recipes
from runs import PartError, Run, kill, largest_difference, last_words

# Of the loss, relative where it is more than 1: some ten times what float32 differs from float64 on the CPU.
TOLERANCE = 3e-4
NO_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
DETERMINISTIC = "run.deterministic=true"


def several(kit):
    """As many ranks as there are GPUs, of 2, 4 and 8; 1 if there is one."""
    most = 2 if kit.is_cpu else kit.num_gpus
    return max(count for count in (1, 2, 4, 8) if count <= most)


def need_several(kit, rows, name, unit=""):
    """The ranks of a row that needs more than one; None, and the row, if there are none."""
    if several(kit) > 1:
        return several(kit)
    rows.add(name, None, unit, "not run", "there is one GPU")
    return None


def on(kit, ranks):
    what = "rank" if kit.is_cpu else "GPU"
    return f"{ranks} {what}{'s' if ranks > 1 else ''}{' on the CPU' if kit.is_cpu else ''}"


# tests

# Each in a process of its own: an error of the GPU leaves nothing to the tests after it.
TEST_GROUPS = ("CudaDevice*", "FusedSteps.*", "Nccl*", "Gpus/*", "TrainedRuns.*", "Strategies/*")


def tests(kit, rows):
    rows.attempt("the programs find their libraries", "", lambda: check_programs(kit, rows))
    if not (kit.root / "bin" / "gpu_test").exists():
        return rows.add("gpu_test", None, "", "not run", "it is not in this kit: the cuda preset builds it")
    for group in [*TEST_GROUPS, "*-" + ":".join(TEST_GROUPS)]:
        rows.attempt(f"gpu_test {group}", "", lambda group=group: run_gpu_tests(kit, rows, group))


def check_programs(kit, rows):
    told = kit.paceline("info").stdout
    is_found = "LibTorch 2.11" in told and (kit.is_cpu or "plug-in loaded" in told)
    rows.judge("the programs find their libraries", None, "", is_found, "" if is_found else " / ".join(told.splitlines()))


def run_gpu_tests(kit, rows, group):
    output = kit.folder / "gpu_test.xml"
    output.unlink(missing_ok=True)
    changes = {"PACELINE_GPU_TEST": "stand-in"} if kit.is_cpu else {}
    done = kit.call(kit.root / "bin" / "gpu_test", f"--gtest_filter={group}", f"--gtest_output=xml:{output}",
                    TORCH_FR_BUFFER_SIZE="0", **changes)
    found = list(ElementTree.parse(output).getroot().iter("testcase")) if output.exists() else []
    for test in found:
        add_test(rows, test)
    add_end(rows, group, done, bool(found))


def add_end(rows, group, done, has_tests):
    """How the program itself ended: what breaks after the last test, or before the first one, is no test's failure."""
    is_right = done.returncode == 0 and has_tests
    at_work = [line for line in done.stdout.splitlines() if line.startswith("[ RUN ")][-1:] if not has_tests else []
    why = "" if is_right else " / ".join([f"ended with {done.returncode}", *at_work, last_words(done)])
    rows.judge(f"gpu_test {group}: runs tests and ends with 0", None, "", is_right, why)


def add_test(rows, test):
    """The row of a test, and of each number that it recorded."""
    name = f"{test.get('classname')}.{test.get('name')}"
    skipped, failures = test.find("skipped"), test.findall("failure")
    if failures:
        why = " ".join(failure.get("message", "").replace("\n", " ") for failure in failures)
        rows.add(name, None, "", "failed", why[:2000])
    elif skipped is not None:
        rows.add(name, None, "", "not run", (skipped.get("message", "").strip().splitlines() or ["it gives no reason"])[-1])
    else:
        rows.add(name, None, "", "passed")
    for found in test.iter("property"):
        rows.add(f"{name}: {found.get('name').replace('_', ' ')}", float(found.get("value")), "", "measured")


# equal

def equal(kit, rows):
    for title, text in (("ResNet-18", recipes.resnet18(kit.is_cpu)), ("ViT-tiny", recipes.vit_tiny(kit.is_cpu))):
        rows.attempt(f"{title} in fp32", "", lambda title=title, text=text: equal_model(kit, rows, title, text))


def equal_model(kit, rows, title, text):
    # A trial compares two threads and one.
    expected = kit.train(text, name="cpu", on_gpu=False, **({"OMP_NUM_THREADS": "2"} if kit.is_cpu else {})).losses()
    own = {"OMP_NUM_THREADS": "1"} if kit.is_cpu else NO_TF32
    why = f"tolerance {TOLERANCE:g}"

    def compare(name, run):
        difference = largest_difference(run.losses(), expected)
        rows.judge(f"{title} in fp32, {len(expected)} steps, {name}: difference of the loss from the CPU's", difference, "",
                   difference <= TOLERANCE, why, each=run.losses(), beside=expected)

    compare(on(kit, 1), kit.train(text, DETERMINISTIC, **own))
    if title != "ViT-tiny":  # BatchNorm's statistics are of a rank's share
        return
    for strategy in ("ddp", "zero2", "fsdp"):
        ranks = need_several(kit, rows, f"{title} in fp32 under {strategy} on several GPUs")
        if ranks:
            compare(f"{strategy} on {on(kit, ranks)}",
                    kit.train(text, DETERMINISTIC, f"parallel.strategy={strategy}", ranks=ranks, **own))


# graph

def graph(kit, rows):
    for title, text in (("ResNet-18", recipes.resnet18(kit.is_cpu, 20)), ("ViT-tiny", recipes.vit_tiny(kit.is_cpu, 20))):
        rows.attempt(f"{title}, graph", "", lambda title=title, text=text: graph_model(kit, rows, title, text))
    rows.attempt("launch-bound step, graph", "ms", lambda: graph_speed(kit, rows))


def graph_model(kit, rows, title, text):
    for ranks in sorted({1, several(kit)}):
        strategy = "none" if ranks == 1 else "ddp"
        arguments = (text, DETERMINISTIC, f"parallel.strategy={strategy}")
        plain = kit.train(*arguments, name="plain", ranks=ranks)
        # Some kernels add in the order in which they come: so much two runs differ without a graph.
        noise = largest_difference(kit.train(*arguments, ranks=ranks).losses(), plain.losses())
        tolerance = max(1e-6, 5 * noise)
        recorded = kit.train(*arguments, "train.compile=graph", ranks=ranks)
        name = f"{title}, {strategy} on {on(kit, ranks)}"
        difference = largest_difference(recorded.losses(), plain.losses())
        rows.judge(f"{name}: difference of the losses of train.compile=graph from none's", difference, "", difference <= tolerance,
                   f"tolerance {tolerance:.2g}: two runs without it differ by {noise:.2g}")
        refusal = [line for line in recorded.said.splitlines() if "graph has no effect" in line]
        if kit.is_cpu:
            rows.add(f"{name}: steps are recorded", None, "", "not run", "the CPU cannot record its work")
        else:
            rows.judge(f"{name}: steps are recorded", None, "", not refusal, " ".join(refusal))


def graph_speed(kit, rows):
    text = recipes.launch_bound(kit.is_cpu)
    skip = len(kit.train(text).steps()) // 3
    for compile in ("none", "graph"):
        run = kit.train(text, f"train.compile={compile}", "train.log_accuracy=false")
        rows.add(f"launch-bound step (ViT dim 64, 12 layers, batch 1), train.compile={compile}", run.step_ms(skip), "ms",
                 "measured")


# resume

def resume(kit, rows):
    for ranks in sorted({1, several(kit)}):
        strategy = "none" if ranks == 1 else "fsdp"
        name = f"killed and resumed, ViT-tiny, {strategy} on {on(kit, ranks)}"
        rows.attempt(name, "", lambda *given, ranks=ranks, strategy=strategy, name=name: resume_run(
            kit, rows, name, ranks, strategy))


def await_step(run, step, process, kit):
    """Returns when the run has done so many steps."""
    while True:
        kit.remaining_s()
        if (run.path / "metrics.jsonl").exists() and len(run.steps()) >= step:
            return
        if process.poll() is not None:
            raise PartError(f"it ended with {process.returncode} before it could be killed")
        time.sleep(0.05)


def resume_run(kit, rows, name, ranks, strategy):
    steps, every = (40, 5) if kit.is_cpu else (600, 50)  # a GPU does a hundred in a second
    text = recipes.vit_tiny(kit.is_cpu, steps)
    overrides = [DETERMINISTIC, f"parallel.strategy={strategy}", f"checkpoint.every={every}ba"]
    whole = kit.train(text, *overrides, name="whole", ranks=ranks)
    run = Run(kit.folder / "killed")
    shutil.rmtree(run.path, ignore_errors=True)
    process = kit.start_training(text, *overrides, name="killed", ranks=ranks)
    try:
        await_step(run, 2 * every + 2, process, kit)
    finally:
        kill(process)
    done = len(run.steps())
    kit.paceline(*kit.train_arguments(text, overrides, "killed", ranks), "--resume", "auto")
    if done >= steps:
        raise PartError("it had ended before it was killed: nothing was resumed")
    losses = {line["step"]: line["train/loss"] for line in run.steps()}
    expected = {line["step"]: line["train/loss"] for line in whole.steps()}
    other = [step for step in expected if losses.get(step) != expected[step]]
    rows.judge(f"{name} after step {done} of {steps}: losses that differ", len(other), "", not other)
    own, whole_state = run.tensor_digests(), whole.tensor_digests()
    differing = [key for key in whole_state if own.get(key) != whole_state[key]]
    rows.judge(f"{name}: tensors of the last checkpoint that differ", len(differing), "", not differing and bool(whole_state),
               f"of {len(whole_state)}")
    if ranks == 1:
        more = kit.train_arguments(text, [*overrides, f"train.duration={steps + 2}ba"], "killed", 1)
        kit.paceline(*more, "--resume", "auto", on_gpu=False)
        rows.judge("a run of the GPU goes on on the CPU" if not kit.is_cpu else "a run goes on for longer",
                   len(run.steps()), "steps", len(run.steps()) == steps + 2)


# pinned

def pinned(kit, rows):
    rows.attempt("share of a step that waits for images made in memory", "", lambda: pinned_synthetic(kit, rows))
    rows.attempt("share of a step that waits for JPEGs", "", lambda: pinned_jpegs(kit, rows))


def add_data_wait(rows, name, run, most):
    speed = run.summary()["speed"]
    why = f"at {speed['images_per_s']:.0f} img/s with {os.cpu_count()} cores" + (f", at most {most:g}" if most else "")
    if most:
        rows.judge(name, speed["data_wait_share"], "", speed["data_wait_share"] <= most, why)
    else:
        rows.add(name, speed["data_wait_share"], "", "measured", why)


def pinned_synthetic(kit, rows):
    if kit.is_cpu:
        text, overrides = recipes.resnet18(True, 20), []
    else:
        text, overrides = recipes.recipe("resnet50", 224, 64, 100, recipes.SGD), ["train.precision=bf16"]
    run = kit.train(text, "train.log_accuracy=false", *overrides)
    add_data_wait(rows, "share of a step that waits for images made in memory", run, 0.05 if not kit.is_cpu else None)


def pinned_jpegs(kit, rows):
    size = ["--train-per-class", 40] if kit.is_cpu else ["--train-per-class", 200, "--like", "imagenet"]
    data = kit.folder / "images"
    kit.paceline("data", "synth", data, "--classes", 10, "--val-per-class", 2, *size)
    text = recipes.resnet18(kit.is_cpu, 20) if kit.is_cpu else recipes.recipe("resnet50", 224, 64, 60, recipes.SGD)
    lines = [line for line in text.splitlines() if "global_batch_size" not in line]
    size = 32 if kit.is_cpu else 224
    lines = [f"data: {{name: image_folder, path: {data}, image_size: {size}, global_batch_size: 32}}"
             if line.startswith("data:") else line for line in lines]
    run = kit.train("\n".join(lines), "train.log_accuracy=false", *([] if kit.is_cpu else ["train.precision=bf16"]))
    add_data_wait(rows, "share of a step that waits for JPEGs", run, None)


# memory

def memory(kit, rows):
    ranks = several(kit)
    strategies = ("ddp", "fsdp") if kit.is_cpu else ("ddp", "zero1", "zero2", "fsdp")
    for strategy in ("none",) if ranks == 1 else strategies:
        for checkpointing in ("null",) if kit.is_cpu else ("null", "{every: 1}"):
            name = (f"memory of a rank, {strategy} on {on(kit, ranks)}"
                    f"{', activation checkpointing' if checkpointing != 'null' else ''}: measured / predicted")
            rows.attempt(name, "", lambda given=(name, ranks, strategy, checkpointing): memory_of(kit, rows, *given))
    if ranks == 1:
        name = "memory of a rank, fsdp on 1 GPU: measured / predicted"
        rows.attempt(name, "", lambda: memory_of(kit, rows, name, 1, "fsdp", "null"))


def memory_of(kit, rows, name, ranks, strategy, checkpointing):
    if kit.is_cpu:
        text = recipes.recipe("vit_tiny_patch16_224", 224, 4 * ranks, 3, recipes.ADAMW)
    else:
        text = recipes.recipe("vit_base_patch32_224", 224, 64 * ranks, 10, recipes.ADAMW)
    overrides = [f"parallel.strategy={strategy}", f"train.activation_checkpointing={checkpointing}"]
    run = kit.train(text, *overrides, ranks=ranks)
    recipe = kit.folder / "run.yaml"
    told = json.loads(kit.paceline("info", "memory", recipe, *overrides, "--nproc", ranks, "--json", on_gpu=False).stdout)
    row = next(row for row in told["strategies"] if row["strategy"] == strategy)
    if kit.is_cpu:
        predicted, measured = row["total"], run.summary()["peak_memory"]["measured_bytes"]
    else:  # whose loader's batches lie in the host's memory
        predicted = row["total"] - row["input"]
        measured = max(line["memory/peak_allocated_bytes"] for line in run.steps())
    ratio = measured / predicted
    rows.judge(name, ratio, "", 0.75 <= ratio <= 1.25,
               f"{measured / 2**20:.0f} MiB measured, {predicted / 2**20:.0f} MiB predicted, from 0.75 to 1.25", predicted=row)


# sanitizer

# Without what counts memory that is cached, and without graphs: under the sanitizer each tensor is an allocation.
CHECKED = ("--gtest_filter=CudaDeviceTest.*:FusedSteps.*:*Steps.OfOneGpu*"
           "-*Replayed*:*Recorded*:*CountsItsMemory*:*Snapshot*")


def find_sanitizer():
    found = shutil.which("compute-sanitizer")
    usual = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "compute-sanitizer"
    return found or (str(usual) if usual.exists() else None)


def sanitizer(kit, rows):
    sanitizer = find_sanitizer()
    gpu_test = kit.root / "bin" / "gpu_test"
    text = recipes.recipe(recipes.SMALL_VIT, 32, 8, 3, recipes.ADAMW)
    runs = [("memcheck", "gpu_test", [gpu_test, CHECKED]),
            ("synccheck", "gpu_test", [gpu_test, "--gtest_filter=FusedSteps.*"]),
            ("memcheck", "three steps", [kit.program, *kit.train_arguments(text, [], "checked", 1)])]
    for tool, what, command in runs:
        name = f"compute-sanitizer, {tool}, {what}: errors"
        if kit.is_cpu or sanitizer is None:
            why = "there is no GPU" if kit.is_cpu else "compute-sanitizer of the CUDA toolkit is not installed"
            rows.add(name, None, "", "not run", why)
            continue
        rows.attempt(name, "", lambda given=(name, tool, command): sanitize(kit, rows, sanitizer, *given))


def sanitize(kit, rows, sanitizer, name, tool, command):
    shutil.rmtree(kit.folder / "checked", ignore_errors=True)
    done = kit.call(sanitizer, "--tool", tool, "--target-processes", "all", "--error-exitcode", "99", *command,
                    PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    summaries = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR SUMMARY" in line]
    is_clean = done.returncode == 0 and bool(summaries) and all(" 0 errors" in line for line in summaries)
    rows.judge(name, None, "", is_clean, "" if is_clean else f"ended with {done.returncode}: {' / '.join(summaries)[:500]}")
