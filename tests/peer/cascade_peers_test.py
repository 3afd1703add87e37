"""What a cascade is measured beside is what it claims to be: a twin of ours, and the size of the repository's model."""

import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import RunTest

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
BIN = pathlib.Path(os.environ.get("PACELINE_BUILD", "")).resolve() / "bin"
ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "benchmarks" / "peers"

# Largest relative difference of either form of a stage from the formulation of the golden files.
BESIDE_GOLDEN = """
import json, torch
import make_ct_cascade
from ct_cascade_twin import Denoiser, Stage
torch.manual_seed(1)
worst = 0
for options in ({"side": 8, "patch": 2, "dim": 16, "depth": 2, "heads": 2},
                {"side": 16, "patch": 4, "dim": 24, "depth": 1, "heads": 3, "previous": 8}):
    stage = Stage(**options, xray_size=32, xray_dim=64)
    golden = make_ct_cascade.Stage({**options, "views": [0, 90], "xray_size": 32})
    for parameter in golden.parameters():
        torch.nn.init.normal_(parameter, 0, 0.1)
    inputs = [torch.randn(2, 2, 32, 32), torch.randn(2, *(stage.side,) * 3), torch.tensor([3, 871]), None, None]
    if stage.previous:
        inputs[3:] = [torch.randn(2, *(stage.previous,) * 3), torch.tensor([0.05, 0.3], dtype=torch.float64)]
    wanted = golden(*inputs)
    for is_fast in (False, True):
        twin = Denoiser(stage, is_fast)
        twin.load_state_dict(golden.state_dict(), strict=True)
        worst = max(worst, ((twin(*inputs) - wanted).abs().max() / wanted.abs().max()).item())
print(json.dumps(worst))
"""


class CascadePeers(RunTest):
    def python(self, *arguments, folders=()):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders)), "OMP_NUM_THREADS": "1"}
        result = subprocess.run([str(PYTHON), *map(str, arguments)], capture_output=True, text=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_the_twin_is_what_golden_files_say(self):
        folders = (PEERS, ROOT / "tests" / "golden" / "models")
        self.assertLess(json.loads(self.python("-c", BESIDE_GOLDEN, folders=folders)), 1e-5)

    def test_the_twin_has_our_loss_gradients_and_samples(self):
        file = self.root / "cascade.safetensors"
        subprocess.run([BIN / "cascade", "write", "16", "4", file], check=True)
        differences = json.loads(self.python(PEERS / "cascade.py", "check", file, 16, 4))
        self.assertEqual(set(differences), {"loss", "gradients", "samples"})

    def test_the_repository_has_as_many_parameters(self):
        self.python("-c", "import rebuilt; rebuilt.check_size()", folders=(ROOT / "tests" / "peer" / "cascade_quality",))


if __name__ == "__main__":
    unittest.main()
