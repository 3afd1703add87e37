"""FFCV: RandomResizedCrop 224 and flip, bytes; one thread.

loader_ffcv.py write FOLDER FILE jpg|raw    the files as they are, or pixels of at most 500 a side
loader_ffcv.py read FILE BATCHES            prints images a second
"""

import json
import os
import pathlib
import sys
import time

import numpy
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.fields.rgb_image import IMAGE_MODES
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip, ToTensor
from ffcv.writer import DatasetWriter
from PIL import Image

BATCH_SIZE = 32
WARM_UP_BATCHES = 2


class FileField(RGBImageField):
    """Keeps JPEG files as they are, which FFCV would compress anew."""

    def encode(self, destination, path, malloc):
        with Image.open(path) as image:
            destination["width"], destination["height"] = image.size
        destination["mode"] = IMAGE_MODES["jpg"]
        content = numpy.fromfile(path, dtype=numpy.uint8)
        destination["data_ptr"], storage = malloc(content.nbytes)
        storage[:] = content


class Photos:
    def __init__(self, folder, form):
        classes = sorted(path for path in pathlib.Path(folder, "train").iterdir() if path.is_dir())
        self.samples = [(path, label) for label, name in enumerate(classes) for path in sorted(name.iterdir())]
        self.form = form

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        return (path if self.form == "jpg" else Image.open(path).convert("RGB")), label


def write(folder, file, form):
    field = FileField(write_mode="jpg") if form == "jpg" else RGBImageField(write_mode="raw", max_resolution=500)
    DatasetWriter(file, {"image": field, "label": IntField()}, num_workers=2).from_indexed_dataset(Photos(folder, form))
    print(json.dumps({"bytes": os.path.getsize(file)}))


def read(file, batches):
    loader = Loader(file, batch_size=BATCH_SIZE, num_workers=1, order=OrderOption.RANDOM, os_cache=True, drop_last=True,
                    custom_fields={"image": RGBImageField, "label": IntField},
                    pipelines={"image": [RandomResizedCropRGBImageDecoder((224, 224)), RandomHorizontalFlip(), ToTensor()],
                               "label": [IntDecoder(), ToTensor()]})
    for _ in loader:  # compiles, and reads the file into the page cache
        pass
    images, passed = 0, 0.0
    while images < BATCH_SIZE * batches:
        begin = None
        for number, (batch, _) in enumerate(loader):
            if number == WARM_UP_BATCHES:  # the threads of an epoch have started
                begin = time.perf_counter()
            elif begin is not None:
                images += len(batch)
        passed += time.perf_counter() - begin
    print(json.dumps({"images_per_s": images / passed}))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], sys.argv[3], sys.argv[4])
    else:
        read(sys.argv[2], int(sys.argv[3]))
