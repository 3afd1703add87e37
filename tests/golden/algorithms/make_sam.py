"""Writes sam.json: losses and weights of steps of Composer's SAMOptimizer (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_sam.py

What Composer computes, as a contract for the C++:

A step is numbered from 1; SAM runs in those that the interval divides (interval 3: steps 3, 6, ...), the others are
plain steps of the base optimizer. The number counts failed steps too, and is not saved: a resumed run counts from 1.

A step with SAM, in the type of the weights:
 1. A full forward and backward pass over the batch (all microbatches, gradients zeroed before) at w gives g and the
    loss. Ranks do not average: each has the g of its own samples.
 2. norm = the 2-norm of the vector of the 2-norms of the tensors' gradients, over all groups, tensors without a
    gradient left out. scale = rho / (norm + epsilon). e = g * scale, and w <- w + e. A parameter without a gradient
    stays where it is. Weight decay of the base optimizer has no part in g, and e is not scaled per element (not ASAM).
 3. A second full pass, gradients zeroed before, at w + e, now averaged over ranks (each rank at its own w + e).
 4. w <- (w + e) - e: w is *not* kept aside, so that it comes back but for a rounding, which differs per rank: replicas
    that began equal to the last bit drift apart. The base optimizer then steps from there with the second gradient;
    decay and momentum are its own, as without SAM.
The loss that is reported and returned is the first one, at w. Everything else that hangs on a pass happens twice:
batch-norm statistics are updated in both passes, MixUp draws again, dropout too, train metrics see both passes, and
gradient clipping (AFTER_TRAIN_BATCH, inside the closure) clips g before the norm of 2 is taken as well. Clipping by a
global norm thus changes nothing in e; clipping by value does.

Failures. A closure says with a false result (fp16: an infinite gradient on any rank) that its pass is of no use. In the
first pass: nothing changes, the base optimizer does not step. In the second: w <- (w + e) - e, no step. In a plain
step: no step. The closure returns the loss, so that without a gradient scaler a loss of exactly 0 counts as failed; the
C++ need not repeat that. With a scaler both passes are unscaled on their own, and its scale is updated once per batch
from what the *last* pass found.

Saving. SAMOptimizer shares the groups of its base (a scheduler that sets one's lr sets both) but its state_dict holds
only e of each parameter: in 0.32.1 the momentum of the base is lost in a checkpoint. Another fault not to repeat: e of
an earlier step is subtracted in 4 from a parameter that has a gradient in the second pass but had none in the first.

The file: `cases`, each with `optimizer`, `options` of the base, `rho`, `epsilon`, `interval`, `ranks`, `failures` (step
to failing pass) and `steps`, each with `losses` (of the passes made, per rank), `norm` (null in a plain step; per rank)
and `weights` after it (name to flat values, float64; of rank 0). The net is fc2(tanh(fc1(x))) with fc1 3 to 4 and fc2 4
to 2; parameter number n (fc1.weight, fc1.bias, fc2.weight, fc2.bias) begins as wave(shape, 10 n). Step s of rank r has
inputs wave([5, 3], 3 + s + 100 r) and targets wave([5, 2], 50 + s + 100 r); the loss is the mean of the squared
differences, over samples and outputs. Two ranks are two replicas in one process; their second gradients are averaged.
"""

import json
import math
import pathlib

import torch
from composer.algorithms.sam import SAMOptimizer
from torch import nn
from torch.nn import functional as F

STEPS = 6
SGD = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-2}
ADAMW = {"lr": 0.01, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 1e-2}


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    return [float(f"{value:.14g}") for value in tensor.detach().reshape(-1).tolist()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4, dtype=torch.float64)
        self.fc2 = nn.Linear(4, 2, dtype=torch.float64)
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                parameter.copy_(wave(parameter.shape, 10.0 * number))

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class Replica:
    """One rank: a net, its optimizer, and a pass over the batch of a step."""

    def __init__(self, rank, case):
        kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[case["optimizer"]]
        self.rank, self.net = rank, Net()
        self.optimizer = SAMOptimizer(kind(self.net.parameters(), **case["options"]), rho=case["rho"],
                                      epsilon=case["epsilon"], interval=case["interval"])
        self.losses, self.norm = [], None

    def backward(self, step):
        self.net.zero_grad()
        inputs, targets = (wave([5, width], phase + step + 100.0 * self.rank) for width, phase in ((3, 3.0), (2, 50.0)))
        loss = F.mse_loss(self.net(inputs), targets)
        loss.backward()
        self.losses.append(flat(loss)[0])

    def begin(self):
        self.losses, self.norm = [], None


def step_alone(replica, step, failing_pass):
    """The optimizer's own step, with a closure like the trainer's."""
    optimizer = replica.optimizer

    def closure(ddp_sync=True, loss_dict=None):
        replica.backward(step)
        if not ddp_sync:
            replica.norm = flat(optimizer._grad_norm())[0]
        return None if len(replica.losses) == failing_pass else replica.losses[-1]

    loss = optimizer.step(closure)
    assert loss == (None if failing_pass == 1 else replica.losses[0])


def step_together(replicas, step):
    """What a step is over several ranks, by the optimizer's own first and second half."""
    for replica in replicas:
        replica.backward(step)
        replica.norm = flat(replica.optimizer._grad_norm())[0]
        replica.optimizer.first_step()
        replica.backward(step)
    for parameters in zip(*(replica.net.parameters() for replica in replicas)):
        mean = torch.stack([parameter.grad for parameter in parameters]).mean(0)
        for parameter in parameters:
            parameter.grad.copy_(mean)
    for replica in replicas:
        replica.optimizer.second_step()


def run(optimizer, options, rho=0.05, interval=1, ranks=1, failures=None):
    case = {"optimizer": optimizer, "options": options, "rho": rho, "epsilon": 1e-12, "interval": interval,
            "ranks": ranks, "failures": failures or {}}
    replicas, steps = [Replica(rank, case) for rank in range(ranks)], []
    for step in range(1, STEPS + 1):
        for replica in replicas:
            replica.begin()
        if ranks == 1:
            step_alone(replicas[0], step, case["failures"].get(str(step)))
        else:
            step_together(replicas, step)
        steps.append({"losses": [replica.losses for replica in replicas],
                      "norm": [replica.norm for replica in replicas],
                      "weights": {name: flat(tensor) for name, tensor in replicas[0].net.named_parameters()}})
    assert replicas[0].optimizer.param_groups[0] is replicas[0].optimizer.base_optimizer.param_groups[0]
    assert "momentum_buffer" not in replicas[0].optimizer.state_dict()["state"][0]
    return {**case, "steps": steps}


def main():
    cases = [run("sgd", SGD), run("sgd", SGD, interval=3), run("adamw", ADAMW), run("adamw", ADAMW, interval=3),
             run("sgd", SGD, rho=0.5), run("sgd", SGD, ranks=2),
             run("sgd", SGD, failures={"2": 1, "4": 2}),
             run("sgd", SGD, interval=3, failures={"2": 1, "3": 2})]
    path = pathlib.Path(__file__).with_name("sam.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
