"""The loader beside others: one core unless said, JPEG files of the size and compression of ImageNet's.

PACELINE_PHOTOS names an image folder of real ones. Peers that do not fit into one virtual environment are used where
they are: PACELINE_FFCV is a Python that imports ffcv, PACELINE_PILLOW_SIMD a folder that holds its PIL.
"""

import concurrent.futures
import os
import pathlib
import random

from workspace import PEERS, Measure, last_json

BATCHES = 16
LONG_BATCHES = 150  # so that starting two processes at slightly different times does not matter
SMALL_BATCHES = 400  # of CIFAR's images


def photos(workspace):
    if "PACELINE_PHOTOS" in os.environ:
        return pathlib.Path(os.environ["PACELINE_PHOTOS"])
    return synth_photos(workspace, "photos", per_class=160)


def synth_photos(workspace, name, per_class):
    """Four classes of photos that decode as ImageNet's do."""
    folder = workspace.folder / name
    if not folder.exists():
        workspace.paceline("data", "synth", folder, "--like", "imagenet", "--classes", "4", "--train-per-class", per_class,
                           "--val-per-class", "1")
    return folder


def packed(workspace, mode):
    folder = workspace.folder / f"photos-{mode}"
    if not folder.exists():
        workspace.paceline("data", "pack", photos(workspace), "-o", folder, "--mode", mode, "--split", "train")
    return folder


def cifar(workspace):
    """CIFAR-10's binary files with noise for images."""
    folder = workspace.folder / "cifar"
    if not folder.exists():
        folder.mkdir()
        draws = random.Random(1)
        for name in [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]:
            with open(folder / name, "wb") as file:
                for _ in range(10000):
                    file.write(bytes([draws.randrange(10)]) + draws.randbytes(3072))
    return folder


def on_cores(count, work):
    """Runs work, and the processes it starts, on the first cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(cores)[:count]))
    try:
        return work()
    finally:
        os.sched_setaffinity(0, cores)


def own(workspace, mode, *options, batches=BATCHES, cores=1):
    folder = packed(workspace, mode) if mode else photos(workspace)
    return on_cores(cores, lambda: workspace.program("loader_rate", folder, batches, *options)["images_per_s"])


def peer(workspace, *options, script="loader.py"):
    folder = photos(workspace)
    return on_cores(1, lambda: workspace.peer(script, folder, BATCHES, *options, threads=1)["images_per_s"])


def in_form(workspace, form):
    """The photos in tars of classes, WebDataset's tars or Parquet files."""
    folder = workspace.folder / f"photos-{form}"
    if not folder.exists():
        workspace.peer("write_photos.py", photos(workspace), folder, form)
    return folder


def own_form(workspace, form):
    folder = in_form(workspace, form)
    return on_cores(1, lambda: workspace.program("loader_rate", folder, BATCHES)["images_per_s"])


def peer_form(workspace, form):
    folder = in_form(workspace, form)
    return on_cores(1, lambda: workspace.peer("loader.py", folder, BATCHES, form, threads=1)["images_per_s"])


def pillow_simd(workspace):
    environment = {"PYTHONPATH": os.environ["PACELINE_PILLOW_SIMD"]}
    command = [workspace.peer_python, PEERS / "loader.py", photos(workspace), BATCHES]
    return on_cores(1, lambda: last_json(workspace.output(command, 1, environment))["images_per_s"])


def ffcv(workspace, form):
    written = workspace.folder / f"photos-{form}.beton"
    python = os.environ["PACELINE_FFCV"]
    if not written.exists():
        workspace.output([python, PEERS / "loader_ffcv.py", "write", photos(workspace), written, form], 2)
    command = [python, PEERS / "loader_ffcv.py", "read", written, BATCHES]
    return on_cores(1, lambda: last_json(workspace.output(command, 1))["images_per_s"])


def two_processes(workspace):
    """Images a second of two loaders of one thread that know nothing of each other."""
    folder = photos(workspace)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(workspace.program, "loader_rate", folder, LONG_BATCHES) for _ in range(2)]
    return sum(run.result()["images_per_s"] for run in runs)


def own_cifar(workspace, *options):
    run = lambda: workspace.program("loader_rate", cifar(workspace), 10 * SMALL_BATCHES, *options)
    return on_cores(1, run)["images_per_s"]


