"""The kit's part `cascade`: a cascade from X-rays to CT volumes on a GPU, by phantoms that it makes."""

import dataclasses
import json
import pathlib
import statistics

import recipes
from parts import DETERMINISTIC, NO_TF32, TOLERANCE
from runs import largest_difference
from speed import ONE_THREAD, Peer, contend

CONE = {"source_to_isocentre_mm": 1000, "source_to_detector_mm": 1500}
TOLERANCE_DB = 0.01  # of a PSNR: 0.1 % of the error's norm

# A step's loss in half precision differs by a few percent; what is learned in 120 steps, with the same draws, by less.
LEARNING_STEPS, LAST_STEPS = 120, 40
LEARNING_TOLERANCE = 0.05

PEERS = {"PyTorch eager": [], "PyTorch eager, fast form": ["--fast"]}
COMPILED = {"torch.compile, fast form": ["--fast", "--compile"]}  # which takes a minute to compile

MEMORY_MUST, MEMORY_GOAL = 0.10, 0.05
GUIDE = ((15, 2.1), (40, 0.52), (70, 0.17))  # of each stage: GB, and samples/s of an A100
STEPS, UNTIMED_STEPS = 8, 3  # of a stage; in the first ones memory is asked for and cuDNN tries its algorithms


@dataclasses.dataclass(frozen=True)
class StepContest:
    """The first stage's training step beside the PyTorch twin's."""

    cascade: recipes.Cascade
    folder: pathlib.Path
    steps: int
    warm_up: int
    precision: str
    peers: dict
    rounds: int = 3

    def peer_words(self):
        stage = self.cascade.stages[0]
        told = {name: getattr(stage, name) for name in ("side", "patch", "dim", "depth", "heads", "batch")}
        told |= {"xray-size": self.cascade.xray_size, "xray-dim": self.cascade.xray_dim, "steps": self.steps,
                 "precision": self.precision}
        return ["cascade_step.py", *(word for name, value in told.items() for word in (f"--{name}", value))]

    def train(self, kit, steps):
        alone = dataclasses.replace(self.cascade, stages=self.cascade.stages[:1])
        return kit.train(alone.recipe(self.folder), f"train.duration={steps}ba", f"train.precision={self.precision}",
                         phase=recipes.folder_of_phase(1), **(ONE_THREAD if kit.is_cpu else {}))


def cascade(kit, rows):
    small, large = kit.folder / "small", kit.folder / "large"
    contest = StepContest(recipes.FULL_CASCADE, large, 20, 4, "bf16", PEERS | COMPILED)
    if kit.is_cpu:
        contest = StepContest(recipes.SMALL_CASCADE, small, 4, 2, "fp32", PEERS)
    peers = {name: Peer(kit, contest, options) for name, options in contest.peers.items()}  # they get warm meanwhile
    try:
        make_volumes(kit, small, 32, (32, 16), 64)
        for beams, overrides in {"parallel beams": [], "cone beams": cone_beams()}.items():
            rows.attempt(f"a small cascade in fp32, {beams}", "",
                         lambda given=(beams, overrides): equal(kit, rows, small, *given))
        rows.attempt("a small cascade in half precision", "", lambda: half_precision(kit, rows, small))
        if not kit.is_cpu:
            make_volumes(kit, large, 128, (256, 128, 64), 512)
        stage = contest.cascade.stages[0]
        title = f"{stage.side}³ stage, {contest.precision}, batch {stage.batch}"
        rows.attempt(title, "ms", lambda: contend(kit, rows, contest, title, peers))
    finally:
        for peer in peers.values():
            peer.end()
    for precision in ("bf16",) if kit.is_cpu else ("bf16", "fp16"):
        rows.attempt(f"memory of a cascade in {precision}", "",
                     lambda precision=precision: stages_of_guide(kit, rows, contest.cascade, contest.folder, precision))


def make_volumes(kit, folder, size, sides, xray_size):
    """Phantoms, of which 22 are for training; scans are resampled where the largest cube is finer."""
    scans = folder.with_name(folder.name + "-scans")
    kit.paceline("data", "synth", scans, "--kind", "phantom", "--patients", 24, "--size", size, "--xray-size", xray_size,
                 on_gpu=False)
    kit.paceline("data", "prepare", "ct", scans, folder, "--sides", ",".join(map(str, sides)), "--xray-size", xray_size,
                 "--threads", 4, on_gpu=False)


def cone_beams():
    size = recipes.SMALL_CASCADE.xray_size
    return ["data.xrays=projected", f"data.xray_size={size}",
            *(f"+{part}.{key}={value}" for key, value in CONE.items() for part in ("model", "data.geometry"))]


