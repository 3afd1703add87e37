"""Writes what Pillow makes of grey pictures of other sizes by its bilinear filter, which widens where they get smaller:
ct_xrays.json. Rows from the top.

Run with Pillow and NumPy: python make_xrays.py. Made with Pillow 13.0.0 and NumPy 2.4.6.
"""

import json
import pathlib

import numpy
from PIL import Image

HERE = pathlib.Path(__file__).parent


def cases():
    for number, (side, size) in enumerate(((7, 7), (13, 5), (6, 10), (40, 16), (9, 1), (1, 3), (17, 16))):
        values = numpy.random.default_rng(number).integers(0, 65536, (side, side))
        picture = Image.fromarray(values.astype(numpy.float32))
        made = numpy.asarray(picture.resize((size, size), Image.Resampling.BILINEAR), numpy.float64)
        yield {"side": side, "values": values.ravel().tolist(), "size": size, "made": made.round(3).ravel().tolist()}


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case) for case in cases())
    (HERE / "ct_xrays.json").write_text(f"[\n{lines}\n]\n")
