"""paceline config, list and info; and that the committed reference is the program's own."""

import json
import pathlib
import re
import unittest

from paceline_process import RunTest, paceline

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Config(RunTest):
    def ok(self, *arguments):
        result = paceline(*arguments, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result.out

    def test_show_is_a_recipe_that_loads_equal(self):
        shown = self.ok("config", "show", self.write_recipe(), "optimizer=adamw", "optimizer.lr=1e-3")
        again = self.root / "again.yaml"
        again.write_text(shown)
        self.assertEqual(self.ok("config", "show", again), shown)
        self.assertIn("adamw", shown)

    def test_check_and_explain(self):
        recipe = self.write_recipe()
        self.assertIn("sound", self.ok("config", "check", recipe))
        explained = self.ok("config", "explain", "optimizer.lr", recipe)
        for text in ("0.05", "recipe.yaml:6", "0.1", "learning rate"):
            self.assertIn(text, explained)
        wrong = paceline("config", "explain", "optimizer.lrr", recipe)
        self.assertEqual(wrong.code, 2)
        self.assertIn("lr", wrong.err)

    def test_plot_schedule_draws_the_run(self):
        recipe = self.write_recipe()
        drawn = self.ok("config", "plot-schedule", recipe, "train.duration=4ep", "schedule={name: linear}",
                        "--svg", self.root / "lr.svg")
        lines = drawn.splitlines()
        self.assertRegex(lines[0], r"^\d+ steps, \d+ an epoch; constant: optimizer\.momentum = ")
        self.assertEqual(lines[1], "step\tepoch\toptimizer.lr")
        rates = [float(line.split("\t")[2]) for line in lines[2:-1]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertEqual(rates[0], 0.05)
        self.assertTrue((self.root / "lr.svg").read_text().startswith("<svg "))
        without_data = self.ok("config", "plot-schedule", recipe, "data.path=/nowhere", "--samples", "640", "--nproc", "2")
        self.assertIn(" an epoch", without_data)
        for arguments, message in ((("--svg", "lr.png"), "SVG is what is drawn"), (("--samples", "0"), "--samples"),
                                   (("train.duration=2h", "schedule=constant"), "train.duration")):
            wrong = paceline("config", "plot-schedule", recipe, *arguments, cwd=self.root)
            self.assertEqual(wrong.code, 2, str(wrong))
            self.assertIn(message, wrong.err)

    def test_schema_and_template(self):
        schema = json.loads(self.ok("config", "schema"))
        self.assertIn("optimizer", schema["properties"])
        template = self.root / "template.yaml"
        template.write_text(self.ok("config", "template"))
        self.ok("config", "check", template, "data.path=/data/imagenet")

    def test_show_tells_what_the_data_decide(self):
        recipe = self.root / "open.yaml"
        recipe.write_text(f"data: {{name: image_folder, path: {self.data}, image_size: 32}}\n")
        shown = self.ok("config", "show", recipe)
        self.assertIn("name: resnet50  # num_classes comes from the data", shown)
        self.assertNotIn("num_classes: ", shown)
        self.assertIn("num_classes: 4  # from the data", self.ok("config", "show", "--data", recipe))
        self.assertIn("model.num_classes = from the data", self.ok("config", "explain", "model.num_classes", recipe))
        written = self.root / "written.yaml"
        written.write_text(self.ok("config", "show", "--data", recipe))
        self.assertIn("sound, with 60 training and 20 validation images", self.ok("config", "check", "--data", written))
        self.assertEqual(paceline("config", "check", "--data", recipe, f"data.path={self.root}/absent").code, 3)

    def test_check_answers_what_train_would(self):
        empty = self.root / "empty.yaml"
        empty.write_text("")
        template = self.root / "template.yaml"
        template.write_text(self.ok("config", "template"))
        for recipe in (empty, template):
            checked = paceline("config", "check", recipe, cwd=self.root)
            trained = paceline("train", recipe, cwd=self.root)
            self.assertEqual((checked.code, trained.code), (2, 2), recipe)
            for result in (checked, trained):
                self.assertIn("data.path: is not set", result.err)
        wrong = paceline("config", "check", empty, "train.stop_when='val/acc > 0.5'", "checkpoint.monitor=val_loss",
                         "+callbacks.early_stop.monitor=val_loss", "parallel.fsdp.param_dtype=bf16",
                         "data.eval_transforms=[normalize]", cwd=self.root)
        self.assertEqual(wrong.code, 2)
        for text in ("data.path", "train.stop_when: 'val/acc' is no metric", "checkpoint.monitor: 'val_loss' is no",
                     "callbacks.early_stop.monitor: 'val_loss' is no", "val/loss, val/top1, val/top5", "param_dtype"):
            self.assertIn(text, wrong.err)

    def test_words_of_other_trainers(self):
        def refused(*arguments):
            result = paceline(*arguments, cwd=self.root)
            self.assertEqual(result.code, 2, str(result))
            return result.err
        recipe = self.write_recipe()
        self.assertIn("paceline train RECIPE", refused("fit", recipe))
        self.assertIn("optimizer.lr=0.1", refused("config", "check", recipe, "--lr", "0.1"))
        self.assertIn("model.name=resnet50", refused("train", recipe, "-m", "resnet50"))
        self.assertIn("model.name=resnet50", refused("train", recipe, "--model", "resnet50"))
        self.assertIn("data.global_batch_size", refused("config", "explain", "data.batch_size"))
        self.assertIn("resnet50", self.ok("list", "model"))
        self.assertIn("cross_entropy", self.ok("list", "loss"))
        self.assertIn("Base learning rate", self.ok("config", "explain", "optimizer.lr"))

    def test_the_committed_reference_is_the_programs_own(self):
        committed = (SOURCE / "docs" / "reference" / "config.md").read_text()
        self.assertEqual(self.ok("config", "reference"), committed, "run ./dev docs")

    def test_recipes_in_the_tree_are_sound(self):
        for recipe in (SOURCE / "recipes").glob("*.yaml"):
            self.ok("config", "check", recipe)

    def test_list_and_info(self):
        listed = self.ok("list")
        for name in ("resnet50", "vit_base_patch32_224", "image_folder", "random_resized_crop", "adamw", "one_cycle",
                     "cross_entropy", "early_stop", "tensorboard"):
            self.assertIn(name, listed)
        self.assertNotIn("resnet50", self.ok("list", "optimizers"))
        self.assertIn("LibTorch 2.11", self.ok("info"))

    def test_info_and_list_tell_what_models_cost(self):
        told = json.loads(self.ok("info", "model", "resnet18", "num_classes=10", "--size", 64, 32, "--json"))
        self.assertEqual(told["layers"][0]["output"], [64, 32, 16])
        self.assertEqual(sum(layer["parameters"] for layer in told["layers"]), told["parameters"])
        self.assertIn("layer4.1.conv2", self.ok("info", "model", "resnet18"))
        models = {model["name"]: model for model in json.loads(self.ok("list", "models", "--json"))}
        self.assertAlmostEqual(models["resnet50"]["gflops"], 8.178, places=3)

    def test_info_predicts_memory(self):
        told = json.loads(self.ok("info", "memory", self.write_recipe(), "--nproc", 2, "--json"))["strategies"]
        self.assertEqual([row["strategy"] for row in told], ["none", "ddp", "zero1", "zero2", "fsdp", "hsdp"])
        self.assertEqual([row["ranks"] for row in told], [1, 2, 2, 2, 2, 2])
        for row in told:
            parts = ("parameters", "gradients", "optimizer", "activations", "transient", "input")
            self.assertEqual(sum(row[part] for part in parts), row["total"])
        self.assertLess(told[4]["parameters"], 0.55 * told[1]["parameters"])
        table = self.ok("info", "memory", self.write_recipe(), "data.global_batch_size=4")
        self.assertRegex(table.splitlines()[0], "strategy.*activations.*sum")
        self.assertIn("measured", self.ok("info", "--help"))

    def test_info_tells_what_a_gpu_must_hold_without_data(self):
        recipe = SOURCE / "recipes" / "ct-cascade.yaml"
        told = json.loads(self.ok("info", "memory", recipe, "--device", "h200", "--nproc", 4, "--json"))
        self.assertEqual(told["device"]["name"], "h200")
        self.assertEqual([phase["phase"] for phase in told["phases"]], ["stage1", "stage2", "stage3"])
        for phase, batch, gigabytes in zip(told["phases"], (16, 8, 4), (15, 40, 70)):
            self.assertEqual(phase["samples_per_microbatch"], batch)
            self.assertEqual(phase["published"]["bytes"], gigabytes * 1e9)
            self.assertLess(phase["published"]["predicted_bytes"], phase["published"]["bytes"])
            self.assertGreater(phase["largest_microbatch_checkpointed"], phase["largest_microbatch"])
        one = self.ok("info", "memory", recipe, "--device", "h200", "--phase", "stage2")
        self.assertIn("40.0 GB", one)
        self.assertNotIn("stage1", one)
        refused = paceline("info", "memory", recipe, "--device", "h100")
        self.assertEqual(refused.code, 2)
        self.assertIn("h100-80gb", refused.err)

    def test_every_verb_that_is_listed_works(self):
        verbs = re.findall(r"^  ([\w-]+)", self.ok("--help"), re.MULTILINE)
        self.assertTrue({"train", "launch", "eval", "info"} <= set(verbs), verbs)
        for verb in verbs:
            self.assertIn(verb, self.ok(verb, "--help"))
        self.assertIn("--nproc", self.ok("train", "--help"))
        wrong = paceline("trian", cwd=self.root)
        self.assertEqual(wrong.code, 2)
        self.assertIn("train", wrong.err)


if __name__ == "__main__":
    unittest.main()
