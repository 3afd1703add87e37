"""What Lightning's Trainer adds to a bare Python loop of the same arithmetic, in ms a step.

Barebones: without logging, progress bar, checkpoints and checks.
"""

import json
import statistics
import sys
import time
import warnings

import lightning
import timm
import torch

STEPS = int(sys.argv[1])
SKIP = 100
ROUNDS = 5

warnings.filterwarnings("ignore")
torch.manual_seed(1)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = timm.models.vision_transformer.VisionTransformer(
            img_size=32, patch_size=8, embed_dim=64, depth=12, num_heads=4, num_classes=10)
        self.ends = []

    def training_step(self, batch, _):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def on_train_batch_end(self, *_):
        self.ends.append(time.perf_counter())

    def configure_optimizers(self):
        return torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9, weight_decay=1e-4, fused=True)


def median_ms(ends):
    return 1e3 * statistics.median(b - a for a, b in zip(ends[SKIP:], ends[SKIP + 1:]))


def bare_ms():
    module = Classifier()
    optimizer = module.configure_optimizers()
    images, labels = torch.randn(1, 3, 32, 32), torch.randint(10, (1,))
    ends = []
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(module.model(images), labels).backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return median_ms(ends)


def trainer_ms():
    module = Classifier()
    data = torch.utils.data.TensorDataset(torch.randn(STEPS, 3, 32, 32), torch.randint(10, (STEPS,)))
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", barebones=True)
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=1))
    return median_ms(module.ends)


# Less the mean of the bare loops before and after; the median of all.
bare, trained = [bare_ms()], []
for _ in range(ROUNDS):
    trained.append(trainer_ms())
    bare.append(bare_ms())
print(json.dumps({"added_ms": statistics.median(
    each - statistics.mean(around) for each, around in zip(trained, zip(bare, bare[1:])))}))
