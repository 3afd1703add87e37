"""Makes images/ and pixels.tsv: image files of odd kinds, and what Pillow's open(...).convert("RGB") makes of them.

Run with NumPy and Pillow, and cjpeg of libjpeg-turbo-progs: python make_odd_files.py
Each line of pixels.tsv: file, height, width, hash of the RGB bytes; or file and "refused". Made with Pillow 13.0.0."""

import io
import pathlib
import struct
import subprocess
import zlib

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
IMAGES = HERE / "images"
rng = np.random.default_rng(7)


def picture(height, width):
    """Slopes and noise in colour."""
    rows, columns = np.mgrid[0:height, 0:width]
    values = np.stack([rows * 5 + columns, columns * 3, 255 - rows * 2 - columns * 2], axis=2)
    return Image.fromarray((values + rng.integers(0, 40, values.shape)).astype(np.uint8))


def jpeg(image, **options):
    stream = io.BytesIO()
    image.save(stream, "jpeg", **{"quality": 85, **options})
    return stream.getvalue()


def cjpeg(image, *options, scans=None):
    picture_file, scan_file = HERE / "picture.ppm", HERE / "picture.scans"
    image.save(picture_file)
    if scans:
        scan_file.write_text(scans)
        options += ("-scans", str(scan_file))
    made = subprocess.run(["cjpeg", *options, str(picture_file)], check=True, capture_output=True).stdout
    picture_file.unlink()
    scan_file.unlink(missing_ok=True)
    return made


def segments(data):
    """The markers before the first scan, each with its segment, and the rest."""
    at, found = 2, []
    while data[at + 1] != 0xDA:
        end = at + 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
        found.append(data[at:end])
        at = end
    return found, data[at:]


def rebuild(data, keep=lambda segment: True, extra=()):
    found, rest = segments(data)
    return b"\xFF\xD8" + b"".join([*extra, *filter(keep, found)]) + rest


def is_app(segment):
    return 0xE0 <= segment[1] <= 0xEF


def adobe(transform):
    return b"\xFF\xEE" + struct.pack(">H5sHHHB", 14, b"Adobe", 100, 0, 0, transform)


def make_jpegs():
    image = picture(41, 53)
    cmyk = image.convert("CMYK")
    color, ink = jpeg(image, subsampling=0), jpeg(cmyk)
    ids = bytes(rebuild(color, lambda segment: not is_app(segment)))
    frame, scan = ids.index(b"\xFF\xC0"), ids.index(b"\xFF\xDA")
    letters = bytearray(ids)
    for i, letter in enumerate(b"RGB"):
        letters[frame + 10 + 3 * i] = letters[scan + 5 + 2 * i] = letter
    yield "ycck.jpg", rebuild(ink, lambda segment: segment[1] != 0xEE, [adobe(2)])
    yield "ycck_sampled.jpg", rebuild(jpeg(cmyk, subsampling=2), lambda segment: segment[1] != 0xEE, [adobe(2)])
    yield "cmyk_without_marker.jpg", rebuild(ink, lambda segment: not is_app(segment))
    yield "cmyk_progressive.jpg", jpeg(cmyk, progressive=True)
    yield "adobe_rgb.jpg", rebuild(color, lambda segment: not is_app(segment), [adobe(0)])
    yield "without_markers.jpg", ids
    yield "rgb_by_ids.jpg", bytes(letters)
    yield "optimized.jpg", jpeg(image, subsampling=2, optimize=True)
    yield "broken_exif.jpg", rebuild(color, extra=[b"\xFF\xE1\x00\x10Exif\0\0MM\0\x2A\xFF\xFF\xFF\xFF"])
    yield "fill_bytes.jpg", color.replace(b"\xFF\xC4", b"\xFF\xFF\xFF\xC4").replace(b"\xFF\xDA", b"\xFF\xFF\xDA")
    yield "two_images.jpg", color + jpeg(picture(8, 8))
    yield "row.jpg", jpeg(picture(1, 37), subsampling=2)
    yield "column.jpg", jpeg(picture(37, 1), subsampling=2)
    yield "gray_column.jpg", jpeg(picture(37, 1).convert("L"))
    yield "long.jpg", jpeg(Image.new("L", (65500, 1), 77))
    yield "gray_progressive.jpg", jpeg(image.convert("L"), progressive=True)
    yield "gray_sampled.jpg", cjpeg(image, "-grayscale", "-sample", "2x2")
    yield "extended.jpg", cjpeg(image, "-quality", "1")
    yield "scans.jpg", cjpeg(image, "-sample", "2x1", scans="0;\n1;\n2;\n")
    yield "two_scans.jpg", cjpeg(image, scans="0;\n1 2;\n")
    yield "progressive_restart.jpg", cjpeg(image, "-progressive", "-restart", "3B")
    for sampling in ("3x1", "1x4", "4x2", "1x1,2x2,1x1"):
        yield f"sampling_{sampling.replace(',', '_')}.jpg", cjpeg(image, "-sample", sampling)
    yield "truncated.jpg", color[: len(color) // 2]
    yield "without_end.jpg", color[:-2]
    yield "header_alone.jpg", color[: color.index(b"\xFF\xDA")]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, width, bits, color, extra=b"", interlace=0):
    """`rows`: packed bytes of each row, of all passes if interlaced."""
    header = struct.pack(">IIBBBBB", width[0], width[1], bits, color, 0, 0, interlace)
    pixels = b"".join(b"\0" + bytes(row) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(pixels))
            + chunk(b"IEND", b""))


