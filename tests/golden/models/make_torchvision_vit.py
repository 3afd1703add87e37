"""Writes torchvision_vit.safetensors and .json: a small ViT of torchvision, as its state_dict, and what it answers.

    python tests/golden/models/make_torchvision_vit.py        # torch 2.11, torchvision 0.26

No two sizes are equal, so that nothing fits where it does not belong. Weights and images are make_models.py's.
"""

import json
import pathlib

import safetensors.torch
import torch
import torchvision
from make_models import images, rounded, set_weights

SIZES = {"image_size": 24, "patch_size": 8, "num_layers": 2, "num_heads": 2, "hidden_dim": 12, "mlp_dim": 36,
         "num_classes": 7}


def main():
    torch.set_num_threads(1)
    model = torchvision.models.VisionTransformer(**SIZES).eval()
    set_weights(model)
    with torch.no_grad():
        logits = model(images(3, SIZES["image_size"], torch.float32))
    path = pathlib.Path(__file__).with_name("torchvision_vit")
    safetensors.torch.save_file(model.state_dict(), path.with_suffix(".safetensors"))
    numbers = {"made_with": {"torch": torch.__version__, "torchvision": torchvision.__version__, "threads": 1},
               "sizes": SIZES, "logits": rounded(logits.double().flatten().tolist(), 9)}
    path.with_suffix(".json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
