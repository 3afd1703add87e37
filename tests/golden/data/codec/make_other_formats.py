"""Makes other_formats/ and other_formats.tsv: WebP, TIFF, BMP, PGM and PPM files, and what Pillow's
open(...).convert("RGB") makes of them.

Run with NumPy and Pillow: python make_other_formats.py
Each line of other_formats.tsv: file, height, width, hash of the RGB bytes. Made with Pillow 13.0.0."""

import pathlib
import struct

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
IMAGES = HERE / "other_formats"
HEIGHT, WIDTH = 13, 21
rng = np.random.default_rng(11)


def picture(channels=3):
    """Slopes and noise."""
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    values = np.stack([rows * 9 + columns, columns * 7, 255 - rows * 5 - columns * 2, columns * 11][:channels], axis=2)
    values = (values + rng.integers(0, 40, values.shape)) % 256
    return values.astype(np.uint8)


def save(name, image, **options):
    image.save(IMAGES / name, **options)


def write(name, content):
    (IMAGES / name).write_bytes(content)


def bmp(bits, rows, compression=0, masks=b"", palette=b"", top_down=False):
    """Kinds that Pillow reads and does not write."""
    pixels_at = 14 + 40 + len(masks) + len(palette)
    body = b"".join(row + bytes(-len(row) % 4) for row in (rows if top_down else rows[::-1]))
    height = -HEIGHT if top_down else HEIGHT
    header = struct.pack("<IiiHHIIiiII", 40, WIDTH, height, 1, bits, compression, len(body), 0, 0, 0, 0)
    return (b"BM" + struct.pack("<IHHI", pixels_at + len(body), 0, 0, pixels_at) + header + masks + palette + body)


def rgb_tiff(bits, channels, pixels, alpha=None):
    """One strip without compression; alpha: 1 is multiplied with the colours, 2 is not."""
    tags = [(256, 4, 1, WIDTH), (257, 4, 1, HEIGHT), (258, 3, channels, 8), (259, 3, 1, 1), (262, 3, 1, 2),
            (273, 4, 1, 8 + 2 * channels), (277, 3, 1, channels), (278, 4, 1, HEIGHT), (279, 4, 1, len(pixels)),
            (284, 3, 1, 1)]
    if alpha:
        tags.append((338, 3, 1, alpha))
    body = struct.pack(f"<{channels}H", *[bits] * channels) + pixels
    body += bytes(len(body) % 2)
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0" + struct.pack("<I", 8 + len(body)) + body + struct.pack("<H", len(tags)) + entries + bytes(4)


def run_coded(indices):
    """RLE8 with runs, literal pixels and a row that ends early."""
    codes = b""
    for number, row in enumerate(indices[::-1]):
        if number % 3 == 0:
            codes += b"".join(bytes([1, value]) for value in row)
        elif number % 3 == 1:
            codes += bytes([0, len(row)]) + bytes(row) + bytes(len(row) % 2)
        else:
            codes += bytes([7, row[0], 0, 4]) + bytes(row[:4]) + bytes([len(row) - 13, row[5]])
        codes += bytes([0, 0])
    return codes + bytes([0, 1])


def make_webp(rgb, rgba):
    save("lossy.webp", rgb, quality=70)
    save("lossless.webp", rgb, lossless=True)
    save("alpha.webp", rgba, quality=80, exact=True)
    save("alpha_lossless.webp", rgba, lossless=True, exact=True)
    save("gray.webp", rgb.convert("L"), quality=50)
    others = [Image.fromarray(picture(4)) for _ in range(2)]
    save("animated.webp", rgba, save_all=True, append_images=others, duration=100, lossless=True, exact=True)
    # A frame that covers a part of the canvas: Pillow makes it of what surrounds it with nothing.
    small = Image.new("RGBA", (WIDTH, HEIGHT))
    small.paste(rgba.crop((4, 2, 15, 9)), (4, 2))
    save("animated_part.webp", small, save_all=True, append_images=others, duration=100, lossless=True)


