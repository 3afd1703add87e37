"""Writes the training images of an image folder in another form, in an order of its own.

write_photos.py FOLDER OUT tar|webdataset|parquet

    tar         OUT/train/n00000000.tar ..., one for each class, as ImageNet's
    webdataset  OUT/photos-train-000000.tar ... of 160 samples, x.jpg and x.cls
    parquet     OUT/data/train-00000-of-00001.parquet, row groups of 100, Snappy, as Hugging Face's writer
"""

import io
import json
import pathlib
import random
import sys
import tarfile

import pyarrow
import pyarrow.parquet

SAMPLES_PER_SHARD = 160


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def write_tars(samples, out):
    (out / "train").mkdir()
    for label in sorted({label for _, label in samples}):
        with tarfile.open(out / "train" / f"n{label:08}.tar", "w") as tar:
            for number, (path, _) in enumerate(sample for sample in samples if sample[1] == label):
                add(tar, f"n{label:08}_{number}.JPEG", path.read_bytes())


def write_webdataset(samples, out):
    for begin in range(0, len(samples), SAMPLES_PER_SHARD):
        with tarfile.open(out / f"photos-train-{begin // SAMPLES_PER_SHARD:06}.tar", "w") as tar:
            for number, (path, label) in enumerate(samples[begin:begin + SAMPLES_PER_SHARD], begin):
                add(tar, f"{number:08}.jpg", path.read_bytes())
                add(tar, f"{number:08}.cls", str(label).encode())


def write_parquet(samples, out):
    (out / "data").mkdir()
    table = pyarrow.table({"image": [{"bytes": path.read_bytes(), "path": path.name} for path, _ in samples],
                           "label": [label for _, label in samples]})
    pyarrow.parquet.write_table(table, out / "data" / "train-00000-of-00001.parquet", row_group_size=100)


folder, out, form = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
classes = sorted(path for path in (folder / "train").iterdir() if path.is_dir())
samples = [(path, label) for label, name in enumerate(classes) for path in sorted(name.iterdir())]
random.Random(1).shuffle(samples)
out.mkdir()
{"tar": write_tars, "webdataset": write_webdataset, "parquet": write_parquet}[form](samples, out)
print(json.dumps({"samples": len(samples)}))
