"""The published recipes: their figures are their sources', which the scripts in tests/golden/recipes have computed."""

import json
import pathlib
import re
import shutil
import unittest

from paceline_process import RunTest, checkpoint_tensors, checkpoints, paceline

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECIPES = SOURCE / "recipes"
GOLDEN = SOURCE / "tests" / "golden" / "recipes"
OWN = {"ct-cascade", "ct-phantoms", "demo", "digits-fast", "resnet50-imagenet", "vit-cifar10"}  # published by nobody

# What the scripts call it, and where it stands in a recipe.
KEYS = {
    "optimizer": "optimizer.name", "momentum": "optimizer.momentum", "nesterov": "optimizer.nesterov",
    "weight_decay": "optimizer.weight_decay",
    "label_smoothing": "loss.label_smoothing", "bce_threshold": "loss.target_threshold", "bce_sum": "loss.sum_classes",
    "mixup": "algorithms.mixup.alpha", "cutmix": "algorithms.cutmix.alpha", "sam_rho": "algorithms.sam.rho",
    "sam_interval": "algorithms.sam.interval", "ema_half_life": "algorithms.ema.half_life",
    "ema_interval": "algorithms.ema.update_interval", "drop_path": "model.drop_path_rate",
    "clip_norm": "train.grad_clip_norm", "precision": "train.precision",
    "lookahead_decay": "algorithms.lookahead.decay",
    "colout_rows": "algorithms.colout.p_row", "colout_columns": "algorithms.colout.p_col",
    "stochastic_depth": "algorithms.stochastic_depth.drop_rate",
    "stochastic_method": "algorithms.stochastic_depth.method",
    "stochastic_distribution": "algorithms.stochastic_depth.distribution",
    "blur_first": "algorithms.blurpool.blur_first", "blur_maxpools": "algorithms.blurpool.replace_maxpools",
    "swa_start": "algorithms.swa.start", "swa_interval": "algorithms.swa.interval",
    "early_stop": "callbacks.early_stop.patience", "subset": "data.subset",
}

# Likewise of a named transform of training images, by the figure: its name, and the option.
TRAIN_TRANSFORMS = {
    "rand_augment_family": ("rand_augment", "family"), "rand_augment_depth": ("rand_augment", "num_ops"),
    "rand_augment_severity": ("rand_augment", "magnitude"),
}

# Any recipe of a ResNet-50, with a step of seconds on a CPU and nothing that a step's weight decay can be mistaken for.
SMALL_STEP = [
    "data=synthetic", "data.num_samples=4", "data.num_val_samples=2", "data.num_classes=1000", "data.image_size=32",
    "data.global_batch_size=4", "data.progressive_resizing.start_size=null", "data.train_transforms=[normalize]",
    "data.eval_transforms=[normalize]", "data.sampler=shuffle", "model.layers=[1, 1, 1, 1]", "train.precision=fp32",
    "train.grad_clip_norm=null", "train.eval_every=null", "schedule=constant", "optimizer.lr=0.1",
    "loss=cross_entropy", "parallel.strategy=none", "parallel.sync_batch_norm=false", "checkpoint.keep_best=0",
    "checkpoint.monitor=null",
]


def golden_files():
    return {path.stem: json.loads(path.read_text()) for path in sorted(GOLDEN.glob("*.json"))}


def flat(shown):
    """The values of what `config show` prints, by their keys with dots; items of lists are numbered."""
    values, above, counts = {}, [], {}
    for line in shown.splitlines():
        match = re.fullmatch(r"( *)(- )?(\w+):(?: (.*?))?(?:  # .*)?", line)
        if match is None:
            continue
        indent = len(match[1])
        while above and above[-1][0] >= indent:
            above.pop()
        if match[2]:
            parent = tuple(key for _, key in above)
            counts[parent] = counts.get(parent, -1) + 1
            above.append((indent, str(counts[parent])))
            indent += 2
        if match[4] is None:
            above.append((indent, match[3]))
        else:
            values[".".join([key for _, key in above] + [match[3]])] = match[4]
    return values


def transform(values, split, name, option):
    """An option of the first transform of that name."""
    for key, value in values.items():
        if key.startswith(f"data.{split}_transforms.") and key.endswith(".name") and value == name:
            return values[key.removesuffix("name") + option]
    return None


def tables(printed):
    """What `config plot-schedule` prints: its first line, and of each curve {step: value}."""
    first, *rest = printed.splitlines()
    curves = {}
    for line in rest:
        step, _, value = line.split("\t")
        if step == "step":
            curve = curves[value] = {}
        else:
            curve[int(step)] = float(value)
    return first, curves


def size_at(stair, step):
    return max((entry for entry in stair if entry[0] <= step), key=lambda entry: entry[0])[1]


