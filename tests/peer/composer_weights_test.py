"""Composer's changed models load what `export --names composer` writes, and compute the same. PACELINE_COMPOSER names
the Python environment that they are in (pip install mosaicml==0.32.1), which is no part of deps/peers.txt."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from paceline_process import RunTest, paceline

PYTHON = pathlib.Path(os.environ.get("PACELINE_COMPOSER", "")) / "bin" / "python"

# argv: how torchvision makes the model, the calls of composer.functional, a file in each format, the folder that
# `paceline predict` wrote. Prints the largest difference of a probability.
COMPARE = """
import csv, json, pathlib, sys
import torch, torchvision
from composer import functional
from PIL import Image
from torchvision import transforms

def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    types = {"F32": torch.float32, "I64": torch.int64}
    return {name: torch.frombuffer(bytearray(data[end + each["data_offsets"][0]:end + each["data_offsets"][1]]),
                                   dtype=types[each["dtype"]]).reshape(each["shape"])
            for name, each in json.loads(data[8:end]).items() if name != "__metadata__"}

make, calls, plain, pickled, predicted = sys.argv[1:]
model = eval(make, {"torchvision": torchvision})
for call in json.loads(calls):
    eval(call, {**vars(functional), "model": model})
weights = torch.load(pickled, weights_only=True)
assert all(tensor.equal(weights[name]) for name, tensor in read_safetensors(plain).items())
filters = {name: tensor.clone() for name, tensor in model.state_dict().items() if "filt" in name}
model.load_state_dict(read_safetensors(plain), strict=True)
assert all(model.state_dict()[name].equal(tensor) for name, tensor in filters.items())
model.load_state_dict(weights, strict=True)

with open(predicted + "/samples.csv", newline="") as file:
    samples = [row["sample"] for row in csv.DictReader(file)]
prepare = transforms.Compose([transforms.CenterCrop(32), transforms.ToTensor(),
                              transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
images = torch.stack([prepare(Image.open(sample).convert("RGB")) for sample in samples])
with torch.no_grad():
    theirs = model.eval()(images).softmax(1)
values = pathlib.Path(predicted + "/probabilities.npy").read_bytes()
ours = torch.frombuffer(bytearray(values[-4 * theirs.numel():]), dtype=torch.float32).reshape(theirs.shape)
print(float((theirs - ours).abs().max()), float(theirs.std(0).max()))
"""

EXCITE = "++algorithms.squeeze_excite={latent_channels: 3, min_channels: 256}"
FACTORIZE = "++algorithms.factorize={min_channels: 256, latent_channels: 0.125, min_features: 4, latent_features: 2}"
BOTTLENECKS = "resnet, layers: [1, 1, 1, 1], block: bottleneck"
MAKE_BOTTLENECKS = "torchvision.models.ResNet(torchvision.models.resnet.Bottleneck, [1, 1, 1, 1], num_classes=4)"


@unittest.skipUnless(PYTHON.exists(), "PACELINE_COMPOSER names no environment with mosaicml 0.32.1")
class ComposerWeights(RunTest):
    def export(self, run, output, *options):
        result = paceline("export", run, "--names", "composer", "-o", output, *options)
        self.assertEqual(result.code, 0, str(result))
        self.assertNotIn("warning", result.err)
        return re.findall(r"apply_\w+\(.*\)", result.err)

    def check(self, name, model, make, algorithms, num_calls):
        run = self.run_directory(name)
        recipe = self.write_recipe(model=model, name=f"{name}.yaml")
        prepared = "data.eval_transforms=[{name: center_crop, size: 32}, normalize]"
        self.train(recipe, "--run-dir", run, "train.duration=20ba", "optimizer.lr=0.005", prepared, *algorithms)
        calls = self.export(run, self.root / f"{name}.safetensors")
        self.assertEqual(len(calls), num_calls)
        self.assertEqual(self.export(run, self.root / f"{name}.pt", "--format", "pt"), calls)
        predicted = paceline("predict", run, "-o", self.root / name)
        self.assertEqual(predicted.code, 0, str(predicted))
        files = (self.root / f"{name}.safetensors", self.root / f"{name}.pt", self.root / name)
        result = subprocess.run([str(PYTHON), "-c", COMPARE, make, json.dumps(calls), *map(str, files)],
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr[-3000:])
        difference, spread = map(float, result.stdout.split())
        self.assertLess(difference, 1e-5)
        self.assertGreater(spread, 1e-3, "the probabilities do not depend on the images")

    def test_all_changes_of_basic_blocks(self):
        self.check("basic", "resnet18", "torchvision.models.resnet18(num_classes=4)",
                   ["++algorithms.blurpool.blur_first=true", EXCITE, FACTORIZE,
                    "++algorithms.ghost_batchnorm.ghost_batch_size=6"], num_calls=4)

    def test_bottlenecks_that_are_blurred_behind_and_left_out_at_random(self):
        self.check("bottlenecks", BOTTLENECKS, MAKE_BOTTLENECKS,
                   ["++algorithms.blurpool={blur_first: false, min_channels: 64}", EXCITE,
                    "++algorithms.stochastic_depth={drop_rate: 0.3, method: sample}"], num_calls=3)

    def test_a_model_that_nothing_changed(self):
        self.check("plain", "resnet18", "torchvision.models.resnet18(num_classes=4)", [], num_calls=0)


if __name__ == "__main__":
    unittest.main()
