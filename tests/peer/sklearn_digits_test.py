"""The recipe cifar10-fast learns scikit-learn's handwritten digits no worse than scikit-learn's own support vectors."""

import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import RunTest, environment, read_metrics

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
RECIPE = pathlib.Path(__file__).resolve().parents[2] / "recipes" / "cifar10-fast.yaml"

# Writes the pictures, of 8 pixels a side and here of 32, in folders of classes; a fifth of them is held out. Prints
# which share of these the support vectors tell, with the settings of scikit-learn's own example of these digits.
PREPARE = """
import json, pathlib, sys
import numpy as np
from PIL import Image
from sklearn import datasets, svm
from sklearn.model_selection import train_test_split

digits = datasets.load_digits()
parts = train_test_split(digits.images, digits.target, test_size=0.2, random_state=0, stratify=digits.target)
for split, images, labels in (("train", parts[0], parts[2]), ("val", parts[1], parts[3])):
    for number, (image, label) in enumerate(zip(images, labels)):
        folder = pathlib.Path(sys.argv[1], split, str(label))
        folder.mkdir(parents=True, exist_ok=True)
        pixels = Image.fromarray((image * 255 / 16).astype(np.uint8)).convert("RGB")
        pixels.resize((32, 32), Image.Resampling.BILINEAR).save(folder / f"{number}.png")
classifier = svm.SVC(gamma=0.001)
classifier.fit(parts[0].reshape(len(parts[0]), -1), parts[2])
print(json.dumps({"svc": classifier.score(parts[1].reshape(len(parts[1]), -1), parts[3]), "images": len(parts[0])}))
"""

NORMALIZE = "{name: normalize, mean: [0.3, 0.3, 0.3], std: [0.35, 0.35, 0.35]}"
CHANGES = [
    "data=image_folder", "model.widths=[16, 64, 64]", "train.precision=fp32", "data.global_batch_size=128",
    f"data.train_transforms=[{{name: random_crop, size: 32, padding: 2, padding_mode: reflect}}, {NORMALIZE}]",
    f"data.eval_transforms=[{NORMALIZE}]", "train.duration=30ep", "schedule.warmup=0.23dur", "loggers={jsonl: }",
]


class SklearnDigits(RunTest):
    def test_no_worse_than_support_vectors(self):
        folder = self.root / "digits"
        told = subprocess.run([str(PYTHON), "-c", PREPARE, str(folder)], capture_output=True, text=True, timeout=300)
        self.assertEqual(told.returncode, 0, told.stderr)
        peer = json.loads(told.stdout)
        self.assertEqual(peer["images"], 1437)
        run = self.run_directory("run")
        self.train(RECIPE, "--run-dir", run, f"data.path={folder}", *CHANGES, timeout=600,
                   env=environment(OMP_WAIT_POLICY="passive"))
        top1 = [line["val/top1"] for line in read_metrics(run) if line.get("event") == "eval"]
        print(f"\nscikit-learn's SVC {peer['svc']:.4f}, cifar10-fast after its last epoch {top1[-1]:.4f}", flush=True)
        self.assertGreaterEqual(top1[-1], peer["svc"])


if __name__ == "__main__":
    unittest.main()
