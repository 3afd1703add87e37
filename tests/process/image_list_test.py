"""Images that a CSV file names: a run from it is the run from folders, and what is wrong in it is told with its line."""

import csv
import json
import unittest

from paceline_process import RunTest, paceline, read_metrics

CONFIG, DATA = 2, 3


class ImageList(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.list = cls.root / "images.csv"
        with cls.list.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["file_name", "label", "tags", "split"])
            for split in ("train", "val"):
                for number, path in enumerate(sorted((cls.data / split).glob("*/*"))):
                    name = path.parent.name
                    tags = ["", name, f"{name},even", f"odd, {name}"][number % 4]
                    rows.writerow([path.relative_to(cls.root), name, tags, split])

    def settings(self, name, path, **more):
        return f"data={{name: {name}, path: {path}" + "".join(f", {key}: {value}" for key, value in more.items()) + "}"

    def test_a_run_from_a_list_is_the_run_from_folders(self):
        metrics, told = [], []
        for name, path in (("image_folder", self.data), ("image_list", self.list)):
            run = self.run_directory(f"from-{name}")
            self.train(self.write_recipe(), "--run-dir", run, self.settings(name, path), "data.image_size=32",
                       "data.global_batch_size=12", "train.duration=2ep")
            metrics.append(read_metrics(run))
            result = paceline("eval", run, "--json", cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
            told.append(json.loads(result.out))
        self.assertEqual(metrics[0], metrics[1])
        self.assertEqual(told[0]["metrics"], told[1]["metrics"])
        other = self.root / "shapes" / "other.csv"
        path = sorted((self.data / "val").glob("*/*"))[-1]
        other.write_text(f"path;label\n{path.relative_to(self.data)};{path.parent.name}\n")
        result = paceline("eval", self.run_directory("from-image_list"), f"data.path={other}", "--json", cwd=self.root)
        self.assertEqual(json.loads(result.out)["samples"], 1, str(result))

    def test_several_labels_train(self):
        run = self.run_directory("several")
        self.train(self.write_recipe(), "--run-dir", run,
                   self.settings("image_list", self.list, label_column="tags", label_delimiter="','"), "data.image_size=32",
                   "data.global_batch_size=12", "model.num_classes=6", "loss=binary_cross_entropy", "train.duration=2ep")
        losses = [line["train/loss"] for line in read_metrics(run) if "train/loss" in line]
        self.assertEqual(len(losses), 10)

    def test_what_is_wrong_is_told_with_its_line(self):
        lines = self.list.read_text().splitlines()

        def broken(number, line):
            path = self.root / f"broken-{number}.csv"
            path.write_text("\n".join(lines[:number - 1] + [line] + lines[number:]))
            return path
        for code, text, path in (
                (DATA, "broken-5.csv, line 5: has 2 cells", broken(5, "a.jpg,x")),
                (DATA, "broken-7.csv, line 7: the label is empty", broken(7, "a.jpg,,x,train")),
                (DATA, "broken-1.csv, line 1: the column 'label' stands there twice", broken(1, "path,label,label,split")),
                (DATA, "absent.csv: there is no such file", self.root / "absent.csv"),
                (DATA, "shapes: is a folder; set data.path to the CSV", self.data)):
            result = paceline("train", self.write_recipe(), "--fast-dev-run", self.settings("image_list", path), cwd=self.root)
            self.assertEqual(result.code, code, str(result))
            self.assertEqual(result.err.count("error: "), 1, str(result))
            self.assertIn(text, result.err)
        result = paceline("data", "verify", broken(3, "gone.jpg,x,,train"), cwd=self.root)
        self.assertEqual(result.code, DATA, str(result))
        self.assertIn("broken-3.csv, line 3: ", result.out + result.err)
        self.assertIn("gone.jpg", result.out + result.err)


if __name__ == "__main__":
    unittest.main()