def noise_png(bits, color, row_bytes, extra=b""):
    return png(rng.integers(0, 256, (7, row_bytes), dtype=np.uint8), (9, 7), bits, color, extra)


def interlaced(values):
    passes = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
    parts = (values[top::down, left::right] for top, left, down, right in passes)
    return [row.tobytes() for part in parts if part.size for row in part]


def make_pngs():
    palette = chunk(b"PLTE", rng.integers(0, 256, 48, dtype=np.uint8).tobytes())
    image = np.asarray(picture(19, 23))
    yield "interlaced.png", png(interlaced(image), (23, 19), 8, 2, interlace=1)
    yield "interlaced_rgba16.png", png(interlaced(rng.integers(0, 256, (19, 23, 8), dtype=np.uint8)), (23, 19), 16, 6,
                                       interlace=1)
    yield "gray_alpha.png", noise_png(8, 4, 18)
    yield "gray_transparent.png", noise_png(8, 0, 9, chunk(b"tRNS", b"\0\x40"))
    yield "gray16_transparent.png", noise_png(16, 0, 18, chunk(b"tRNS", b"\x12\x34"))
    yield "rgb_transparent.png", noise_png(8, 2, 27, chunk(b"tRNS", b"\0\1\0\2\0\3"))
    yield "gray2.png", noise_png(2, 0, 3)
    yield "gray2_transparent.png", noise_png(2, 0, 3, chunk(b"tRNS", b"\0\1"))
    yield "palette1.png", noise_png(1, 3, 2, palette)
    yield "palette2.png", noise_png(2, 3, 3, palette)
    yield "palette4_transparent.png", noise_png(4, 3, 5, palette + chunk(b"tRNS", b"\0\x80\xFF"))
    yield "palette_too_short.png", noise_png(8, 3, 9, palette)
    yield "truncated.png", noise_png(8, 2, 27)[:-40]


def polynomial_hash(data):
    """Horner's rule over bytes + 1, modulo 2^64."""
    values = np.frombuffer(data, np.uint8).astype(np.uint64) + np.uint64(1)
    powers = np.full(len(values), 0x9E3779B97F4A7C15, np.uint64)
    powers[0] = 1
    return int((values * np.multiply.accumulate(powers)[::-1]).sum(dtype=np.uint64))


def line(path):
    try:
        image = Image.open(path).convert("RGB")
    except OSError:
        return f"{path.name}\trefused"
    return f"{path.name}\t{image.height}\t{image.width}\t{polynomial_hash(image.tobytes()):016x}"


def main():
    IMAGES.mkdir(exist_ok=True)
    for name, data in (*make_jpegs(), *make_pngs()):
        (IMAGES / name).write_bytes(data)
    (HERE / "pixels.tsv").write_text("\n".join(line(path) for path in sorted(IMAGES.iterdir())) + "\n")


if __name__ == "__main__":
    main()
