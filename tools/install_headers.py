"""Writes or checks cmake/install_manifest.txt: the public headers and all that they include.

Usage: install_headers.py [--write]. The roots are the headers that users are meant to include: those of all
registered components, and the ones listed here."""

import re
import sys

from source_tree import ROOT, SOURCE, finish, read_layers

MANIFEST = ROOT / "cmake" / "install_manifest.txt"
HEADER = """# The public headers of paceline, with what they include: sources that compile against one minor version
# compile against its patch releases. The headers of registered components are among them, others are listed in
# tools/install_headers.py; `python3 tools/install_headers.py --write` finds the rest.
"""
PROGRAMS = {"launcher"}  # modules that are not installed as libraries
ROOTS = [
    "base/error.h", "base/file.h", "base/log.h", "base/philox.h", "base/version.h",
    "app/session.h", "app/train_run.h", "checkpoint/reader.h", "checkpoint/retention.h", "checkpoint/weights/weights.h", "checkpoint/writer.h",
    "cli/program.h", "comm/c10d/bootstrap.h", "comm/agreement.h", "comm/communicator.h", "comm/local/local_group.h",
    "comm/fake/fake_communicator.h",
    "config/load.h", "config/registry.h", "config/schema.h",
    "data/loader/loader.h", "data/transforms/pipeline.h",
    "data/transforms/named/presets.h", "dataset_tools/synth.h",
    "launch/rank_info.h", "pretrained/fetch_weights.h",
    "metrics/metric_sink.h",
    "nn/activation_checkpoint.h", "nn/batch_norm.h", "nn/conv.h", "nn/init.h", "nn/layer_norm.h",
    "nn/linear.h", "nn/max_pool.h", "nn/network.h", "nn/rerun.h", "nn/unit.h",
    "optim/grad_scaler.h",
    "parallel/replicated/distributed_data_parallel.h", "parallel/replicated/replicated_strategy.h",
    "parallel/sharded/sharded_strategy.h", "parallel/batch_norm/sync_batch_norm.h", "parallel/gradient_clipping.h",
    "parallel/strategy.h",
    "volume/nifti_writer.h", "volume/phantom.h", "volume/projector.h", "nn/volume/projection.h", "nn/diffusion/ddim.h",
    "nn/diffusion/sample_draws.h", "nn/volume/cascade_network.h", "nn/volume/conditioning_augmentation.h",
    "metrics/volume_quality.h",
    "tensor/autocast.h", "tensor/device.h", "tensor/draws.h", "tensor/torch.h",
    "train/algorithm.h", "train/checkpoint_saver.h", "train/evaluator.h", "train/trainer.h", "train/run_state.h",
]
COMPONENTS = SOURCE / "app" / "recipe" / "builtin.cpp"  # the list of them includes their headers


def roots():
    included = re.findall(r'#include "paceline/([^"]+)"', COMPONENTS.read_text())
    return ROOTS + [header for header in included if not header.startswith("app/")]


def closure(headers):
    found, queue = set(), list(headers)
    while queue:
        header = queue.pop()
        if header in found:
            continue
        found.add(header)
        queue += re.findall(r'#include "paceline/([^"]+)"', (SOURCE / header).read_text())
    return sorted(found)


def modules_without_roots():
    modules = {module for module in read_layers().edges if (SOURCE / module).is_dir()} - PROGRAMS
    return sorted(modules - {root.split("/")[0] for root in roots()})


def main():
    text = HEADER + "\n" + "\n".join(closure(roots())) + "\n"
    if "--write" in sys.argv:
        MANIFEST.write_text(text)
    problems = [] if MANIFEST.exists() and MANIFEST.read_text() == text else [
        f"{MANIFEST.relative_to(ROOT)} is out of date: run python3 tools/install_headers.py --write"]
    problems += [f"paceline::{module} is installed without a header: name one in ROOTS of tools/install_headers.py"
                 for module in modules_without_roots()]
    finish("install manifest", problems, f"{len(closure(roots()))} headers")


if __name__ == "__main__":
    main()
