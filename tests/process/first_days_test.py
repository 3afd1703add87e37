"""The first two days of a new user: from a recipe written by hand, with errors in it, to an exported model."""

import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import unittest

from paceline_process import (TINY_VIT, RunTest, checkpoints, environment, paceline, read_metrics, read_safetensors, send,
                              start, wait_until)

WRONG = """
model:     {name: resnet_18, freeze: [layr1]}
data:      {name: image_folder, path: FOLDER, batch_size: 12, val_share: 1.5}
train:     {epochs: 2, precision: 16-mixed, stop_when: val/acc > 0.5}
optimizer: {name: sgd, lr: 0.05, lr_scale: {haed: 10}}
"""

RIGHT = """
model:     {name: MODEL}
data:      {path: FOLDER, image_size: 32, global_batch_size: 12, num_threads: 1, val_share: 0.25}
train:     {duration: 2ep}
optimizer: {lr: 0.05}
"""


def metadata_of(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + length])["__metadata__"]


class FirstDays(RunTest):
    def fails(self, code, *arguments, cwd=None, env=None):
        result = paceline(*arguments, cwd=cwd or self.root, env=env)
        self.assertEqual(result.code, code, str(result))
        return result.err

    def ok(self, *arguments, cwd=None, env=None):
        result = paceline(*arguments, cwd=cwd or self.root, env=env)
        self.assertEqual(result.code, 0, str(result))
        return result

    def flat_folder(self, name):
        """Class folders and nothing else, as many data sets come."""
        folder = self.root / name
        shutil.copytree(self.data / "train", folder)
        return folder

    def recipe(self, folder, text=RIGHT, name="mine.yaml"):
        path = self.root / name
        path.write_text(text.replace("MODEL", TINY_VIT).replace("FOLDER", str(folder)))
        return path

    def test_from_a_wrong_recipe_to_an_exported_model(self):
        folder = self.flat_folder("birds")
        wrong = self.recipe(folder, WRONG, "wrong.yaml")
        said = self.fails(2, "config", "check", wrong)
        for cure in ("wrong.yaml:2: model.name: there is no 'resnet_18'; did you mean resnet18?",
                     "write data.global_batch_size=12", "data.val_share: must be less than 1",
                     "write train.duration=2ep", "here it is called fp16"):
            self.assertIn(cure, said)
        half = self.recipe(folder, WRONG.replace("resnet_18", "resnet18").replace("batch_size: 12, val_share: 1.5", "")
                           .replace("epochs: 2, precision: 16-mixed, ", ""), "half.yaml")
        said = self.fails(2, "config", "check", half)
        for cure in ("did you mean layer1?", "optimizer.lr_scale: no parameter", "did you mean head?"):
            self.assertIn(cure, said)

        recipe = self.recipe(folder)
        said = self.fails(3, "train", recipe)
        self.assertIn("data.train_folder=.", said)  # the classes lie in the folder itself
        recipe = self.recipe(folder, RIGHT.replace("path: FOLDER", "path: FOLDER, train_folder: ."))
        self.ok("train", recipe, "--fast-dev-run")
        trained = self.ok("train", recipe, "--run-dir", "runs/first", "--nproc", 2)
        self.assertRegex(trained.err, r"speed: [\d,]+ images/s in training, \d+ % of the time waiting for data, \d+ % for")
        self.assertRegex(trained.err, r"runs/first@best")
        summary = json.loads((self.run_directory("first") / "summary.json").read_text())
        self.assertEqual(summary["speed"]["steps"], summary["steps"] - 1)

        report = json.loads(self.ok("eval", "runs/first@best", "--json").out)
        self.assertEqual(report["metrics"]["val/top1"], summary["best"]["value"])
        self.assertEqual(report["class_names"], sorted(path.name for path in folder.iterdir()))
        self.ok("export", "runs/first@best", "-o", "birds.safetensors")
        metadata = metadata_of(self.root / "birds.safetensors")
        self.assertEqual(json.loads(metadata["class_names"]), report["class_names"])
        self.assertEqual(int(metadata["step"]), report["step"])
        self.ok("train", recipe, "--run-dir", "runs/second", "model.pretrained=birds.safetensors", "train.duration=1ba")

    def test_a_share_is_held_out(self):
        recipe = self.recipe(self.flat_folder("held"), RIGHT.replace("FOLDER", "FOLDER, train_folder: ."))
        def parts(*overrides):
            said = self.ok("config", "check", "--data", recipe, *overrides).out
            train, val = (int(word) for word in said.split() if word.isdigit())
            return train, val
        train, val = parts()
        self.assertEqual(train + val, 60)
        self.assertTrue(5 <= val <= 25, val)
        self.assertEqual(parts("run.seed=9"), (train, val))  # the seed of the run is not that of the parts
        self.assertEqual(parts("data.subset=10"), (10, val))
        shown = [self.ok("data", "verify", recipe, "--split", split).out for split in ("train", "val")]
        self.assertIn(f"train: {train} samples", shown[0])
        self.assertIn(f"val: {val} samples", shown[1])

    def test_without_validation(self):
        recipe = self.recipe(self.flat_folder("alone"), RIGHT.replace("val_share: 0.25", "train_folder: ."))
        trained = self.ok("train", recipe, "--run-dir", "runs/alone", "--nproc", 2)
        warnings = [line for line in trained.err.splitlines() if "no validation" in line and "warning" in line]
        self.assertEqual(len(warnings), 1, trained.err)
        for cure in ("data.val_share", "data.val_path", "train.eval_every=null"):
            self.assertIn(cure, warnings[0])
        quiet = self.ok("train", recipe, "train.eval_every=null", "--run-dir", "runs/quiet")
        self.assertNotIn("warning", quiet.err)
        self.assertIn("training images and no validation", quiet.err)
        for run in ("alone", "quiet"):
            lines = read_metrics(self.run_directory(run))
            self.assertFalse([line for line in lines if line.get("event") == "eval"])
            self.assertTrue(checkpoints(self.run_directory(run)))
        self.assertIn("train.stop_when: 'val/top1' is a metric of the evaluation, and this run has none",
                      self.fails(2, "train", recipe, "train.stop_when='val/top1 > 0.5'"))
        self.assertIn("data.val_folder", self.fails(3, "eval", "runs/alone"))
        self.assertIn("val/top1", self.ok("eval", "runs/quiet", f"data.val_path={self.data}/val").out)
        self.assertIn("no validation part", self.ok("data", "verify", recipe).err)
        # A run takes up and gives up validation.
        self.ok("train", recipe, "--run-dir", "runs/quiet", "--resume", "auto", f"data.val_path={self.data}",
                "train.duration=3ep")
        self.assertIn("val/top1", json.loads((self.run_directory("quiet") / "summary.json").read_text())["metrics"])
        self.ok("train", recipe, "--run-dir", "runs/quiet", "--resume", "auto", "train.eval_every=null",
                "train.duration=4ep")

    def test_a_run_that_saved_nothing_is_not_repeated(self):
        recipe = self.write_recipe()
        again = [recipe, "--run-dir", "runs/unsaved", "train.duration=4ba", "schedule.warmup=0ba", "checkpoint.every=null"]
        self.train(*again)
        before = read_metrics(self.run_directory("unsaved"), timed=True)
        said = self.fails(5, "train", *again, "--resume", "auto")
        self.assertIn("has ended, and no checkpoint of it", said)
        self.assertEqual(read_metrics(self.run_directory("unsaved"), timed=True), before)
        (self.run_directory("unsaved") / "summary.json").write_text("{")
        self.assertIn("whose summary.json is damaged", self.fails(5, "train", *again, "--resume", "auto"))

    def test_validation_images_elsewhere(self):
        folder = self.flat_folder("train_only")
        few = self.root / "few"  # lacks a class, and lies in no folder val/
        shutil.copytree(self.data / "val", few)
        classes = sorted(path.name for path in few.iterdir())
        shutil.rmtree(few / classes[0])
        recipe = self.recipe(folder, RIGHT.replace("val_share: 0.25", f"train_folder: ., val_path: {few}"))
        self.ok("train", recipe, "--run-dir", "runs/elsewhere")
        whole = json.loads(self.ok("eval", "runs/elsewhere", "--json", f"data.val_path={self.data}").out)
        part = json.loads(self.ok("eval", "runs/elsewhere", "--json").out)
        self.assertEqual((whole["samples"], part["samples"]), (20, 15))
        self.assertEqual(part["class_names"], classes)
        (few / "unknown").mkdir()
        shutil.copy(next((few / classes[1]).iterdir()), few / "unknown")
        said = self.fails(3, "train", recipe, "--run-dir", "runs/unknown")
        self.assertIn("classes that the training data have not: unknown", said)
        self.assertIn("not both", self.fails(2, "train", recipe, "data.val_share=0.1"))

    def test_paths(self):
        home = self.root / "home"
        home.mkdir()
        folder = self.flat_folder("home/birds")
        env = environment(HOME=home, BIRDS=folder, MY_TOKEN="x")
        recipe = self.recipe("~/birds", RIGHT.replace("FOLDER", "FOLDER, train_folder: ."))
        self.ok("config", "check", "--data", recipe, env=env)
        for text in ("${BIRDS}", "${oc.env:BIRDS,/nowhere}", "${NO_SUCH:-" + str(folder) + "}"):
            self.ok("config", "check", "--data", recipe, f"data.path={text}", env=env)
        self.assertIn("no variable NO_SUCH", self.fails(2, "train", recipe, "data.path=${NO_SUCH}/x", env=env))
        self.assertIn("seems to hold a secret", self.fails(2, "train", recipe, "run.name=${MY_TOKEN}", env=env))

        # Relative to where the command is given; known from anywhere afterwards, also when the run moves.
        self.ok("train", recipe, "data.path=birds", "--run-dir", "runs/mine", cwd=home, env=env)
        self.assertIn(f"path: {folder}", (home / "runs/mine/config.yaml").read_text())
        before = self.ok("eval", home / "runs/mine@best", cwd="/").out.splitlines()[1:]
        (home / "runs/mine").rename(self.root / "moved")
        after = self.ok("eval", "moved@best").out.splitlines()[1:]
        self.assertEqual(before, after)
        self.ok("train", recipe, f"data.path={folder}", "--run-dir", "moved", "--resume", "auto", "train.duration=3ep",
                env=env)
        inside = self.ok("train", recipe, "data.path=birds", "checkpoint.dir=runs/inside/saved", "--run-dir", "runs/inside",
                         cwd=home, env=env)
        self.assertIn("runs/inside@best", inside.err)
        (home / "runs/inside").rename(self.root / "moved-too")
        self.ok("eval", "moved-too@best")

    def test_home_in_options(self):
        home = self.root / "hers"
        home.mkdir()
        env = environment(HOME=home)
        recipe = self.write_recipe()
        recipe.rename(home / "mine.yaml")
        self.ok("train", "~/mine.yaml", "--run-dir=~/run", "train.duration=1ba", "schedule.warmup=0ba",
                "checkpoint.every=1ba", env=env)
        self.assertTrue((home / "run/summary.json").exists())
        self.ok("export", "~/run@last", "-o", "~/weights.safetensors", env=env)
        self.assertTrue((home / "weights.safetensors").exists())
        self.assertFalse((self.root / "~").exists())
        echoed = self.ok("launch", "--", "echo", "~/x", "--a=~/y", env=env)
        self.assertEqual(echoed.out, "~/x --a=~/y\n")  # another program's words

    def test_evaluation_of_other_data(self):
        folder = self.flat_folder("trained_on")
        recipe = self.recipe(folder, RIGHT.replace("val_share: 0.25", "train_folder: ."))
        self.ok("train", recipe, "--run-dir", "runs/mine", "train.duration=1ep", "train.eval_every=null")
        classes = sorted(path.name for path in folder.iterdir())
        other = self.root / "other"  # has validation images alone, and lacks a class
        shutil.copytree(self.data / "val", other / "val")
        shutil.rmtree(other / "val" / classes[0])
        for path in (other, other / "val"):
            report = json.loads(self.ok("eval", "runs/mine", "--json", f"data.path={path}").out)
            self.assertEqual((report["samples"], report["class_names"]), (15, classes))
        self.assertIn("data.val_path: ", self.fails(3, "eval", "runs/mine", "data.path=nowhere"))
        said = self.ok("eval", "runs/mine", "data.val_share=0.5").err
        self.assertIn("data.val_share is 0.5 and was null when the run trained", said)
        self.ok("train", recipe, "data.val_share=0.25", "--run-dir", "runs/shared", "train.duration=1ep")
        self.assertNotIn("warning", self.ok("eval", "runs/shared").err)
        self.assertIn("data.subset_seed is 7", self.ok("eval", "runs/shared", "data.subset_seed=7").err)
        self.assertNotIn("warning", self.ok("eval", "runs/shared", "~data.subset_seed").err)
        (folder / "train").mkdir()  # another data set's training part is no class
        self.assertIn("name its validation folder in data.val_folder",
                      self.fails(3, "eval", "runs/mine", f"data.path={folder}", "data.train_folder=train"))

    def test_starting_weights_tell_what_they_are(self):
        recipe = self.write_recipe(model="resnet18, stem: small")
        quick = ["train.duration=1ba", "checkpoint.every=1ba", "schedule.warmup=0ba"]
        self.train(recipe, "--run-dir", "runs/origin", *quick)
        self.ok("export", "runs/origin", "-o", "origin.safetensors")
        self.assertIn("name it origin.safetensors", self.fails(2, "export", "runs/origin", "-o", "origin.onnx"))
        others = self.flat_folder("others")
        classes = sorted(path.name for path in others.iterdir())
        (others / classes[-1]).rename(others / "zebra")
        for weights in ("runs/origin@last", "origin.safetensors"):
            dry_run = ["train", recipe, "--dry-run", f"model.pretrained={weights}"]
            said = self.ok(*dry_run).err
            self.assertRegex(said, r"note: starts from the weights in \S+, 122 of 122 tensors")
            self.assertNotIn("other classes", said)
            said = self.ok(*dry_run, f"data.path={others}", "data.train_folder=.", "train.eval_every=null").err
            self.assertIn("it starts from what it learnt of other classes", said)
            self.assertIn("the head, which is drawn anew and would never learn",
                          self.ok(*dry_run, "model.num_classes=99", "model.freeze=[head]").err)
        self.assertIn("without model.pretrained, frozen parts never learn",
                      self.ok("train", recipe, "--dry-run", "model.freeze=[stem]").err)
        said = self.fails(5, "train", recipe, "--dry-run", "model.pretrained=origin.safetensors", "model=resnet34")
        self.assertIn("Set model.name and the model's options", said)
        said = self.fails(5, "eval", "runs/origin", "model=resnet34", "model.num_classes=4")
        self.assertIn("Leave model and optimizer as the run has them", said)
        self.assertLess(len(said.splitlines()), 15)
        (self.root / "weights.pth").write_bytes(b"PK\x03\x04" + b"x" * 100)
        self.assertIn("a zip archive ends with its directory",
                      self.fails(5, "train", recipe, "model.pretrained=weights.pth"))
        self.assertIn("weights are read from .safetensors files",
                      self.fails(5, "train", recipe, f"model.pretrained={recipe}"))

    def test_after_a_signal_the_way_on_is_told(self):
        recipe = self.write_recipe()
        run = self.run_directory("stopped")
        process = start("train", recipe, "--run-dir", run, "train.duration=2000ep", "schedule=constant")
        wait_until(lambda: (run / "metrics.jsonl").exists() and read_metrics(run), "the first step")
        _, said = send(process)
        told = re.search(r"it goes on from step \d+ by: paceline (train .*)", said)[1]
        self.assertIn("train.duration=2000ep", told)
        again = self.ok(*shlex.split(told), "train.eval_every=null", "--dry-run")  # the shell would take it so
        self.assertIn("nothing was trained", again.err)

    def test_a_refused_resume_leaves_no_folder(self):
        recipe = self.write_recipe()
        self.train(recipe, "--run-dir", "runs/whole", "train.duration=1ba", "checkpoint.every=1ba", "schedule.warmup=0ba")
        before = sorted(self.root.glob("runs/*"))
        for resume, overrides in (("runs/nosuch", ()), ("runs/whole@step-7", ()), ("runs/whole", ("model.depth=3",)),
                                  ("runs/whole", ("data.path=nowhere",))):
            for place in ((), ("--run-dir", "runs/other")):
                result = paceline("train", recipe, "--resume", resume, *place, *overrides, cwd=self.root)
                self.assertIn(result.code, (2, 3, 5), str(result))
                self.assertEqual(sorted(self.root.glob("runs/*")), before, str(result))
        for word in ("true", "last", "best"):
            self.assertIn("--resume auto", self.fails(2, "train", recipe, "--resume", word))
        self.assertIn("--resume needs a value", self.fails(2, "train", recipe, "--resume", "--run-dir", "runs/whole"))

    def test_what_is_no_run_and_what_is_no_image_folder(self):
        recipe = self.write_recipe()
        self.train(recipe, "--run-dir", "runs/known", "train.duration=1ba", "checkpoint.every=1ba", "schedule.warmup=0ba")
        self.ok("export", "runs/known", "-o", "known.safetensors")
        self.assertIn("is a file", self.fails(5, "eval", recipe))
        self.assertIn("give the run directory that it was exported from", self.fails(5, "eval", "known.safetensors"))
        self.assertRegex(self.fails(5, "eval", "runs"), r"runs lie in it: .*runs/known")
        self.ok("data", "pack", self.data, "-o", "packed")
        for place in ("packed", "packed/"):
            self.assertIn("data.name=packed reads it", self.fails(3, "train", recipe, f"data.path={place}"))
        for output in (self.data, self.data / "train", self.data / "packed", f"{self.data.name}/packed"):
            said = self.fails(2, "data", "pack", self.data, "-o", output)
            self.assertIn("lies in the data set that is read", said)
            self.fails(2, "data", "subset", self.data, "-o", output, "--size", 5)
        self.assertEqual(sorted(path.name for path in self.data.iterdir() if path.name[0] != "."), ["paceline-synth.txt", "train", "val"])
        self.assertIn("name it sheet.png", self.fails(2, "data", "show", self.data, "-o", "sheet.jpg"))

    def test_classes_that_are_hardly_meant(self):
        folder = self.root / "parts"
        shutil.copytree(self.data / "train", folder / "train")
        shutil.copytree(self.data / "val", folder / "validation")
        recipe = self.recipe(folder, RIGHT.replace("val_share: 0.25", ""))
        said = self.ok("train", recipe, "--dry-run").err
        self.assertIn("data.val_folder=validation is there", said)
        self.assertNotIn("data.train_folder", said)
        self.assertNotIn("no validation", self.ok("train", recipe, "--dry-run", "data.val_folder=validation").err)
        said = self.ok("train", recipe, "--dry-run", "data.train_folder=.", "data.val_share=0.2").err
        self.assertIn("the classes are called as the parts of a data set are (train, validation)", said)
        (folder / "original.tar").write_bytes(b"")  # no data set of tars
        self.assertIn("no validation", self.ok("train", recipe, "--dry-run").err)
        shutil.copytree(next((folder / "train").iterdir()), folder / "train/.ipynb_checkpoints")
        said = self.ok("train", recipe, "--dry-run", "data.val_folder=validation").err
        self.assertIn("the class '.ipynb_checkpoints' is a hidden folder", said)

    def test_a_recipe_from_the_template(self):
        text = self.ok("config", "template").out
        self.assertIn("# num_classes: left out, it is from the data", text)
        self.assertIn("  dir: runs\n", text)
        recipe = self.root / "template.yaml"
        recipe.write_text(text.replace('path: ""', f"path: {self.data}").replace("name: resnet50", "name: resnet18"))
        said = self.ok("train", recipe, "--dry-run", "data.image_size=32", "train.duration=1ep", "schedule.warmup=0ba",
                       "data.global_batch_size=12").err
        self.assertIn("11,178,564 parameters", said)  # of 4 classes
        for key, words in (("callbacks.early_stop.patience", "of early_stop: default"),
                           ("model.embed_dim", "of vit: default"), ("optimizer.beta1", "of adamw: default 0.9")):
            self.assertIn(words, self.ok("config", "explain", key).out)
        self.assertIn("model.embed_dim = 96", self.ok("config", "explain", "model.embed_dim", "model=vit",
                                                      "model.embed_dim=96").out)
        self.assertIn("must be one of", self.fails(2, "config", "check", recipe, "schedule=null"))
        wrong = self.root / "dotted.yaml"
        wrong.write_text("optimizer.lr: 0.1\ndata: {path: /data, train_transforms: [{normalize: {mean: [0, 0, 0]}}]}\n")
        said = self.fails(2, "config", "check", wrong)
        self.assertIn("in a file it is written optimizer: {lr: 0.1}", said)
        self.assertIn("is written {name: normalize, ...}", said)
        wrong.write_text("data: {path: ${HOME}/x}\n")
        self.assertIn('quote what holds a variable: "${VAR}"', self.fails(2, "config", "check", wrong))

    def test_nodes_may_keep_their_data_in_different_places(self):
        first, second = self.flat_folder("node0"), self.flat_folder("node1")
        recipe = self.recipe("unused", RIGHT.replace("path: FOLDER", "path: '${oc.env:PLACE}', train_folder: ."))
        script = self.root / "rank.sh"
        script.write_text("#!/bin/sh\nif [ \"$RANK\" = 0 ]; then PLACE=$FIRST; else PLACE=$SECOND; fi\n"
                          "export PLACE\nexec \"$@\"\n")
        script.chmod(0o755)
        program = pathlib.Path(os.environ["PACELINE_BUILD"]) / "libexec" / "paceline-rank"
        self.ok("launch", "--nproc", 2, "--", script, program, "train", recipe, "--run-dir", self.run_directory("places"),
                "train.duration=1ba", env=environment(FIRST=first, SECOND=second))
        shutil.rmtree(next(second.iterdir()))
        said = self.fails(2, "launch", "--nproc", 2, "--", script, program, "train", recipe, "--run-dir",
                          self.run_directory("other"), env=environment(FIRST=first, SECOND=second))
        self.assertIn("rank 1 has", said)

    def test_parts_are_frozen_and_learn_faster(self):
        recipe = self.write_recipe(model="resnet18, stem: small")
        quick = ["train.duration=1ba", "checkpoint.every=1ba", "schedule.warmup=0ba"]
        self.train(recipe, "--run-dir", "runs/start", *quick)
        def weights_of(run):
            self.ok("export", run, "-o", "weights.safetensors")
            return read_safetensors(self.root / "weights.safetensors")
        weights = weights_of("runs/start")
        frozen = ["model.freeze=[stem, 'layer[1-3]']", "model.pretrained=runs/start@last", "optimizer.lr_scale={head: 0}",
                  "schedule.warmup=0ba"]
        told = []
        for strategy in ("ddp", "fsdp"):
            run = f"runs/{strategy}"
            told.append(self.train(recipe, "--nproc", 2, "--run-dir", run, f"parallel.strategy={strategy}",
                                   "train.duration=3ba", "checkpoint.every=3ba", *frozen).err)
            trained = weights_of(run)
            for name in weights:
                is_fixed = name.startswith(("conv1", "bn1", "layer1", "layer2", "layer3", "fc"))
                self.assertEqual(trained[name] == weights[name], is_fixed, f"{strategy}: {name}")
        self.assertRegex(told[0], r"parameters, [\d,]+ of them trained")
        self.assertIn("model.freeze: was", self.fails(2, "train", recipe, "--nproc", 2, "--run-dir", "runs/ddp", "--resume",
                                                      "auto", "train.duration=4ba", "schedule.warmup=0ba"))
        self.assertIn("val/top1", self.ok("eval", "runs/fsdp").out)


if __name__ == "__main__":
    unittest.main()