def equal(kit, rows, folder, beams, overrides):
    """Four steps of each stage, and evaluations that draw volumes."""
    # Of cone beams no gradients are summed in one order on a GPU.
    order = [] if overrides else [DETERMINISTIC]
    told = [recipes.SMALL_CASCADE.recipe(folder), *overrides, *order, "train.duration=4ba", "train.eval_every=4ba",
            "task.sampling_steps=5"]
    kit.train(*told, name="cpu", on_gpu=False, **({"OMP_NUM_THREADS": "2"} if kit.is_cpu else {}))
    own = kit.train(*told, phase=recipes.folder_of_phase(1), **({"OMP_NUM_THREADS": "1"} if kit.is_cpu else NO_TF32))
    for number in range(1, len(recipes.SMALL_CASCADE.stages) + 1):
        name = f"stage {number} of a small cascade in fp32, {beams}"
        own, expected = (kit.run_in(run, recipes.folder_of_phase(number)) for run in ("run", "cpu"))
        difference = largest_difference(own.losses(), expected.losses())
        rows.judge(f"{name}, {len(own.losses())} steps: difference of the loss from the CPU's", difference, "",
                   difference <= TOLERANCE, f"tolerance {TOLERANCE:g}", each=own.losses(), beside=expected.losses())
        found, wanted = (run.last("val/psnr") for run in (own, expected))
        rows.judge(f"{name}: difference of val/psnr by 5 steps of DDIM from the CPU's", abs(found - wanted), "dB",
                   abs(found - wanted) <= TOLERANCE_DB, f"{found:.4f} and {wanted:.4f} dB, tolerance {TOLERANCE_DB:g}")


def half_precision(kit, rows, folder):
    """By the same draws, so that losses can be compared."""
    steps, last = (30, 10) if kit.is_cpu else (LEARNING_STEPS, LAST_STEPS)
    alone = dataclasses.replace(recipes.SMALL_CASCADE, stages=recipes.SMALL_CASCADE.stages[:1])

    def learned(precision):
        run = kit.train(alone.recipe(folder), f"train.duration={steps}ba", "optimizer.lr=1.0e-3", f"train.precision={precision}",
                        phase=recipes.folder_of_phase(1))
        return statistics.mean(run.losses()[:10]) - statistics.mean(run.losses()[-last:])

    expected = learned("fp32")
    for precision in ("bf16",) if kit.is_cpu else ("bf16", "fp16"):
        share = learned(precision) / expected
        rows.judge(f"what the loss of a small stage falls by in {steps} steps, {precision} / fp32", share, "",
                   expected > 0 and abs(share - 1) <= LEARNING_TOLERANCE,
                   f"{expected:.4g} in fp32; tolerance {LEARNING_TOLERANCE:g}: rounding makes steps differ by a few percent")


def predicted_memory(kit, overrides, num_stages):
    """Of each stage of the recipe that ran last; on a GPU the batches lie there too."""
    told = ["info", "memory", kit.folder / "run.yaml", *overrides, "--json"]
    if not kit.is_cpu:  # whichever GPU it is: what tensors take is the same
        return json.loads(kit.paceline(*told, "--device", "h100-80gb", on_gpu=False).stdout)["phases"]
    phases = [json.loads(kit.paceline(*told, "--phase", f"stage{number}").stdout) for number in range(1, num_stages + 1)]
    return [next(row for row in phase["strategies"] if row["strategy"] == "none") for phase in phases]


def measured_memory(kit, run):
    if kit.is_cpu:
        return run.summary()["peak_memory"]["measured_bytes"]
    return max(line["memory/peak_allocated_bytes"] for line in run.steps())


def stages_of_guide(kit, rows, cascade, folder, precision):
    """All stages in turn, each a few steps from what the ones before have learned."""
    overrides = [f"train.duration={STEPS}ba", f"train.precision={precision}", "+algorithms={ema: {smoothing: 0.9999}}"]
    kit.train(cascade.recipe(folder), *overrides, phase=recipes.folder_of_phase(1))
    predicted = predicted_memory(kit, overrides, len(cascade.stages))
    for index, (stage, (guide_gb, guide_rate)) in enumerate(zip(cascade.stages, GUIDE)):
        run = kit.run_in("run", recipes.folder_of_phase(index + 1))
        name = f"stage {index + 1}, {stage.side}³, batch {stage.batch}, {precision}"
        add_memory(rows, name, measured_memory(kit, run), predicted[index], guide_gb)
        add_rate(rows, name, stage.batch, run, guide_rate)


def add_memory(rows, name, measured, predicted, guide_gb):
    ratio = measured / predicted["total"]
    goal = "" if abs(ratio - 1) <= MEMORY_GOAL else "not "
    rows.judge(f"{name}: memory measured / predicted", ratio, "", abs(ratio - 1) <= MEMORY_MUST,
               f"{measured / 1e9:.3f} GB measured, {predicted['total'] / 1e9:.3f} GB predicted: must be within "
               f"{MEMORY_MUST:.0%}, is {goal}within the goal's {MEMORY_GOAL:.0%}", predicted=predicted)
    rows.judge(f"{name}: memory", measured / 1e9, "GB", measured <= 1e9 * guide_gb, f"the guide: {guide_gb} GB")


def add_rate(rows, name, batch, run, guide_rate):
    step_ms = run.step_ms(UNTIMED_STEPS)
    wait_ms = statistics.mean(line["time/data_wait_ms"] for line in run.steps()[UNTIMED_STEPS + 1:])
    rate = 1e3 * batch / step_ms
    rows.add(f"{name}: training", rate, "samples/s", "measured",
             f"{rate / guide_rate:.3g} times the guide's {guide_rate} of an A100; {wait_ms:.0f} ms of a step's {step_ms:.0f} ms "
             "wait for data")
