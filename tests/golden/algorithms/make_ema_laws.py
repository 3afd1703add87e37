"""Writes ema_laws.json: averages that timm 1.0.31 and torch 2.11.0's AveragedModel, with torchvision's decay, keep of
scripted weights.

    python tests/golden/algorithms/make_ema_laws.py

What they compute, as a contract for the C++:

timm (ModelEmaV3, called after each of its updates with their number, from 1 on). Let n be that number less 1. n = 0
copies; then the average keeps min(decay, 1 - (1 + n / warmup_gamma) ** -warmup_power) of itself, or decay without
use_warmup. Parameters and floating buffers alike.

torchvision (references/classification/train.py). The decay that is given is adapted to the length of training:
    adjust = world_size * batch_size * model_ema_steps / epochs
    alpha = min(1, (1 - decay) * adjust)
and the average keeps 1 - alpha at each update; the first copies.

The file: `cases`, as of make_ema.py but for the options' names, which are the C++'s; of the rescaled one also
`samples_per_step`. Weights of batch t are those of make_ema.py; the frozen fc2.bias and the counter are left out.
"""

import json
import pathlib

import torch
from averaged_net import BATCHES_PER_EPOCH, MAX_BATCHES, Net, write_weights
from timm.utils import ModelEmaV3
from torch.optim.swa_utils import AveragedModel


def average_of(module):
    return {name: [float(f"{value:.9g}") for value in tensor.reshape(-1).tolist()]
            for name, tensor in module.state_dict().items()
            if tensor.is_floating_point() and name != "fc2.bias"}


def case(options, update, module, net, **facts):
    updates = []
    for batch in range(1, MAX_BATCHES + 1):
        write_weights(net, batch)
        update(batch)
        updates.append({"batch": batch, "average": average_of(module())})
    return {"options": options, "max_batches": MAX_BATCHES, "batches_per_epoch": BATCHES_PER_EPOCH, "updates": updates, **facts}


def timm_case(decay, **warmup):
    net = Net()
    ema = ModelEmaV3(net, decay=decay, use_warmup=bool(warmup), **warmup)
    return case({"smoothing": decay, **warmup}, lambda batch: ema.update(net, step=batch), lambda: ema.module, net)


def torchvision_case(decay, samples_per_step):
    net = Net()
    epochs = MAX_BATCHES / BATCHES_PER_EPOCH
    alpha = min(1.0, (1.0 - decay) * samples_per_step * 1 / epochs)
    ema = AveragedModel(net, avg_fn=lambda average, weight, count: (1 - alpha) * average + alpha * weight, use_buffers=True)
    return case({"smoothing": decay, "rescale": "torchvision"}, lambda batch: ema.update_parameters(net), lambda: ema.module,
                net, samples_per_step=samples_per_step)


def main():
    cases = [timm_case(0.9), timm_case(0.95, warmup_power=2 / 3, warmup_gamma=1.0),
             timm_case(0.6, warmup_power=0.8, warmup_gamma=4.0), torchvision_case(0.99, 64), torchvision_case(0.9, 1024)]
    path = pathlib.Path(__file__).with_name("ema_laws.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
