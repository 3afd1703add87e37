"""Writes layer_freezing.json: the layers that Composer's LayerFreezing freezes (mosaicml 0.32.1, torchvision 0.22.0).

    python tests/golden/algorithms/make_layer_freezing.py

What Composer computes, as a contract for the C++:

Layers are modules without children that hold parameters, in order of registration, whatever lies between; parameters
that a module with children holds itself belong to none and are never frozen. The last layer is never frozen.

When. At each EPOCH_END, with t the share of training done by then, the last epoch's end included. With t <= start
nothing; else f = level * ((t - start) / (1 - start)) and the first int(f * (n - 1)) of n layers: requires_grad is
taken off and they leave the optimizer's groups, for good. Modules stay in training mode, so BatchNorms of frozen
layers go on moving their running statistics. Nothing is in the state of a checkpoint: a resumed run trains all layers
until the next epoch ends (its warning says so), which the C++ need not.

The file: `cases`, each with `model` (of torchvision), the constructor's `options`, `epochs` of training, and for the
end of each epoch the names of the parameters that are `trained` then, as places in `parameters`.
"""

import json
import pathlib
import warnings

import torch
import torchvision
from composer.algorithms.layer_freezing import LayerFreezing
from composer.core import Event, State
from composer.devices import DeviceCPU
from composer.loggers import Logger


def run(name, epochs, **options):
    model = getattr(torchvision.models, name)()
    parameters = [key for key, _ in model.named_parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = State(model=model, rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration=f"{epochs}ep",
                  optimizers=optimizer)
    algorithm, logger, trained = LayerFreezing(**options), Logger(state), []
    for _ in range(epochs):
        state.timestamp = state.timestamp.to_next_batch().to_next_epoch()
        assert algorithm.match(Event.EPOCH_END, state)
        algorithm.apply(Event.EPOCH_END, state, logger)
        named = list(model.named_parameters())
        trained.append([place for place, (_, tensor) in enumerate(named) if tensor.requires_grad])
        held = {id(tensor) for group in optimizer.param_groups for tensor in group["params"]}
        assert held == {id(tensor) for _, tensor in named if tensor.requires_grad}
    assert all(module.training for module in model.modules())
    return {"model": name, "options": options, "epochs": epochs, "parameters": parameters, "trained": trained}


def main():
    warnings.simplefilter("ignore")
    cases = [run("resnet18", 10), run("resnet18", 7, freeze_start=0.0, freeze_level=0.5),
             run("resnet18", 12, freeze_start=0.25, freeze_level=1.0), run("resnet50", 5, freeze_start=0.3)]
    path = pathlib.Path(__file__).with_name("layer_freezing.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
