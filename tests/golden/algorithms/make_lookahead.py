"""Writes lookahead.json: slow weights that timm 1.0.31's Lookahead keeps of scripted weights, and those of the law of
airbench94 (Jordan, 2024).

    python tests/golden/algorithms/make_lookahead.py

What they compute, as a contract for the C++:

timm. Every k steps each slow parameter, a copy of the parameter before the first step, becomes slow + alpha * (fast -
slow), and the parameter the slow one. Buffers are left alone. (timm makes its copy when it synchronises for the first
time; it is made here beforehand, as in the paper. It ends with the fast weights, the C++ with the slow ones, as the
paper: its last step is left out.)

airbench94. Every 5 steps slow <- decay * slow + (1 - decay) * fast, fast <- slow, of parameters and floating buffers,
with decay = 0.95 ** 5 * (step / steps) ** 3; after the last step fast <- slow.

The file: `cases`, as of make_swa.py: `model` is what the network holds after the step, `average` the slow weights. The
weights of batch t are written before it, whatever was synchronised: the law alone is compared.
"""

import json
import pathlib

import torch
from averaged_net import BATCHES_PER_EPOCH, MAX_BATCHES, Net, write_weights
from timm.optim import Lookahead


def rounded(tensor):
    return [float(f"{value:.9g}") for value in tensor.detach().reshape(-1).tolist()]


def case(options, net, update, slow_of):
    updates = []
    for batch in range(1, MAX_BATCHES + 1):
        write_weights(net, batch)
        update(batch)
        updates.append({"batch": batch, "average": {name: rounded(value) for name, value in slow_of().items()},
                        "model": {name: rounded(value) for name, value in net.state_dict().items()
                                  if value.is_floating_point()}})
    return {"options": options, "max_batches": MAX_BATCHES, "batches_per_epoch": BATCHES_PER_EPOCH, "updates": updates}


def timm_case(alpha, k):
    net = Net()
    write_weights(net, 0)
    named = dict(net.named_parameters())
    optimizer = Lookahead(torch.optim.SGD(net.parameters(), lr=0.0), alpha=alpha, k=k)
    for parameter in net.parameters():
        optimizer._base_optimizer.state[parameter]["lookahead_slow_buff"] = parameter.detach().clone()
        parameter.grad = torch.zeros_like(parameter)
    state = optimizer._base_optimizer.state
    result = case({"interval": f"{k}ba", "decay": 1 - alpha}, net, lambda batch: optimizer.step(),
                  lambda: {name: state[value]["lookahead_slow_buff"] for name, value in named.items()})
    return {**result, "updates": result["updates"][:-1]}


def airbench_case():
    net = Net()
    write_weights(net, 0)
    tensors = {name: value for name, value in net.state_dict().items() if value.is_floating_point()}
    slow = {name: value.clone() for name, value in tensors.items()}
    decays = 0.95 ** 5 * (torch.arange(MAX_BATCHES + 1, dtype=torch.float64) / MAX_BATCHES) ** 3

    def synchronise(decay):
        for name, fast in tensors.items():
            slow[name].lerp_(fast, 1 - decay)
            fast.copy_(slow[name])

    def update(batch):
        if batch % 5 == 0:
            synchronise(decays[batch].item())
        if batch == MAX_BATCHES:
            synchronise(1.0)

    return case({"interval": "5ba", "decay": 0.95 ** 5, "decay_power": 3.0}, net, update, lambda: slow)


def main():
    cases = [timm_case(0.5, 6), timm_case(0.8, 4), airbench_case()]
    path = pathlib.Path(__file__).with_name("lookahead.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