class Figures(unittest.TestCase):
    def ok(self, *arguments):
        result = paceline(*arguments)
        self.assertEqual(result.code, 0, str(result))
        return result.out

    def for_each(self, check):
        """Of every recipe that has a source: check(figures, file)."""
        for content in golden_files().values():
            for name, figures in content["recipes"].items():
                with self.subTest(recipe=name):
                    check(figures, RECIPES / f"{name}.yaml")

    def assert_near(self, ours, sources, what):
        """Both printed and computed: six digits."""
        self.assertLessEqual(abs(ours - sources), 1e-5 * abs(sources) + 1e-12, f"{what}: {ours} here, {sources} there")

    def test_every_recipe_has_its_sources_figures_and_a_row_on_the_page(self):
        named = {name for content in golden_files().values() for name in content["recipes"]}
        there = {path.stem for path in RECIPES.glob("*.yaml")}
        self.assertEqual(named, there - OWN)
        page = (SOURCE / "docs" / "recipes.md").read_text()
        for name in sorted(there):
            self.assertIn(f"`{name}", page)
        for name in sorted(named):
            lines = (RECIPES / f"{name}.yaml").read_text().splitlines()
            comment = " ".join(lines[:next(i for i, line in enumerate(lines) if not line.startswith("#"))])
            self.assertRegex(comment, r"\d %|accuracy", name)
            self.assertRegex(comment, r"[Bb]atch|images a step", name)

    def test_lengths_rates_and_sizes_are_the_sources(self):
        self.for_each(self.check_curves)

    def test_settings_are_the_sources(self):
        self.for_each(self.check_settings)

    def check_curves(self, figures, recipe):
        printed = self.ok("config", "plot-schedule", recipe, "--samples", figures["samples"],
                          "--nproc", figures["ranks"])
        first, curves = tables(printed)
        total, per_epoch = map(int, re.match(r"(\d+) steps, (\d+) an epoch", first).groups())
        self.assertEqual(total, figures["total_steps"])
        if figures["steps_per_epoch"] is not None:
            self.assertEqual(per_epoch, figures["steps_per_epoch"])
        self.assertGreaterEqual(len(figures["steps"]), 20)
        for step, lr in zip(figures["steps"], figures["lr"]):
            self.assert_near(curves["optimizer.lr"][step], lr, f"rate of step {step}")
        for step, momentum in zip(figures["steps"], figures.get("momenta", [])):
            self.assert_near(curves["momentum"][step], momentum, f"momentum of step {step}")
        constant = {0: float(flat(self.ok("config", "show", recipe))["data.image_size"])}
        for step, size in curves.get("data.image_size", constant).items():
            lost = size - size_at(figures["sizes"], step)
            self.assertIn(lost, range(figures.get("lost_pixels", 0) + 1), f"size of step {step}: {size} here")

    def check_settings(self, figures, recipe):
        values = flat(self.ok("config", "show", recipe))
        for figure, key in KEYS.items():
            if figure not in figures:
                continue
            ours, sources = values.get(key), figures[figure]
            with self.subTest(key=key):
                self.assertIsNotNone(ours)
                if isinstance(sources, (str, bool)):
                    self.assertEqual(ours.strip('"'), str(sources).lower())
                else:
                    self.assert_near(float(ours), sources, key)
        per_rank = values["data.batch_size_per_rank"]
        batch = int(values["data.global_batch_size"]) if per_rank == "null" else int(per_rank) * figures["ranks"]
        self.assertEqual(batch, figures["global_batch"])
        if figures["epochs"] is not None:
            self.assertEqual(values["train.duration"], f"{figures['epochs']}ep")
        self.assertEqual(values.get("data.sampler.repeats", "0"), str(figures.get("repeats", 0)))
        for figure, name in (("eval_resize", "resize"), ("eval_crop", "center_crop")):
            if figure in figures:
                self.assertEqual(transform(values, "eval", name, "size"), str(figures[figure]))
        for figure, (name, option) in TRAIN_TRANSFORMS.items():
            self.assertEqual(transform(values, "train", name, option),
                             str(figures[figure]) if figure in figures else None, figure)
        if "ema_decay" in figures:
            self.assertEqual(values["algorithms.ema.rescale"], "torchvision")
            interval = int(values["algorithms.ema.update_interval"].removesuffix("ba"))
            share = (1 - float(values["algorithms.ema.smoothing"])) * batch * interval / figures["epochs"]
            self.assert_near(share, 1 - figures["ema_decay"], "share of the newest weights")


class ParameterGroups(RunTest):
    """Which parameters decay: those that end elsewhere after a step with weight decay than after one without."""

    def step(self, name, recipe, *overrides):
        """The weights after so much of a recipe without its algorithms and callbacks."""
        shown = paceline("config", "show", RECIPES / recipe)
        self.assertEqual(shown.code, 0, str(shown))
        parts = {".".join(key.split(".")[:2]) for key in flat(shown.out) if re.match(r"(algorithms|callbacks)\.", key)}
        without = [f"~{part}" for part in sorted(parts)]
        self.train(RECIPES / recipe, "--run-dir", self.root / name, *SMALL_STEP, *without, *overrides)
        (checkpoint,) = checkpoints(self.root / name)[-1:]
        return {re.sub(r"\[.*\]$", "", key): data for key, (_, _, data) in checkpoint_tensors(checkpoint).items()
                if not re.match(r"optimizer\.|.*\.(running_|num_batches)", key)}

    def test_what_decays_is_what_decays_there(self):
        self.step("start", "torchvision-v1.yaml", "optimizer.weight_decay=0", "train.duration=3ba")  # no zeros any more
        for recipe, file in (("ffcv-rn50-16", "ffcv"), ("torchvision-v1", "torchvision-v1"),
                             ("torchvision-v2", "torchvision-v2"), ("timm-a3", "timm"), ("mosaic-mild", "composer"),
                             ("guide-torchrun-4gpu", "guides")):
            with self.subTest(recipe=recipe):
                content = golden_files()[file]
                self.assertIn(recipe, content["recipes"])
                weights = [self.step(f"{recipe}-{decay}", f"{recipe}.yaml", f"optimizer.weight_decay={decay}",
                                     "train.duration=1ba", f"model.pretrained={self.root}/start@last")
                           for decay in ("0", "0.5")]
                undecayed = {key for key in weights[0] if weights[0][key] == weights[1][key]}
                self.assertIn("layer1.0.downsample.1.weight", weights[0])
                self.assertEqual(undecayed, set(content["undecayed"]) & set(weights[0]))
            for decay in ("0", "0.5"):
                shutil.rmtree(self.root / f"{recipe}-{decay}", ignore_errors=True)


if __name__ == "__main__":
    unittest.main()
