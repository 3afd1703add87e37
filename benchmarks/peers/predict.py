"""timm's model over a folder of photos: reads its weights, prints each photo's five most probable classes.

predict.py FOLDER WEIGHTS MODEL WORKERS eager|frozen float32|bfloat16

    eager   the network as it is, channels-last
    frozen  traced and frozen for inference, which folds BatchNorm into convolutions
"""

import json
import pathlib
import sys

import safetensors.torch
import timm
import torch
from PIL import Image
from torchvision import transforms

BATCH = 64


class Photos(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.paths = sorted(str(path) for path in pathlib.Path(folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
        self.transform = transforms.Compose([
            transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        with Image.open(self.paths[number]) as image:
            return self.transform(image.convert("RGB")), number


folder, weights, name, workers, form, precision = sys.argv[1:]
dtype = getattr(torch, precision)
state = safetensors.torch.load_file(weights)
model = timm.create_model(name, num_classes=len(state["fc.bias"]))
model.load_state_dict(state)
model = model.eval().to(dtype).to(memory_format=torch.channels_last)
photos = Photos(folder)
loader = torch.utils.data.DataLoader(photos, batch_size=BATCH, num_workers=int(workers))
with torch.inference_mode():
    if form == "frozen":
        example = torch.zeros(BATCH, 3, 224, 224, dtype=dtype).to(memory_format=torch.channels_last)
        model = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, example)))
    for images, numbers in loader:
        logits = model(images.to(dtype, memory_format=torch.channels_last))
        best = logits.float().softmax(1).topk(5)
        for number, classes, values in zip(numbers.tolist(), best.indices.tolist(), best.values.tolist()):
            print(photos.paths[number], *(f"{label} {value:.4f}" for label, value in zip(classes, values)))
print(json.dumps({"photos": len(photos)}))