def peer_cifar(workspace, form):
    folder = cifar(workspace)
    return on_cores(1, lambda: workspace.peer("loader_cifar.py", folder, SMALL_BATCHES, form, threads=1)["images_per_s"])


TASK = "loader on one core, RandomResizedCrop 224 + flip + normalise"
AUGMENTED = "the same with ColorJitter(0.4, 0.4, 0.4, 0.1) and RandAugment(2, 9)"
BEST_TORCHVISION = "torchvision's own decoder and its transforms v2"

MEASURES = [
    *[Measure(name, f"{TASK}, {what}", "img/s", must, goal, lambda w, mode=mode: own(w, mode), peer,
              beside="torchvision, Pillow, JPEGs")
      for name, mode, what, must, goal in (
          ("loader", None, "JPEGs of 110 kB", "≥ 2.5", "≥ 3.5"),
          ("loader_indexed", "indexed", "the same packed with an index", "≥ 3.5", "≥ 4.5"),
          ("loader_coefficients", "coefficients", "the same packed as coefficients", "≥ 7", "≥ 10"))],
    *[Measure(name, f"{AUGMENTED}, {what}", "img/s", must, goal, lambda w, mode=mode: own(w, mode, "augment"),
              lambda w: peer(w, "augment"), beside="torchvision, Pillow, JPEGs")
      for name, mode, what, must, goal in (
          ("loader_augmented", None, "JPEGs", "≥ 5", "≥ 6.5"),
          ("loader_coefficients_augmented", "coefficients", "coefficients", "≥ 10", "≥ 13"))],
    Measure("loader_decode_jpeg", f"{TASK}, JPEGs", "img/s", "", "", lambda w: own(w, None),
            lambda w: peer(w, "decode_jpeg"), beside=BEST_TORCHVISION),
    Measure("loader_pillow_simd", f"{TASK}, JPEGs", "img/s", "", "", lambda w: own(w, None), pillow_simd,
            beside="torchvision with Pillow-SIMD", needs="PACELINE_PILLOW_SIMD"),
    Measure("loader_dali", f"{TASK}, JPEGs", "img/s", "≥ 1.25", "≥ 1.6", lambda w: own(w, None),
            lambda w: peer(w, script="loader_dali.py"), beside="DALI on the CPU"),
    Measure("loader_ffcv", "loader on one core, RandomResizedCrop 224 + flip, bytes, JPEGs", "img/s", "≥ 1.8", "≥ 2.4",
            lambda w: own(w, None, "bytes"), lambda w: ffcv(w, "jpg"), beside="FFCV, the same files", needs="PACELINE_FFCV"),
    Measure("loader_ffcv_raw", "the same, coefficients", "img/s", "≥ 1.0", "≥ 1.5",
            lambda w: own(w, "coefficients", "bytes"), lambda w: ffcv(w, "raw"),
            beside="FFCV raw, longer side at most 500", needs="PACELINE_FFCV"),
    *[Measure(f"loader_{form}", f"{TASK}, the JPEGs in {what}", "img/s", "", "", lambda w, form=form: own_form(w, form),
              lambda w, form=form: peer_form(w, form), beside=f"{reader}, {BEST_TORCHVISION}", needs="PACELINE_PEERS")
      for form, what, reader in (
          ("tar", "tars of classes, as ImageNet's", "timm's reader of tars"),
          ("webdataset", "WebDataset's tars", "webdataset, shuffled in a buffer"),
          ("parquet", "Parquet files", "Hugging Face datasets, after its conversion to Arrow"))],
    Measure("loader_threads", "two threads on two cores, JPEGs", "img/s", "≥ 0.95", "≥ 0.99",
            lambda w: own(w, None, "threads=2", batches=2 * LONG_BATCHES, cores=2), two_processes,
            beside="two independent processes", is_contest=False),
    *[Measure(f"loader_cifar_{form}", f"CIFAR-10 in memory, pad, crop, flip, {what}", "img/s", must, goal,
              lambda w, form=form: own_cifar(w, form), lambda w, form=form: peer_cifar(w, form),
              beside="torch operations on whole batches")
      for form, what, must, goal in (
          ("bytes", "bytes for normalisation on the device", "≥ 1e6 img/s", "≥ 3e6 img/s"), ("floats", "normalise", "", ""))],
]
