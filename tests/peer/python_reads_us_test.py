"""Python peers read what we write, and start us: torchvision, timm, TensorBoard, pyarrow, torchrun."""

import csv
import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import PACELINE, RunTest, environment, paceline, read_metrics

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"


class Peers(RunTest):
    def python(self, code, *arguments):
        result = subprocess.run([str(PYTHON), "-c", code, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def exported(self, name, model, *overrides):
        run = self.run_directory(name)
        self.train(self.write_recipe(model=model), "--run-dir", run, "train.duration=1ep", *overrides)
        output = self.root / f"{name}.safetensors"
        self.assertEqual(paceline("export", run, "-o", output).code, 0)
        return run, output

    def test_torchvision_loads_a_resnet(self):
        _, weights = self.exported("resnet", "resnet18")
        self.python("import sys, torchvision, safetensors.torch as st\n"
                    "torchvision.models.resnet18(num_classes=4).load_state_dict(st.load_file(sys.argv[1]), strict=True)",
                    weights)

    def test_timm_loads_a_vit(self):
        _, weights = self.exported("vit", "vit_tiny_patch16_224, img_size: 32")
        self.python("import sys, timm, safetensors.torch as st\n"
                    "timm.create_model('vit_tiny_patch16_224', img_size=32, num_classes=4)"
                    ".load_state_dict(st.load_file(sys.argv[1]), strict=True)", weights)

    def test_tensorboard_reads_the_events(self):
        run, _ = self.exported("events", "resnet18")
        out = self.python("import sys, json\n"
                          "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
                          "events = EventAccumulator(sys.argv[1]); events.Reload()\n"
                          "print(json.dumps([[e.step, e.value] for e in events.Scalars('train/loss')]))", run)
        losses = [(line["step"], line["train/loss"]) for line in read_metrics(run) if "train/loss" in line]
        for (step, value), (expected_step, expected) in zip(json.loads(out), losses, strict=True):
            self.assertEqual(step, expected_step)
            self.assertAlmostEqual(value, expected, places=5)

    def test_pyarrow_reads_the_predictions(self):
        run = self.run_directory("predicted")
        self.train(self.write_recipe(model="resnet18"), "--run-dir", run, "train.duration=1ep")
        for name in ("told.csv", "told.parquet"):
            result = paceline("eval", run, "--predictions", self.root / name, "--topk", 2)
            self.assertEqual(result.code, 0, str(result))
        types, rows = json.loads(self.python(
            "import sys, json, pyarrow.parquet as pq\n"
            "table = pq.read_table(sys.argv[1], page_checksum_verification=True)\n"
            "print(json.dumps([[[f.name, str(f.type)] for f in table.schema], table.to_pylist()]))",
            self.root / "told.parquet"))
        told = [("told", "int64"), ("told_class", "string"), ("probability", "double")]
        self.assertEqual([tuple(field) for field in types], [
            ("index", "int64"), ("sample", "string"), ("label", "int64"), ("class", "string"), ("loss", "double"),
            *told, *((name.replace("_class", "_2_class") if "_" in name else f"{name}_2", kind) for name, kind in told)])
        with open(self.root / "told.csv", newline="") as file:
            for row, line in zip(rows, csv.DictReader(file), strict=True):
                for name, text in line.items():
                    value = row[name]
                    self.assertEqual(f"{value:.9g}" if isinstance(value, float) else str(value), text)

    def test_under_torchrun_the_program_is_one_rank(self):
        run = self.run_directory("torchrun")
        result = subprocess.run(
            [str(PYTHON), "-m", "torch.distributed.run", "--nproc-per-node=2", "--no-python", str(PACELINE), "train",
             str(self.write_recipe()), "--run-dir", str(run)], env=environment(), capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads((run / "summary.json").read_text())["world_size"], 2)


if __name__ == "__main__":
    unittest.main()
