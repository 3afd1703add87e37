"""Makes orientations/ and orientations.tsv: how Pillow's ImageOps.exif_transpose turns images.

Run with Pillow and NumPy: python make_orientations.py
Each line of orientations.tsv: file, height, width, hash of the turned image's RGB bytes. Made with Pillow 13.0.0.
"""

import io
import pathlib
import struct
import sys

import numpy as np
from PIL import Image, ImageOps, PngImagePlugin

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "orientations"
sys.path.insert(0, str(HERE.parent / "transforms"))
from make_transforms import picture, polynomial_hash  # noqa: E402

TAG = 0x0112
XMP = b'<x:xmpmeta xmlns:tiff="http://ns.adobe.com/tiff/1.0/"><rdf:Description %s</x:xmpmeta>'


def exif_of(orientation, endian="<", kind="H", count=1):
    """A directory of three tags, of which the orientation is the second."""
    value = struct.pack(endian + kind, orientation).ljust(4, b"\0")
    entries = [struct.pack(endian + "HHI", 0x0100, 3, 1) + struct.pack(endian + "HH", 7, 0),
               struct.pack(endian + "HHI", TAG, {"H": 3, "I": 4}[kind], count) + value,
               struct.pack(endian + "HHI", 0x0128, 3, 1) + struct.pack(endian + "HH", 2, 0)]
    head = b"II*\0" if endian == "<" else b"MM\0*"
    return b"Exif\0\0" + head + struct.pack(endian + "I", 8) + struct.pack(endian + "H", 3) + b"".join(entries) + bytes(4)


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def make_files():
    image = picture(37, 53)
    for number in range(1, 9):
        endian = "<>"[number % 2]
        yield f"{number}.jpg", saved(image, "jpeg", quality=75, subsampling=2, exif=exif_of(number, endian))
    yield "progressive.jpg", saved(image, "jpeg", quality=75, progressive=True, exif=exif_of(8, ">", "I"))
    yield "gray.jpg", saved(image.convert("L"), "jpeg", quality=75, exif=exif_of(7))
    yield "nothing.jpg", saved(image, "jpeg", quality=75, exif=exif_of(9))
    yield "xmp.jpg", saved(image, "jpeg", quality=75, xmp=XMP % b'tiff:Orientation="6"/>')
    yield "xmp_element.jpg", saved(image, "jpeg", quality=75, xmp=XMP % b"><tiff:Orientation>3</tiff:Orientation>")
    yield "exif_and_xmp.jpg", saved(image, "jpeg", quality=75, exif=exif_of(5), xmp=XMP % b'tiff:Orientation="6"/>')
    small = picture(9, 14)
    for number in (2, 6):
        yield f"{number}.png", saved(small, "png", exif=exif_of(number))
        yield f"{number}.webp", saved(small, "webp", lossless=True, exif=exif_of(number, ">"))
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("Comment", 'tiff:Orientation="3"')
    texts.add_itxt("XML:com.adobe.xmp", (XMP % b'tiff:Orientation="6"/>').decode(), lang="en", tkey="x")
    yield "xmp.png", saved(small, "png", pnginfo=texts)
    yield "exif_and_xmp.png", saved(small, "png", pnginfo=texts, exif=exif_of(5))
    yield "xmp.webp", saved(small, "webp", lossless=True, xmp=XMP % b'tiff:Orientation="8"/>')


def main():
    FOLDER.mkdir(exist_ok=True)
    with open(HERE / "orientations.tsv", "w") as table:
        for name, content in make_files():
            (FOLDER / name).write_bytes(content)
            image = ImageOps.exif_transpose(Image.open(FOLDER / name)).convert("RGB")
            pixels = np.asarray(image)
            table.write(f"{name}\t{image.height}\t{image.width}\t{polynomial_hash(pixels.tobytes()):016x}\n")


if __name__ == "__main__":
    main()
