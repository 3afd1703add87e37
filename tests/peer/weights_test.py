"""Weights go both ways: torch, timm and safetensors load what `export` writes, and we what torch.save writes."""

import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import RunTest, paceline

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"

# Logits of one image, of a model that is loaded with every warning as an error, and of the safetensors file's weights.
SAME_LOGITS = """
import json, logging, sys, warnings
import timm, torch
from safetensors.torch import load_file
warnings.simplefilter("error")
said = []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: said.append(record.getMessage())
logging.getLogger().addHandler(handler)
expected = timm.create_model(sys.argv[1], **json.loads(sys.argv[2]))
expected.load_state_dict(load_file(sys.argv[3]), strict=True)
loaded = LOAD
assert not said, said
image = torch.randn(1, 3, 32, 32)
with torch.no_grad():
    assert torch.equal(expected.eval()(image), loaded.eval()(image))
"""


class Weights(RunTest):
    def python(self, code, *arguments):
        result = subprocess.run([str(PYTHON), "-c", code, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def export(self, run, output, *options):
        path = self.root / output
        result = paceline("export", run, "-o", path, *options)
        self.assertEqual(result.code, 0, result)
        self.assertNotIn("warning", result.err)
        return path

    def check_formats(self, name, model, timm_name, options):
        run = self.run_directory(name)
        self.train(self.write_recipe(model=model), "--run-dir", run, "train.duration=1ep")
        plain = self.export(run, f"{name}.safetensors")
        options = json.dumps(options)
        whole = self.export(run, f"{name}.pt", "--format", "pt")
        self.python(SAME_LOGITS.replace("LOAD", "timm.create_model(sys.argv[1], **json.loads(sys.argv[2]))\n"
                                        "loaded.load_state_dict(torch.load(sys.argv[4], weights_only=True), strict=True)"),
                    timm_name, options, plain, whole)
        self.python(SAME_LOGITS.replace("LOAD", "timm.create_model(sys.argv[1], checkpoint_path=sys.argv[4], "
                                        "**json.loads(sys.argv[2]))"), timm_name, options, plain, whole)
        folder = self.export(run, name, "--format", "hf")
        self.python(SAME_LOGITS.replace("LOAD", "timm.create_model(f'local-dir:{sys.argv[4]}', pretrained=True)"),
                    timm_name, options, plain, folder)
        self.python(SAME_LOGITS.replace("LOAD", "timm.create_model(sys.argv[1], "
                                        "checkpoint_path=sys.argv[4] + '/model.safetensors', **json.loads(sys.argv[2]))"),
                    timm_name, options, plain, folder)
        return folder

    def test_timm_loads_a_folder(self):
        folder = self.check_formats("resnet", "resnet18", "resnet18", {"num_classes": 4})
        config = json.loads((folder / "config.json").read_text())
        self.assertEqual((config["num_classes"], config["num_features"], len(config["label_names"])), (4, 512, 4))
        self.assertIn("timm.create_model", (folder / "README.md").read_text())

    def test_timm_loads_a_vit(self):
        self.check_formats("vit", "vit_tiny_patch16_224, img_size: 32", "vit_tiny_patch16_224",
                           {"num_classes": 4, "img_size": 32})

    def test_what_torch_saves_starts_a_run(self):
        """The same run from all that weights can be in, and from what was exported in every format."""
        self.python("import sys, timm, torch\n"
                    "from safetensors.torch import save_file\n"
                    "model = timm.create_model('resnet18', num_classes=4)\n"
                    "root = sys.argv[1]\n"
                    "torch.save(model.state_dict(), root + '/new.pth')\n"
                    "torch.save(model.state_dict(), root + '/old.bin', _use_new_zipfile_serialization=False)\n"
                    "torch.save({'epoch': 1, 'state_dict': {'module.' + k: v for k, v in model.state_dict().items()}}, "
                    "root + '/program.ckpt')\n"
                    "save_file(model.state_dict(), root + '/plain.safetensors')\n", self.root)
        losses = set()
        for number, file in enumerate(("plain.safetensors", "new.pth", "old.bin", "program.ckpt")):
            run = self.run_directory(f"from-{number}")
            self.train(self.write_recipe(model="resnet18"), "--run-dir", run, "train.duration=2ba", "schedule=constant",
                       f"model.pretrained={self.root / file}", "model.pretrained_strict=true")
            losses.add(tuple(json.loads(line).get("train/loss") for line in (run / "metrics.jsonl").read_text().splitlines()))
        self.assertEqual(len(losses), 1)


if __name__ == "__main__":
    unittest.main()
