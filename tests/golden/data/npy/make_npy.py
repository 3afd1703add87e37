"""Makes small .npy files of all kinds, sound and not. Run with NumPy: python make_npy.py. Made with NumPy 2.4.6."""

import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent


def write(name, array, version=(1, 0)):
    with open(HERE / name, "wb") as file:
        np.lib.format.write_array(file, array, version)


def main():
    images = np.arange(2 * 3 * 4 * 3, dtype=np.uint8).reshape(2, 3, 4, 3)  # two of 3 rows and 4 columns
    write("rgb.npy", images)
    write("planes.npy", np.ascontiguousarray(images.transpose(0, 3, 1, 2)), (2, 0))
    write("wide.npy", images[..., 0].astype("i2"))
    write("gray.npy", np.ascontiguousarray(images[..., 0]), (3, 0))
    for kind in ("i1", "u1"):
        write(f"labels_{kind}.npy", np.array([1, 2], kind))
    for kind in ("i2", "u2", "i4", "u4", "i8", "u8"):
        write(f"labels_{kind}.npy", np.array([1, 300], kind))
    write("negative.npy", np.array([1, -2], "i2"))
    write("too_large.npy", np.array([1, 2**63], "u8"))
    write("scalar.npy", np.array(7, "i4"))
    write("big_endian.npy", np.array([1, 2], ">i4"))
    write("float.npy", images.astype(np.float32))
    write("half.npy", np.arange(6, dtype=np.float16).reshape(2, 3))
    with open(HERE / "objects.npy", "wb") as file:
        np.lib.format.write_array(file, np.array([None, 1]), allow_pickle=True)
    write("complex.npy", np.array([1j]))
    write("fortran.npy", np.asfortranarray(images))
    write("fields.npy", np.zeros(2, [("a", "i4"), ("b", "u1")]))
    write("text.npy", np.array(["one", "two"]))


if __name__ == "__main__":
    main()
