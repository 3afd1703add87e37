"""DALI on the CPU: decode of a random crop, resize to 224, flip, normalise; one thread."""

import json
import os
import sys
import time

from nvidia.dali import fn, pipeline_def, types

BATCH_SIZE = 32
WARM_UP_BATCHES = 2


@pipeline_def(batch_size=BATCH_SIZE, num_threads=1, device_id=None)
def pipeline(folder):
    files, labels = fn.readers.file(file_root=folder, random_shuffle=True)
    images = fn.decoders.image_random_crop(files, device="cpu", output_type=types.RGB, random_area=(0.08, 1.0),
                                           random_aspect_ratio=(3 / 4, 4 / 3))
    images = fn.resize(images, resize_x=224, resize_y=224, antialias=True)
    return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mirror=fn.random.coin_flip(),
                                    mean=[255 * x for x in (0.485, 0.456, 0.406)],
                                    std=[255 * x for x in (0.229, 0.224, 0.225)]), labels


batches = int(sys.argv[2])
loader = pipeline(os.path.join(sys.argv[1], "train"))
loader.build()
for _ in range(WARM_UP_BATCHES):
    loader.run()
begin = time.perf_counter()
for _ in range(batches):
    loader.run()
print(json.dumps({"images_per_s": BATCH_SIZE * batches / (time.perf_counter() - begin)}))
