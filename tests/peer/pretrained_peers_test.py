"""The Python programs find what paceline fetched, and the table of torchvision's weights is torchvision's."""

import json
import os
import pathlib
import subprocess
import unittest

from fake_hub import QUICK, FakeHub, HubTest
from paceline_process import environment, paceline

SOURCE = pathlib.Path(__file__).parents[2]
PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"

# Fetches or finds some/net with huggingface_hub, and prints what it got.
ASK = """
import json, sys
from huggingface_hub import hf_hub_download, scan_cache_dir, try_to_load_from_cache
path = hf_hub_download("some/net", "model.safetensors", revision=sys.argv[1])
cache = scan_cache_dir()
print(json.dumps({"path": path, "found": try_to_load_from_cache("some/net", "config.json"),
                  "warnings": [str(warning) for warning in cache.warnings],
                  "commits": [revision.commit_hash for repo in cache.repos for revision in repo.revisions]}))
"""

# Prints {"torchvision:MODEL/WEIGHTS": top-1} of all enums of torchvision's classification models.
PUBLISHED = """
import json
from torchvision import models
print(json.dumps({f"torchvision:{model}/{weights.name}": weights.meta["_metrics"]["ImageNet-1K"]["acc@1"]
                  for model in models.list_models(module=models) for weights in models.get_model_weights(model)
                  if weights.name != "IMAGENET1K_FEATURES"}))  # which classify nothing
"""


def python(*arguments, env=None):
    return subprocess.run([str(PYTHON), *map(str, arguments)], env=env, capture_output=True, text=True, timeout=300)


class PretrainedPeers(HubTest):
    def setUp(self):
        self.hub = FakeHub({"model.safetensors": self.weights, "config.json": b"{}"})
        self.addCleanup(self.hub.close)
        self.home = self.root / self.id().rpartition(".")[2]
        self.env = environment(HF_ENDPOINT=self.hub.url, HF_HOME=self.home, HF_HUB_DISABLE_XET=1,
                               HF_HUB_DISABLE_TELEMETRY=1)

    def ask(self, revision="main", **changes):
        result = python("-c", ASK, revision, env=self.env | changes)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout.splitlines()[-1])

    def fetch(self, weights, **changes):
        result = paceline("train", self.recipe, f"model.pretrained={weights}", *QUICK, cwd=self.root,
                          env=self.env | changes)
        self.assertEqual(result.code, 0, str(result))
        return result.err

    def test_huggingface_hub_finds_what_we_fetched(self):
        self.fetch("hf:some/net")
        for revision in ("main", self.hub.commit):
            found = self.ask(revision, HF_HUB_OFFLINE="1")
            self.assertEqual(pathlib.Path(found["path"]).read_bytes(), self.weights)
            self.assertTrue(found["found"].endswith(f"snapshots/{self.hub.commit}/config.json"), found)
            self.assertEqual(found["warnings"], [])
            self.assertEqual(found["commits"], [self.hub.commit])
        downloads = self.hub.downloads()
        self.ask()
        self.assertEqual(self.hub.downloads(), downloads)

    def test_we_find_what_huggingface_hub_fetched(self):
        self.ask()
        downloads = self.hub.downloads()
        self.fetch("hf:some/net", HF_HUB_OFFLINE="1")
        self.fetch(f"hf:some/net@{self.hub.commit}", HF_ENDPOINT="http://127.0.0.1:9")
        self.fetch("hf:some/net")
        self.assertEqual(self.hub.downloads(), downloads)

    def test_the_table_is_that_of_torchvision(self):
        made = python(SOURCE / "tools/torchvision_weights.py")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(made.stdout, (SOURCE / "src/paceline/pretrained/torchvision_table.inc").read_text())

    def test_list_models_tells_the_top1_of_torchvisions_enums(self):
        asked = python("-c", PUBLISHED)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        published = json.loads(asked.stdout.splitlines()[-1])
        listed = paceline("list", "models", "--json")
        self.assertEqual(listed.code, 0, str(listed))
        models = {model["name"]: model["weights"] for model in json.loads(listed.out)}
        told = {weights["pretrained"]: weights["top1"] for known in models.values() for weights in known}
        expected = {name: top1 for name, top1 in published.items() if name.split(":")[1].split("/")[0] in models}
        self.assertGreater(len(expected), 20)
        self.assertEqual(told, expected)
        self.assertEqual([model for model, known in models.items() if known and sum(w["is_default"] for w in known) != 1], [])


if __name__ == "__main__":
    unittest.main()
