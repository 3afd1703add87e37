"""Writes composer_names.json: what tensors torchvision's ResNets hold after Composer's surgery, and what they compute
(mosaicml 0.32.1, torch 2.7.0, torchvision 0.22.0, CPU).

    python tests/golden/app/composer_names/make_composer_names.py

Composer puts a layer of its own around another one, or in its place: SqueezeExciteConv2d(conv, se), FactorizedConv2d
and FactorizedLinear(module0, module1), BlurConv2d(conv, blur_filter), BlurMaxPool2d(filt2d),
GhostBatchNorm2d(batchnorm). StochasticDepth renames nothing. SqueezeExcite, Factorize, BlurPool in this order make the
network that ours is: the weighed convolution is the factors, of which the first is blurred.

The file: `filter` of those that blur, its nine values, and `cases`, each with
 - `recipe`, ours, and `calls` of composer.functional on torchvision's network,
 - `tensors` of the state_dict as [name, *sizes], in its order;
 - `logits`, if it has them, in float64, of three images: 4 * noise([3, 3, 40, 33], -1). Of tensor number i, unless it
   is a counter or a filter, a bias and a running mean are noise(its shape, i) / 5, all else of one dimension is 1 more
   than that, and weights are noise(its shape, i) * sqrt(24 / how many inputs a number has). noise(shape, number)[k] =
   (7919 k + 104729 (number + 2)) % 65537 / 65537 - 0.5.
"""

import json
import pathlib

import torch
import torchvision
from composer import functional

TINY = {"layers": [1, 1, 1, 1], "num_classes": 5}
EXCITE = "squeeze_excite: {latent_channels: 4, min_channels: 256}"
FACTORIZE = "factorize: {min_channels: 256, latent_channels: 0.125, min_features: 5, latent_features: 2}"
APPLY_EXCITE = "apply_squeeze_excite(model, latent_channels=4, min_channels=256)"
APPLY_FACTORIZE = ("apply_factorization(model, factorize_convs=True, factorize_linears=True, min_channels=256, "
                   "latent_channels=0.125, min_features=5, latent_features=2)")
APPLY_USUAL = {
    "squeeze_excite": "apply_squeeze_excite(model, latent_channels=64, min_channels=128)",
    "factorize": "apply_factorization(model, factorize_convs=True, factorize_linears=True, min_channels=256, "
                 "latent_channels=0.25, min_features=256, latent_features=128)",
    "blurpool": "apply_blurpool(model, replace_convs=True, replace_maxpools=True, blur_first=True, min_channels=16)",
    "stochastic_depth": "apply_stochastic_depth(model, target_layer_name='ResNetBottleneck', "
                        "stochastic_method='block', drop_rate=0.2, drop_distribution='linear')",
    "ghost_batchnorm": "apply_ghost_batchnorm(model, ghost_batch_size=32)",
}


def noise(shape, number):
    places = torch.arange(torch.Size(shape).numel())
    return (((7919 * places + 104729 * (number + 2)) % 65537).double() / 65537 - 0.5).reshape(shape)


def fill(model):
    for number, (name, tensor) in enumerate(model.state_dict().items()):
        if name.endswith(("num_batches_tracked", "blur_filter", "filt2d")):
            continue
        values = noise(tensor.shape, number)
        if tensor.dim() > 1:
            tensor.copy_(values * (24 / (tensor.numel() / tensor.shape[0])) ** 0.5)
        else:
            tensor.copy_(values / 5 + (0 if name.endswith(("bias", "running_mean")) else 1))


def case(recipe, model, calls, computes=False):
    for call in calls:
        eval(call, {**vars(functional), "model": model})
    made = {"recipe": recipe, "calls": calls,
            "tensors": [[name, *tensor.shape] for name, tensor in model.state_dict().items()]}
    if computes:
        fill(model.double().eval())
        with torch.no_grad():
            made["logits"] = [float(f"{value:.12g}") for value in model(4 * noise([3, 3, 40, 33], -1)).reshape(-1)]
    return made


def usual(name):
    """With all that there is, at Composer's own settings."""
    bottlenecks = name != "resnet18"
    calls = [call for key, call in APPLY_USUAL.items() if bottlenecks or key != "stochastic_depth"]
    algorithms = ", ".join(f"{key}: " for key in APPLY_USUAL if bottlenecks or key != "stochastic_depth")
    return case(f"model: {name}\nalgorithms: {{{algorithms}}}\n", getattr(torchvision.models, name)(), calls)


def tiny(algorithms, calls, block="bottleneck"):
    """One small enough to compute."""
    kind = {"bottleneck": torchvision.models.resnet.Bottleneck, "basic": torchvision.models.resnet.BasicBlock}[block]
    recipe = f"model: {{name: resnet, layers: [1, 1, 1, 1], block: {block}, num_classes: 5}}\nalgorithms:\n"
    return case(recipe + "".join(f"  {line}\n" for line in algorithms), torchvision.models.ResNet(kind, **TINY), calls,
                computes=True)


def blurred(blur_first, min_channels=16):
    return (f"blurpool: {{blur_first: {str(blur_first).lower()}, min_channels: {min_channels}}}",
            f"apply_blurpool(model, replace_convs=True, replace_maxpools=True, blur_first={blur_first}, "
            f"min_channels={min_channels})")


def main():
    torch.manual_seed(0)
    first, last = blurred(True), blurred(False, 64)
    cases = [usual(name) for name in ("resnet18", "resnet50", "resnext50_32x4d", "wide_resnet50_2")]
    cases += [
        tiny([first[0]], [first[1]], "basic"),
        tiny([EXCITE, last[0]], [APPLY_EXCITE, last[1]]),
        tiny([FACTORIZE, "ghost_batchnorm: {ghost_batch_size: 2}"],
             [APPLY_FACTORIZE, "apply_ghost_batchnorm(model, ghost_batch_size=2)"]),
        tiny(["stochastic_depth: {drop_rate: 0.5, method: sample, distribution: uniform}"],
             ["apply_stochastic_depth(model, target_layer_name='ResNetBottleneck', stochastic_method='sample', "
              "drop_rate=0.5, drop_distribution='uniform')"]),
        tiny([EXCITE, FACTORIZE, first[0]], [APPLY_EXCITE, APPLY_FACTORIZE, first[1]]),
        tiny([EXCITE, FACTORIZE, last[0]], [APPLY_EXCITE, APPLY_FACTORIZE, last[1]]),
    ]
    model = torchvision.models.resnet18()
    functional.apply_blurpool(model)
    path = pathlib.Path(__file__).with_name("composer_names.json")
    text = json.dumps({"filter": model.maxpool.filt2d.reshape(-1).tolist(), "cases": cases}, separators=(",", ":"))
    path.write_text(text.replace("],[", "],\n[") + "\n")


if __name__ == "__main__":
    main()
