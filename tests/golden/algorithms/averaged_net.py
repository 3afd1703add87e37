"""The network of averaged_net.h for the scripts that write golden averages of weights: make_ema.py, make_ema_laws.py,
make_swa.py. Its values are functions of the number of batches."""

import math

import torch
from torch import nn

MAX_BATCHES, BATCHES_PER_EPOCH = 16, 4


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


class Net(nn.Module):
    """Six trained parameters, two running statistics and a counter."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 3)
        self.bn = nn.BatchNorm1d(3)
        self.fc2 = nn.Linear(3, 2)


def write_weights(net, batch):
    """What the model holds after `batch` batches; float64 rounded to float32."""
    with torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(wave(parameter.shape, 10.0 * number + batch))
        net.bn.running_mean.copy_(wave([3], 70.0 + batch))
        net.bn.running_var.copy_(wave([3], 80.0 + batch) + 1.0)
        net.bn.num_batches_tracked.fill_(batch)
