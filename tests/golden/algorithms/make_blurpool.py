"""Writes blurpool.json: layers and numbers of Composer's BlurPool (mosaicml 0.32.1, torch 2.7.0, torchvision 0.22.0).

    python tests/golden/algorithms/make_blurpool.py

What Composer computes, as a contract for the C++:

The kernel is [1 2 1; 2 4 2; 1 2 1] / 16, exact in every floating type, the same for each channel (a convolution with as
many groups as channels), zero padding 1 on every side, no bias. The sum at a border is not renormalised: blurring ones
gives 9/16 in a corner and 3/4 on an edge. With stride t a side of n becomes floor((n - 1) / t) + 1.

Which layers. Every module of the tree is looked at, in order of registration, at INIT: before the optimizer has state
and before the model is wrapped.
 - A convolution (Conv2d and what derives from it) is replaced if its larger stride is above 1 *and* its in_channels are
    at least min_channels (16) *and* it is not already inside a replacement. Nothing else is asked: neither kernel size
    (1x1 projections are replaced), nor groups, dilation, padding, out_channels. Strides (1, 2) are enough.
 - A MaxPool2d is replaced whatever its stride, size and channels, also with stride 1, where it is then blurred at
    stride 1. Average and adaptive pools are not.
 - blur_first concerns convolutions only. Without replace_convs and replace_maxpools the constructor raises; a model in
    which nothing is replaced gives a warning. A module used at two places is replaced by one new module at both.

Convolution, blur_first: y = conv(blur(x, stride 1)), where conv keeps its stride, padding, dilation, groups and bias.
Otherwise: y = blur(conv(x) at stride 1, stride of the conv); the bias is added before the blur, so that a border gets
only a part of it. Both give the shape of the plain convolution.

Pool: y = blur(max_pool(x) at stride 1, stride of the pool), where the pool keeps kernel, padding (with -infinity) and
dilation. ceil_mode has no effect at stride 1, so the result has the floor's shape: a plain 2x2
pool with ceil_mode makes 3 rows of 5, this one 2.

Names and weights. The convolution lies one level deeper, "conv" in the replacement: layer2.0.conv1.weight becomes
layer2.0.conv1.conv.weight; the kernel is a buffer and is saved (blur_filter [C, 1, 3, 3] of a convolution, filt2d
[1, 1, 3, 3] of a pool). Weights and bias are copied bit by bit, into a *new* convolution. It has the default type on
the device of the old one: requires_grad, padding_mode, channels-last strides and float64 are lost, and making it draws
from torch's generator. Parameters keep their place in the model's order; in an optimizer that is there already they
move to the end of their group. Faults, all of them, that a layer which keeps its own tensors does not have. Under
autocast the blur of 2-d convolutions runs in the low precision, like any convolution.

The file, in float64 (wave(shape, phase) as below):
 - `kernel`, `padding`; `names`: what the surgery adds to and takes from the state of `net`.
 - `surgeries`: `model` of torchvision, `options`, `convs` and `max_pools` replaced, `strided` left as they were,
   `flops` of one image of 224 x 225 as torch's FlopCounterMode counts them.
 - `blurs`: `channels`, `size`, `stride` of blur_2d; input wave([2, C, *size], 1), `output`, `grad_input`.
 - `pools`: `options`, `size`; input ruffled([1, 2, *size]), `shape` of the output, `output`, `grad_input`.
 - `convs`: `options`, `blur_first`, `size`; input wave([1, in, *size], 1), weight wave(shape, 2), bias wave(shape, 3),
   `shape`, `output`, `grad_input`, `grad_weight`, `grad_bias` (if it has one).
 - `nets`: a stem (3 to 4 channels: left alone with min_channels 4), pool and one residual block (see `Net`), `plain`
   and replaced: `logits` for images wave([2, 3, *size], 1), gradients of the stem and of the 1x1 projection. Parameter
   n in the model's order is wave(shape, 10 n), which the surgery does not change.
Gradients are those of the sum of output * wave(its shape, 5).
"""

