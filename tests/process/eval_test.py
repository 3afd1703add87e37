"""`paceline eval`: other views of the images, tables and pages, checked against what Python makes of the predictions."""

import base64
import csv
import html.parser
import json
import math
import shutil
import unittest

from paceline_process import RunTest, environment, paceline, settings

CONFIG = 2
SMALL = settings("train.duration=4ba", "checkpoint.every=4ba", "schedule=constant")
RECIPE_TEXT = """
run:       {name: test, seed: 3}
model:     {name: resnet20, num_classes: 4}
data:      {name: image_folder, path: DATA, global_batch_size: 12, num_threads: 1,
            train_transforms: [{name: random_resized_crop, size: 32}, {name: normalize}],
            eval_transforms: [{name: resize, size: 36}, {name: center_crop, size: 32}, {name: normalize}]}
train:     {duration: 3ep}
optimizer: {name: sgd, lr: 0.05}
schedule:  {name: constant}
"""
ODD_CLASS = "<script>alert('x')<&"
MIRRORED = "data.eval_transforms=[{name: resize, size: 36}, {name: center_crop, size: 32}, " \
           "{name: random_horizontal_flip, p: 1.0}, {name: normalize}]"


def softmax(logits):
    powers = [math.exp(value - max(logits)) for value in logits]
    return [power / sum(powers) for power in powers]