def make_tiff(rgb, rgba):
    for compression in ("raw", "tiff_lzw", "tiff_deflate", "packbits", "jpeg"):
        save(f"{compression}.tif", rgb, compression=compression)
    save("gray.tiff", rgb.convert("L"), compression="tiff_lzw")
    save("gray_alpha.tif", rgba.convert("LA"))
    save("rgba.tif", rgba)
    save("palette.tif", rgb.quantize(200))
    save("strips.tif", rgb, compression="tiff_lzw", tiffinfo={278: 5})
    for orientation in range(2, 9):
        save(f"orientation_{orientation}.tif", rgb, compression="tiff_lzw", tiffinfo={274: orientation})
    values = np.asarray(rgba).copy()
    values[0, :3, 3] = [0, 255, 1]
    write("premultiplied.tif", rgb_tiff(8, 4, values.tobytes(), alpha=1))
    wide = rng.integers(0, 2**16, (HEIGHT, WIDTH, 4)).astype("<u2")
    write("rgb16.tif", rgb_tiff(16, 3, np.ascontiguousarray(wide[:, :, :3]).tobytes()))
    save("gray16.tif", Image.fromarray((wide[:, :, 3] % 400).astype(np.uint16)))
    write("rgba16.tif", rgb_tiff(16, 4, wide.tobytes(), alpha=2))
    entry = lambda tag, kind, count, value: struct.pack("<HHII", tag, kind, count, value)
    gray = np.asarray(rgb.convert("L")).tobytes()
    tags = [(256, 3, 1, WIDTH), (257, 3, 1, HEIGHT), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 0), (273, 4, 1, 8),
            (277, 3, 1, 1), (278, 3, 1, HEIGHT), (279, 4, 1, len(gray))]  # 0 is white
    write("white_is_zero.tif", b"II*\0" + struct.pack("<I", 8 + len(gray) + len(gray) % 2) + gray + bytes(len(gray) % 2)
          + struct.pack("<H", len(tags)) + b"".join(entry(*tag) for tag in tags) + bytes(4))


def make_bmp(rgb, values):
    save("rgb.bmp", rgb)
    save("gray.bmp", rgb.convert("L"))
    save("palette.bmp", rgb.quantize(100))
    save("bits.bmp", rgb.convert("1"))
    save("rgba.bmp", Image.fromarray(picture(4)))
    numbers = values.astype(np.uint32)
    red, green, blue = (numbers[:, :, i] for i in range(3))
    rows32 = [(r << 16 | g << 8 | b).astype("<u4").tobytes() for r, g, b in zip(red, green, blue)]
    write("rgb32.bmp", bmp(32, rows32))
    write("top_down.bmp", bmp(32, rows32, top_down=True))
    rows15 = [((r >> 3) << 10 | (g >> 3) << 5 | b >> 3).astype("<u2").tobytes() for r, g, b in zip(red, green, blue)]
    write("rgb15.bmp", bmp(16, rows15))
    rows16 = [((r >> 3) << 11 | (g >> 2) << 5 | b >> 3).astype("<u2").tobytes() for r, g, b in zip(red, green, blue)]
    write("rgb16.bmp", bmp(16, rows16, compression=3, masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F)))
    nibbles = (values[:, :, 0] >> 4).astype(np.uint8)
    padded = np.pad(nibbles, ((0, 0), (0, 1)))
    rows4 = [(row[0::2] << 4 | row[1::2]).astype(np.uint8).tobytes() for row in padded]
    colors = b"".join(bytes([i * 16, 255 - i * 9, i * 3, 0]) for i in range(16))
    write("bits4.bmp", bmp(4, rows4, palette=colors))
    colors = b"".join(bytes([i, 255 - i, i * 7 % 256, 0]) for i in range(256))
    write("rle8.bmp", bmp(8, [run_coded(values[:, :, 1].tolist())], compression=1, palette=colors))


def make_pnm(rgb, values):
    save("rgb.ppm", rgb)
    save("gray.pgm", rgb.convert("L"))
    small = values // 3  # up to 85
    write("largest_85.ppm", b"P6\n# a comment\n%d %d\n85\n" % (WIDTH, HEIGHT) + small.tobytes())
    write("largest_100.pgm", b"P5 %d %d 100\n" % (WIDTH, HEIGHT) + small[:, :, 0].tobytes())
    text = b" ".join(b"%d" % value for value in values.reshape(-1))
    write("text.ppm", b"P3\n%d %d\n255\n" % (WIDTH, HEIGHT) + text)
    text = b"\n".join(b"%d" % value for value in small[:, :, 1].reshape(-1))
    write("text.pgm", b"P2 # comment\n%d %d\n85\n" % (WIDTH, HEIGHT) + text + b"\n")


def hash_of(pixels):
    value = 0
    for byte in pixels:
        value = (value * 0x9E3779B97F4A7C15 + byte + 1) % 2**64
    return f"{value:016x}"


def main():
    IMAGES.mkdir(exist_ok=True)
    for path in IMAGES.iterdir():
        path.unlink()
    values = picture()
    rgb, rgba = Image.fromarray(values), Image.fromarray(picture(4))
    make_webp(rgb, rgba)
    make_tiff(rgb, rgba)
    make_bmp(rgb, values)
    make_pnm(rgb, values)
    lines = []
    for path in sorted(IMAGES.iterdir()):
        image = Image.open(path).convert("RGB")
        lines.append(f"{path.name}\t{image.height}\t{image.width}\t{hash_of(image.tobytes())}\n")
    (HERE / "other_formats.tsv").write_text("".join(lines))


if __name__ == "__main__":
    main()
