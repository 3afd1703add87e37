"""Images are prepared as for the weights of model.pretrained, in training and by whoever goes on with the run."""

import json
import unittest

from fake_hub import FakeHub, HubTest
from paceline_process import RECIPE, environment, paceline

PUBLISHED = {"pretrained_cfg": {"input_size": [3, 32, 32], "crop_pct": 0.8, "interpolation": "bicubic",
                                "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}}
NORMALIZE = "{name: normalize, mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}"
BY_HAND = ("data.image_size=32",
           "data.eval_transforms=[{name: resize, size: 40, interpolation: bicubic}, {name: center_crop, size: 32}, "
           f"{NORMALIZE}]",
           f"data.train_transforms=[{{name: random_resized_crop, size: 32}}, random_horizontal_flip, {NORMALIZE}]")
SAID = ("note: images are prepared as for the weights of model.pretrained: resize 40, crop 32, interpolation bicubic, "
        "mean [0.5, 0.5, 0.5], std [0.25, 0.25, 0.25]")
WARNING = "images are prepared otherwise than for the weights"


class WeightPreprocessing(HubTest):
    def setUp(self):
        self.recipe = self.write_recipe(name="open.yaml", text=RECIPE.replace(" image_size: 32,", "").replace("3ep", "1ep"))
        self.home = self.root / self.id().rpartition(".")[2]
        self.hub = FakeHub({"model.safetensors": self.weights, "config.json": json.dumps(PUBLISHED).encode()})
        self.addCleanup(self.hub.close)

    def run_of(self, name, *overrides, pretrained="hf:some/net", code=0):
        """What a run said that saves after each epoch."""
        env = {key: value for key, value in environment().items() if not key.startswith(("HF_", "HUGGING"))}
        env |= {"HF_ENDPOINT": self.hub.url, "HF_HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "xdg")}
        return self.train(self.recipe, f"model.pretrained={pretrained}", "schedule.warmup=0ba", "checkpoint.every=1ep",
                          "--run-dir", f"runs/{name}", *overrides, env=env, code=code).err

    def losses(self, name):
        lines = [json.loads(line) for line in (self.run_directory(name) / "metrics.jsonl").read_text().splitlines()]
        return [(line["step"], line[key]) for line in lines for key in ("train/loss", "val/loss") if key in line]

    def recorded(self, name):
        text = (self.run_directory(name) / "config.yaml").read_text()
        return " ".join(text[text.index("\n  preprocessing:"):].split()[:40])

    def test_a_run_follows_its_weights_and_so_do_its_resume_and_evaluation(self):
        said = self.run_of("taken", "--nproc", 2)
        self.assertEqual(said.count(SAID), 1, said)
        self.assertNotIn(WARNING, said)
        recorded = self.recorded("taken")
        for value in ("resize: 40", "crop: 32", "interpolation: bicubic"):
            self.assertIn(value, recorded)
        self.assertNotIn(WARNING, self.run_of("by_hand", *BY_HAND, "--nproc", 2))
        self.assertEqual(self.losses("taken"), self.losses("by_hand"))

        asked = len(self.hub.asked)
        self.run_of("taken", "train.duration=2ep", "--nproc", 2, "--resume", "auto")
        self.assertEqual(len(self.hub.asked), asked)
        self.assertEqual(self.recorded("taken"), recorded)
        self.run_of("by_hand", *BY_HAND, "train.duration=2ep", "--nproc", 2, "--resume", "auto")
        self.assertEqual(self.losses("taken"), self.losses("by_hand"))

        report = paceline("eval", "runs/taken", "--json", cwd=self.root)
        self.assertEqual(report.code, 0, str(report))
        self.assertAlmostEqual(json.loads(report.out)["metrics"]["val/loss"], self.losses("taken")[-1][1], places=6)
        images = sorted(map(str, (self.data / "val").rglob("*.*")))[:6]
        told = [paceline("predict", f"runs/{name}", *images, "--json", cwd=self.root) for name in ("taken", "by_hand")]
        self.assertEqual([each.code for each in told], [0, 0], str(told[0]))
        self.assertEqual(told[0].out, told[1].out)
        exported = paceline("export", "runs/taken", "--format", "hf", "-o", self.root / "exported", cwd=self.root)
        self.assertEqual(exported.code, 0, str(exported))
        config = json.loads((self.root / "exported" / "config.json").read_text())["pretrained_cfg"]
        self.assertEqual({key: config[key] for key in PUBLISHED["pretrained_cfg"]}, PUBLISHED["pretrained_cfg"])

    def test_a_file_follows_the_config_beside_it(self):
        folder = self.root / "downloaded"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(self.weights)
        local = folder / "model.safetensors"
        self.assertNotIn(SAID, self.run_of("alone", "data.image_size=32", pretrained=local))
        (folder / "config.json").write_text(json.dumps({"architectures": ["of another program"]}))
        self.assertNotIn(SAID, self.run_of("foreign", "data.image_size=32", pretrained=local))
        (folder / "config.json").write_text(json.dumps(PUBLISHED))
        self.assertIn(SAID, self.run_of("local", pretrained=local))
        self.run_of("fetched")
        self.assertEqual(self.losses("local"), self.losses("fetched"))
        (folder / "config.json").write_text("{")
        self.assertIn("config.json", self.run_of("broken", pretrained=local, code=3))

    def test_a_run_from_the_weights_of_a_run_follows_that(self):
        self.run_of("first")
        said = self.run_of("second", pretrained="runs/first@last")
        self.assertIn(SAID, said)
        self.assertEqual(self.recorded("second"), self.recorded("first"))

    def test_phases_prepare_alike(self):
        self.run_of("phased", "phases={warm: {}, whole: {}}")
        for phase in ("1-warm", "2-whole"):
            self.assertIn("crop: 32", self.recorded(f"phased/phases/{phase}"))

    def test_a_recipe_that_says_otherwise_is_kept_and_both_are_named(self):
        said = self.run_of("own", "data.preprocessing.mean=[0.4, 0.4, 0.4]")
        self.assertIn(f"warning: {WARNING} of model.pretrained: mean [0.4, 0.4, 0.4] here, [0.5, 0.5, 0.5] there", said)
        self.assertIn("So says the recipe by data.preprocessing", said)
        self.assertIn("mean: [0.4, 0.4, 0.4]", self.recorded("own"))
        said = self.run_of("small", "data.image_size=16", "model.img_size=16", "--nproc", 2)
        self.assertEqual(said.count("crop of 16 here, 32 there"), 1, said)

    def test_what_is_known_without_a_network_is_shown(self):
        shown = paceline("config", "show", self.recipe, "model=resnet50", "model.pretrained=torchvision:IMAGENET1K_V2",
                         cwd=self.root)
        self.assertEqual(shown.code, 0, str(shown))
        self.assertIn("resize: 232  # 232, of the weights of model.pretrained", shown.out)
        shown = paceline("config", "show", self.recipe, "model.pretrained=hf:some/net", cwd=self.root)
        self.assertIn("resize: null  # as the weights of model.pretrained were published with", shown.out)

    def test_a_config_that_makes_no_sense_ends_all_ranks(self):
        self.hub.files["config.json"] = json.dumps({"pretrained_cfg": {"std": [0, 1, 1]}}).encode()
        said = self.run_of("none", "--nproc", 2, code=3)
        for rank in range(2):
            self.assertRegex(said, rf"\[rank {rank}\] error: .*config.json: pretrained_cfg: std 0 divides nothing")


if __name__ == "__main__":
    unittest.main()