class Page(html.parser.HTMLParser):
    """What a page holds: the tags with their attributes, and the text in each."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.texts.setdefault(tag, []).append("")
        self.open.append((tag, len(self.texts[tag]) - 1))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for tag, number in self.open:
            self.texts[tag][number] += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


class Evaluate(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for part in ("train", "val"):  # a folder's name may be anything
            first = sorted((cls.data / part).iterdir())[0]
            first.rename(first.with_name(ODD_CLASS))
        cls.run_dir = cls.root / "runs" / "evaluated"
        recipe = cls.root / "evaluated.yaml"
        recipe.write_text(RECIPE_TEXT.replace("DATA", str(cls.data)))
        made = paceline("train", recipe, "--run-dir", cls.run_dir, *SMALL, cwd=cls.root)
        assert made.code == 0, made

    def evaluate(self, *arguments, code=0):
        result = paceline("eval", self.run_dir, *arguments, cwd=self.root)
        self.assertEqual(result.code, code, str(result))
        return result

    def predicted(self, *arguments, name="told.csv"):
        """The rows of --predictions, and the probabilities of all classes of each sample by their labels."""
        path = self.root / name
        self.evaluate("--predictions", path, "--topk", 9, *arguments)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        places = [""] + [f"_{k}" for k in range(2, 10) if f"told_{k}" in rows[0]]
        return rows, [[value for _, value in sorted((int(row["told" + place]), float(row["probability" + place]))
                                                    for place in places)] for row in rows]

    def assert_near(self, found, wanted, delta=2e-5):
        for own, other in zip(found, wanted, strict=True):
            for one, two in zip(own, other, strict=True):
                self.assertAlmostEqual(one, two, delta=delta)

    def test_the_table_makes_up_the_metrics(self):
        rows, probabilities = self.predicted("task.metrics=[ece, top2]")
        told = json.loads(self.evaluate("--json", "task.metrics=[ece, top2]").out)
        metrics = told["metrics"]
        labels = [int(row["label"]) for row in rows]
        self.assertEqual([int(row["index"]) for row in rows], list(range(20)))
        loss = sum(-math.log(row[label]) for row, label in zip(probabilities, labels)) / 20
        self.assertAlmostEqual(metrics["val/loss"], loss, delta=1e-4)
        self.assertAlmostEqual(metrics["val/loss"], sum(float(row["loss"]) for row in rows) / 20, delta=1e-5)
        right = [int(row["told"]) == label for row, label in zip(rows, labels)]
        self.assertAlmostEqual(metrics["val/top1"], sum(right) / 20)
        self.assertAlmostEqual(metrics["val/top2"], sum(label in (int(row["told"]), int(row["told_2"]))
                                                        for row, label in zip(rows, labels)) / 20)
        bins = {}
        for row, is_right in zip(rows, right):
            bins.setdefault(min(14, int(float(row["probability"]) * 15)), []).append((float(row["probability"]), is_right))
        error = sum(abs(sum(p for p, _ in each) - sum(ok for _, ok in each)) for each in bins.values()) / 20
        self.assertAlmostEqual(metrics["val/ece"], error, delta=1e-5)
        for row in rows:
            self.assertEqual(row["class"], told["class_names"][int(row["label"])])
            self.assertIn("/" + row["class"] + "/", row["sample"])
        worst = max(rows, key=lambda row: float(row["loss"]))
        self.assertEqual(told["worst_samples"][0]["sample"], worst["sample"])
        pairs = [(int(row["label"]), int(row["told"])) for row, ok in zip(rows, right) if not ok]
        for confusion in told["top_confusions"]:
            self.assertEqual(pairs.count((confusion["label"], confusion["told"])), confusion["samples"])

    def test_people_are_told_what_went_worst(self):
        text = self.evaluate().out
        told = json.loads(self.evaluate("--json").out)
        self.assertIn("worst classes\n", text)
        first = told["worst_samples"][0]
        self.assertIn(f"  {first['loss']:.4f}  {first['sample']}: ", text)
        confusion = told["top_confusions"][0]
        names = told["class_names"]
        self.assertIn(f"  {names[confusion['label']]} told as {names[confusion['told']]}: {confusion['samples']}\n", text)

    def test_views_are_means_of_logits(self):
        _, usual = self.predicted(name="usual.csv")
        _, mirrored = self.predicted(MIRRORED, name="mirrored.csv")
        _, flipped = self.predicted("--flip", name="flipped.csv")
        self.assert_near(flipped, [softmax([(math.log(a) + math.log(b)) / 2 for a, b in zip(one, two)])
                                   for one, two in zip(usual, mirrored)])
        _, cooled = self.predicted("--temperature", 3, name="cooled.csv")
        self.assert_near(cooled, [softmax([math.log(value) / 3 for value in row]) for row in usual])
        result = self.evaluate("--flip", "--temperature", 3, "--json")
        self.assertRegex(result.err, "mean of its own and its mirror image's.*\n.*logits are divided by 3")
        self.assertEqual(len(json.loads(result.out)["views"]), 2)

    def test_size_and_percentage_are_recipes(self):
        by_option = json.loads(self.evaluate("--size", 24, "--crop-pct", 0.8, "--json").out)["metrics"]
        by_recipe = json.loads(self.evaluate("--json", f"data.eval_transforms=[{{name: resize, size: {math.floor(24 / 0.8)}}}, "
                                             "{name: center_crop, size: 24}, {name: normalize}]").out)["metrics"]
        self.assertEqual(by_option, by_recipe)

    def test_two_ranks_tell_what_one_does(self):
        for options in ([], ["--flip"], ["--ten-crop", "--crop-pct", 0.75]):
            one_rows, one = self.predicted(*options, name="one.csv")
            two_rows, two = self.predicted(*options, "--nproc", 2, name="two.csv")
            self.assertEqual([row["sample"] for row in one_rows], [row["sample"] for row in two_rows])
            self.assert_near(one, two)

    def test_a_class_map_leaves_other_classes_out(self):
        _, usual = self.predicted(name="all.csv")
        classes = json.loads(self.evaluate("--json").out)["class_names"]
        other = self.root / "other"
        other.mkdir()
        (other / "val").mkdir()
        renamed = {"n2": 3, "n1": 1}  # two of the model's classes by other names
        for name, label in renamed.items():
            shutil.copytree(self.data / "val" / classes[label], other / "val" / name)
        class_map = self.root / "map.yaml"
        class_map.write_text(f"n1: 1\nn2: {classes[3]}\n")
        refused = self.evaluate(f"data.path={other}", code=3)
        self.assertIn("n1", refused.err)
        rows, found = self.predicted(f"data.path={other}", "--class-map", class_map, name="mapped.csv")
        self.assertEqual([row["class"] for row in rows], ["n1"] * 5 + ["n2"] * 5)
        wanted = [[row[1] / (row[1] + row[3]), row[3] / (row[1] + row[3])] for row in usual[5:10] + usual[15:20]]
        self.assert_near(found, wanted, delta=1e-4)
        class_map.write_text("n1: [0, 1]\nn2: 3\n")  # two of the model's are one of the data
        _, found = self.predicted(f"data.path={other}", "--class-map", class_map, name="joined.csv")
        means = [[(row[0] + row[1]) / 2, row[3]] for row in usual[5:10] + usual[15:20]]
        self.assert_near(found, [[value / sum(pair) for value in pair] for pair in means], delta=1e-4)
        class_map.write_text("n1: 1\n")
        self.assertIn("n2 of the data", self.evaluate(f"data.path={other}", "--class-map", class_map, code=CONFIG).err)

    def test_a_page_needs_nothing_else_and_takes_names_for_text(self):
        path = self.root / "page.html"
        result = self.evaluate("--html", path, "--json", "--nproc", 2)
        told = json.loads(result.out)
        page = Page(path.read_text())
        self.assertEqual(len(page.all("script")), 1, "the page's own; names are text")
        self.assertNotIn("alert('x')", page.texts["script"][0])
        self.assertTrue(any(ODD_CLASS in text for text in page.texts["td"]))
        self.assertTrue(any(ODD_CLASS in text for text in page.texts["figcaption"]))
        for tag, attributes in page.tags:
            self.assertNotIn(tag, ("link", "iframe", "object"))
            for name in ("src", "href"):
                self.assertTrue(attributes.get(name, "data:").startswith("data:"), attributes)
        pictures = [base64.b64decode(each["src"].partition("base64,")[2], validate=True) for each in page.all("img")]
        self.assertEqual(len(pictures), 20)
        for picture in pictures:
            self.assertEqual((picture[:3], picture[-2:]), (b"\xff\xd8\xff", b"\xff\xd9"))
        cards = [text for text in page.texts["div"] if text.endswith("loss")]
        self.assertIn(f"{told['metrics']['val/loss']:.4f}loss", cards)
        body = [row for row in page.texts["tr"] if ODD_CLASS in row]
        counts = told["classes"][0]
        self.assertTrue(any(f"{counts['samples']}{counts['told']}{counts['correct']}" in row for row in body), body)
        cells = [text for text in page.texts["td"]]
        self.assertIn(f"{counts['recall']:.4f}", cells)
        self.assertEqual(len(page.all("svg")), 1)

    def test_a_table_is_parquet_by_its_name(self):
        path = self.root / "told.Parquet"
        self.assertIn(f"wrote {path}", self.evaluate("--predictions", path).err)
        content = path.read_bytes()
        self.assertEqual((content[:4], content[-4:]), (b"PAR1", b"PAR1"))
        path.unlink()
        result = paceline("eval", self.run_dir, "--predictions", path, cwd=self.root,
                          env=environment(PACELINE_REMOTE_PLUGIN="/nowhere.so"))
        self.assertEqual(result.code, CONFIG, str(result))
        self.assertIn("Parquet need /nowhere.so", result.err)
        self.assertFalse(path.exists())

    def test_what_does_not_fit_is_refused(self):
        self.assertIn("CSV and Parquet are what is written", self.evaluate("--predictions", "a.json", code=CONFIG).err)
        for wrong in (["--crop-pct", "1.5"], ["--temperature", "0"], ["--size", "0"]):
            self.evaluate(*wrong, code=CONFIG)


if __name__ == "__main__":
    unittest.main()
