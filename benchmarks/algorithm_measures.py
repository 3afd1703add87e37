"""What methods add to a step, beside Composer's: ResNet-18, 64 px, 16 images, float32, one thread.

Both sides have their steps without and with a method in turn: paceline by `paceline bench step --toggle`, Composer in
its Trainer, by peers/composer_step.py. A step of this network takes more than 100 ms and varies by more than what most
methods add, which hangs on the batch or on the weights alone. So what is done to batches is measured with a network of
few layers, and what is done to weights with ResNet-18 and one image a step.

PACELINE_COMPOSER names a Python that imports Composer; as that wants another torch than the other peers, it has a
virtual environment of its own:

    python3.11 -m venv DIR && DIR/bin/pip install -r deps/composer.txt
    PACELINE_COMPOSER=DIR/bin/python ./dev bench --peers algorithms
"""

import dataclasses
import json
import os
import statistics

from workspace import PEERS, Measure

RECIPE = """
model:     MODEL
data:      {name: synthetic, num_samples: 4096, num_val_samples: 1, num_classes: 10, size: SIZE,
            global_batch_size: BATCH, num_threads: 1}
train:     {duration: 12ba, eval_every: 12ba, log_accuracy: false}
optimizer: {name: sgd, lr: 0.01}
schedule:  {name: constant}
checkpoint: {every: 12ba, keep_best: 0}
"""
MODELS = {name: f"{{name: {name}, num_classes: 10}}" for name in ("resnet18", "resnet50")} | {
    "few_layers": "{name: resnet, layers: [1, 1, 1, 1], width: 8, num_classes: 10}"}
SIZE, BATCH = 64, 16
COLOUT_LEAVES = 54


def recipe_of(model, size, batch):
    return RECIPE.replace("MODEL", MODELS[model]).replace("SIZE", str(size)).replace("BATCH", str(batch))


@dataclasses.dataclass(frozen=True)
class Method:
    """A method and how it is switched on; `steps` are those of a run that count, after `warm_up` ones."""

    name: str
    title: str
    toggles: tuple
    steps: int = 3
    warm_up: int = 1
    model: str = "resnet18"
    batch: int = BATCH
    size: int = SIZE  # without the method
    takes_mean: bool = False  # of steps that do not do the same

    def own(self, workspace):
        """Milliseconds of runs without, with, with and without it."""
        recipe = workspace.write_recipe(recipe_of(self.model, self.size, self.batch))
        toggles = [word for toggle in self.toggles for word in ("--toggle", toggle)]
        median = [] if self.takes_mean else ["--median"]
        told = json.loads(workspace.paceline("bench", "step", recipe, *toggles, *median, "--rounds", 1, "--steps", self.steps,
                                             "--warm-up", self.warm_up, "--json", threads=1))
        return told["rounds"][0]["ms"]

    def composer(self, workspace):
        """The same of Composer's."""
        question = {"method": self.name, "model": self.model, "size": SIZE, "batch": self.batch, "steps": self.steps,
                    "warm_up": self.warm_up, "mean": self.takes_mean}
        return workspace.ask(os.environ["PACELINE_COMPOSER"], PEERS / "composer_step.py", question)["ms"]


def figures(ms):
    first, second, third, fourth = ms
    return {"added": (second + third - first - fourth) / 2, "times": (second + third) / (first + fourth)}


def own(workspace, method, figure):
    return figures(method.own(workspace))[figure]


def composer(workspace, method, figure):
    return figures(method.composer(workspace))[figure]


def plain_step_ms(workspace):
    """Of ResNet-18 and 16 images, measured once."""
    if "plain step" not in workspace.settings:
        steps = workspace.train(recipe_of("resnet18", SIZE, BATCH), threads=1)
        ends = [line["wall_time"] for line in steps][2:]
        workspace.settings["plain step"] = 1e3 * statistics.median(b - a for a, b in zip(ends, ends[1:]))
    return workspace.settings["plain step"]


def of_batches(name, title, *toggles, **others):
    return Method(name, title, toggles, steps=60, warm_up=10, model="few_layers", **others)


def of_weights(name, title, *toggles):
    return Method(name, title, toggles, steps=12, warm_up=4, batch=1)


BATCHES = [
    of_batches("mixup", "mixup", "+algorithms.mixup"),
    of_batches("cutmix", "cutmix", "+algorithms.cutmix"),
    of_batches("label_smoothing", "label smoothing", "loss.label_smoothing=0.1"),
    of_batches("cutout", "cutout", "+algorithms.cutout"),
    of_batches("colout", f"colout, without it {COLOUT_LEAVES} px", "+algorithms.colout", f"data.size={SIZE}",
               size=COLOUT_LEAVES),
]
CLIPPING = [
    of_weights("clip_norm", "clipping the norm of gradients", "train.grad_clip_norm=0.01"),
    of_weights("clip_adaptive", "adaptive clipping", "train.grad_clip_adaptive={threshold: 0.01}"),
]
AVERAGES = [
    of_weights("ema", "ema in every step", "+algorithms.ema"),
    of_weights("swa", "swa's update in every step", "+algorithms.swa", "algorithms.swa.start=0dur",
               "algorithms.swa.end=1dur", "algorithms.swa.interval=1ba"),
]
# What may make a step longer or shorter. Composer has stochastic depth for bottlenecks alone, and what it leaves out is
# drawn for each step.
WHOLE_STEPS = [
    Method("blurpool", "blurpool", ("+algorithms.blurpool",)),
    Method("squeeze_excite", "squeeze_excite", ("+algorithms.squeeze_excite",)),
    Method("factorize", "factorize", ("+algorithms.factorize",)),
    Method("ghost_batchnorm", "ghost_batchnorm in parts of 8",
           ("+algorithms.ghost_batchnorm", "algorithms.ghost_batchnorm.ghost_batch_size=8")),
    Method("stochastic_depth", "stochastic_depth", ("+algorithms.stochastic_depth",), steps=6, model="resnet50",
           batch=4, takes_mean=True),
    Method("selective_backprop", "selective_backprop in every step",
           ("+algorithms.selective_backprop", "algorithms.selective_backprop.start=0", "algorithms.selective_backprop.end=1",
            "algorithms.selective_backprop.interrupt=0")),
    Method("sam", "sam in every step", ("+algorithms.sam",)),
]
TO_16_IMAGES = "added to a step of 16 images of 64 px by"
TO_WEIGHTS = "added to a step of ResNet-18's weights by"
WITH = "64 px, one thread: a step of {} b{} with"
NETWORKS = {"resnet18": "ResNet-18", "resnet50": "ResNet-50"}


def measure(method, title, unit, figure, must, goal, **others):
    return Measure(f"algorithms_{method.name}", f"{title} {method.title}", unit, must, goal,
                   lambda w: own(w, method, figure), lambda w: composer(w, method, figure), beside="Composer",
                   needs="PACELINE_COMPOSER", **others)


MEASURES = [
    *[measure(method, TO_16_IMAGES, "ms", "added", "≤ 0.333", "≤ 0.2", share="≤ 0.01", whole=plain_step_ms)
      for method in BATCHES],
    *[measure(method, TO_WEIGHTS, "ms", "added", "≤ 0.333", "≤ 0.2") for method in CLIPPING],
    *[measure(method, TO_WEIGHTS, "ms", "added", "≤ 0.2", "") for method in AVERAGES],
    *[measure(method, WITH.format(NETWORKS[method.model], method.batch), "plain steps", "times", "≤ 1.0", "≤ 0.8")
      for method in WHOLE_STEPS],
]
