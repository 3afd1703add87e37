"""torchvision's transforms and torch's DataLoader: RandomResizedCrop 224, flip, normalise; one process.

loader.py FOLDER BATCHES [WHAT]: of an image folder, by Pillow; WHAT may be
    augment      with ColorJitter and RandAugment
    decode_jpeg  with torchvision's own decoder and transforms v2 on tensors in place of Pillow
    tar, webdataset, parquet
                 the same of what write_photos.py wrote, read by timm, webdataset and datasets
"""

import functools
import json
import os
import pathlib
import sys
import time

import torch
import torchvision
from torchvision import transforms
from torchvision.transforms import v2

BATCH_SIZE = 32
WARM_UP_BATCHES = 2
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

by_pillow = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
             transforms.Normalize(MEAN, DEVIATION)]
by_pillow_augmented = [*by_pillow[:2], transforms.ColorJitter(0.4, 0.4, 0.4, 0.1), transforms.RandAugment(2, 9), *by_pillow[2:]]
on_tensors = transforms.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                 v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])


def decode(bytes_of_jpeg):
    return torchvision.io.decode_jpeg(bytes_of_jpeg, mode=torchvision.io.ImageReadMode.RGB)


def transformed(content):
    return on_tensors(decode(torch.frombuffer(bytearray(content), dtype=torch.uint8)))


def image_folder(steps, folder):
    return torchvision.datasets.ImageFolder(folder / "train", transforms.Compose(steps))


def decoded_folder(folder):
    return torchvision.datasets.ImageFolder(folder / "train", on_tensors,
                                            loader=lambda path: decode(torchvision.io.read_file(path)))


class Tars(torch.utils.data.Dataset):
    """timm's reader of a folder of tars, one for each class."""

    def __init__(self, folder):
        from timm.data.readers.reader_image_in_tar import ReaderImageInTar

        self.reader = ReaderImageInTar(str(folder / "train"))

    def __len__(self):
        return len(self.reader)

    def __getitem__(self, index):
        file, label = self.reader[index]
        return transformed(file.read()), label


def webdataset_tars(folder):
    import webdataset

    shards = sorted(str(path) for path in folder.glob("*.tar"))
    return (webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False).shuffle(1000)
            .to_tuple("jpg", "cls").map_tuple(transformed, int))


def parquet(folder):
    """Random access to the Arrow file that `datasets` makes of the Parquet file at first."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HOME"] = str(folder / "cache")
    import datasets

    data = datasets.load_dataset("parquet", data_files=[str(path) for path in (folder / "data").glob("*.parquet")], split="train")
    return data.with_transform(lambda rows: {"image": [transformed(image["bytes"]) for image in rows["image"]],
                                             "label": rows["label"]})


SOURCES = {"": functools.partial(image_folder, by_pillow), "augment": functools.partial(image_folder, by_pillow_augmented),
           "decode_jpeg": decoded_folder, "tar": Tars, "webdataset": webdataset_tars, "parquet": parquet}

torch.set_num_threads(1)
data = SOURCES[(sys.argv[3:] or [""])[0]](pathlib.Path(sys.argv[1]))
batches = int(sys.argv[2])
is_stream = isinstance(data, torch.utils.data.IterableDataset)
loader = iter(torch.utils.data.DataLoader(data, batch_size=BATCH_SIZE, shuffle=None if is_stream else True, drop_last=True))
for _ in range(WARM_UP_BATCHES):
    next(loader)
begin = time.perf_counter()
for _ in range(batches):
    next(loader)
print(json.dumps({"images_per_s": BATCH_SIZE * batches / (time.perf_counter() - begin)}))