import json
import math
import pathlib

import torch
import torchvision
from composer.algorithms.blurpool import BlurConv2d, BlurMaxPool2d, apply_blurpool, blur_2d, blurmax_pool2d
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode


def wave(shape, phase):
    values = [0.5 * math.sin(0.7 * i + phase) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def ruffled(shape):
    """Values without an order from one place to the next: sin(0.7 i^2 + 1)."""
    values = [math.sin(0.7 * i * i + 1.0) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def flat(tensor):
    return [float(f"{value:.11g}") for value in tensor.detach().reshape(-1).tolist()]


def backward(output):
    (output * wave(output.shape, 5.0)).sum().backward()


class Net(nn.Module):
    """What a small ResNet does: stem, max-pool, a strided block with its projection, mean, linear layer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.conv1 = nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1, bias=False)
        self.down = nn.Conv2d(4, 6, 1, stride=2, bias=False)
        self.fc = nn.Linear(6, 5)
        self.fill()

    def fill(self):
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                parameter.copy_(wave(parameter.shape, 10.0 * number))

    def forward(self, images):
        x = self.pool(F.relu(self.stem(images)))
        x = F.relu(self.conv2(F.relu(self.conv1(x))) + self.down(x))
        return self.fc(x.mean((2, 3)))


def is_strided(module):
    return isinstance(module, nn.Conv2d) and max(module.stride) > 1


def flops_of(model):
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model.eval()(torch.zeros(1, 3, 224, 225))
    return counter.get_total_flops()


def surgery(name, options):
    model = getattr(torchvision.models, name)()
    apply_blurpool(model, **options)
    named = list(model.named_modules())
    convs, pools = ([key for key, module in named if isinstance(module, kind)] for kind in (BlurConv2d, BlurMaxPool2d))
    left = [key for key, module in named if key.rpartition(".")[0] not in convs and
            (is_strided(module) or isinstance(module, nn.MaxPool2d))]
    return {"model": name, "options": options, "convs": convs, "max_pools": pools, "strided": left,
            "flops": flops_of(model)}


def surgeries():
    changes = ({}, {"blur_first": False}, {"replace_maxpools": False}, {"replace_convs": False}, {"min_channels": 3},
               {"min_channels": 129})
    defaults = {"replace_convs": True, "replace_maxpools": True, "blur_first": True, "min_channels": 16}
    return [surgery(name, {**defaults, **change}) for name in ("resnet18", "resnet50") for change in changes]


def blur(channels, size, stride):
    x = wave([2, channels, *size], 1.0).requires_grad_()
    kernel = BlurMaxPool2d(2).double().filt2d
    output = blur_2d(x, channels=-1, stride=stride, filter=kernel)
    backward(output)
    return {"channels": channels, "size": size, "stride": stride, "output": flat(output), "grad_input": flat(x.grad)}


def pool(size, **options):
    x = ruffled([1, 2, *size]).requires_grad_()
    module = BlurMaxPool2d.from_maxpool2d(nn.MaxPool2d(**options), 0).double()
    output = module(x)
    backward(output)
    assert output.equal(blurmax_pool2d(x, filter=module.filt2d, **options))
    assert output.shape == F.max_pool2d(x, **{**options, "ceil_mode": False}).shape
    return {"options": options, "size": size, "shape": list(output.shape), "output": flat(output),
            "grad_input": flat(x.grad)}


def conv(blur_first, size, **options):
    module = BlurConv2d.from_conv2d(nn.Conv2d(**options), blur_first=blur_first).double()
    x = wave([1, options["in_channels"], *size], 1.0).requires_grad_()
    with torch.no_grad():
        for number, parameter in enumerate(module.conv.parameters()):
            parameter.copy_(wave(parameter.shape, 2.0 + number))
    output = module(x)
    backward(output)
    grads = {f"grad_{name}": flat(parameter.grad) for name, parameter in module.conv.named_parameters()}
    return {"options": options, "blur_first": blur_first, "size": size, "shape": list(output.shape),
            "output": flat(output), "grad_input": flat(x.grad), **grads}


def convs():
    plain = {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "stride": 2, "padding": 1, "bias": False}
    cases = (([5, 6], plain),
             ([6, 5], {**plain, "kernel_size": 1, "padding": 0}),
             ([6, 7], {**plain, "bias": True}),
             ([5, 5], {**plain, "out_channels": 4, "groups": 2}),
             ([7, 6], {**plain, "dilation": 2, "padding": 2, "stride": [2, 1]}),
             ([9, 8], {**plain, "in_channels": 1, "out_channels": 2, "kernel_size": 7, "padding": 3}))
    return [conv(blur_first, size, **options) for size, options in cases for blur_first in (True, False)]


def net(size, blur_options):
    model = Net()
    plain = model.state_dict()
    if blur_options is not None:
        apply_blurpool(model, min_channels=4, **blur_options)
        weights = {name.replace(".conv.", "."): tensor for name, tensor in model.state_dict().items()}
        assert all(weights[name].equal(tensor) for name, tensor in plain.items())
    model.double().fill()
    logits = model(wave([2, 3, *size], 1.0))
    backward(logits)
    down = getattr(model.down, "conv", model.down)
    return {"plain": blur_options is None, "options": blur_options or {}, "size": size, "logits": flat(logits),
            "grad_stem": flat(model.stem.weight.grad), "grad_down": flat(down.weight.grad)}


def nets():
    options = (None, {"blur_first": True}, {"blur_first": False}, {"replace_maxpools": False},
               {"replace_convs": False})
    return [net(size, each) for size in ([16, 16], [19, 15]) for each in options]


def names():
    before, model = set(Net().state_dict()), Net()
    apply_blurpool(model, min_channels=4)
    after = set(model.state_dict())
    return {"added": sorted(after - before), "removed": sorted(before - after)}


def assert_what_is_lost():
    holder = nn.Sequential(nn.Conv2d(16, 4, 3, stride=(1, 2), padding=1, padding_mode="reflect"), nn.MaxPool2d(3, 1),
                           nn.Conv2d(16, 4, 3, stride=2, groups=4)).double().requires_grad_(False)
    apply_blurpool(holder)
    assert [type(module).__name__ for module in holder] == ["BlurConv2d", "BlurMaxPool2d", "BlurConv2d"]
    lost = holder[0].conv
    assert lost.padding_mode == "zeros" and lost.weight.requires_grad and lost.weight.dtype == torch.float32
    apply_blurpool(holder)
    assert isinstance(holder[0].conv, nn.Conv2d)


def main():
    assert_what_is_lost()
    module = BlurConv2d(16, 16, 3, stride=2)
    golden = {
        "kernel": module.blur_filter[0, 0].tolist(), "padding": [1, 1], "names": names(), "surgeries": surgeries(),
        "blurs": [blur(*case) for case in ((2, [5, 6], 1), (2, [5, 6], 2), (1, [6, 5], [2, 1]), (2, [4, 4], 2),
                                           (1, [1, 1], 1), (1, [1, 2], 2), (1, [7, 8], 3))],
        "pools": [pool(size, **options) for size, options in (
            ([7, 6], {"kernel_size": 3, "stride": 2, "padding": 1}),
            ([6, 8], {"kernel_size": 3, "stride": 2, "padding": 1}),
            ([5, 6], {"kernel_size": 2, "stride": 2}), ([5, 6], {"kernel_size": 2, "stride": 2, "ceil_mode": True}),
            ([5, 5], {"kernel_size": 3, "stride": 1, "padding": 1}))],
        "convs": convs(), "nets": nets()}
    path = pathlib.Path(__file__).with_name("blurpool.json")
    path.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
