"""Writes small NIfTI files of all kinds and what nibabel reads in them: affine, and values with i fastest.

Run with nibabel: python make_nifti.py. Made with nibabel 5.4.2 and NumPy 2.4.6.
"""

import gzip
import io
import json
import pathlib

import nibabel
import numpy

HERE = pathlib.Path(__file__).parent
SIZES = (3, 4, 2)


def turned(random, zooms):
    """An affine of voxels that stand askew."""
    turn, _ = numpy.linalg.qr(random.normal(size=(3, 3)))
    affine = numpy.eye(4)
    affine[:3, :3] = turn * zooms
    affine[:3, 3] = random.normal(size=3) * 100
    return affine


def make(name, seed, dtype, image_type=nibabel.Nifti1Image, form="sform", slope=None, endian="<", left_handed=False):
    random = numpy.random.default_rng(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        stored = random.normal(size=SIZES) * 1000
    else:
        limits = numpy.iinfo(dtype)
        stored = random.integers(max(limits.min, -30000), min(limits.max, 30000), size=SIZES)
    affine = turned(random, [0.7, 0.8, 2.5])
    if (numpy.linalg.det(affine) < 0) != left_handed:
        affine[:3, 0] *= -1
    header = image_type.header_class(endianness=endian)
    header.set_data_dtype(dtype.newbyteorder(endian))
    image = image_type(stored.astype(dtype), affine, header)
    image.set_sform(affine if form in ("sform", "both") else None, 1 if form in ("sform", "both") else 0)
    image.set_qform(turned(random, [1, 2, 3]) if form == "both" else affine, 0 if form == "sform" else 1)
    if slope is not None:
        image.header.set_slope_inter(*slope)
    data = image.to_bytes()
    if slope is not None:  # nibabel rescales what it saves, so put the stored integers in by hand
        start = int(image.header["vox_offset"]) or len(data) - stored.size * dtype.itemsize
        data = data[:start] + stored.astype(dtype.newbyteorder(endian)).tobytes(order="F")
        raw = image_type.header_class.from_fileobj(io.BytesIO(data), check=False)
        raw["scl_slope"], raw["scl_inter"] = slope
        data = raw.binaryblock + data[len(raw.binaryblock):]
    path = HERE / name
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    read = nibabel.load(path)
    values = numpy.asarray(read.get_fdata(dtype=numpy.float64), dtype=numpy.float32)
    return {"file": name, "sizes": list(read.shape), "affine": read.affine[:3].tolist(),
            "values": [float(value) for value in values.ravel(order="F")]}


def main():
    cases = [make("sform.nii", 1, "i2", slope=(0.5, -1024.0)),
             make("qform.nii", 2, "u1", form="qform"),
             make("left_handed.nii.gz", 3, "i4", form="qform", left_handed=True),
             make("both.nii.gz", 4, "u2", form="both"),
             make("big_endian.nii", 5, "i2", endian=">", slope=(2.0, 3.0)),
             make("big_endian_float.nii", 6, "f8", endian=">", form="qform"),
             make("float.nii", 7, "f4"),
             make("second.nii", 8, "i2", nibabel.Nifti2Image, form="qform", slope=(1.25, -7.0)),
             make("second.nii.gz", 9, "f8", nibabel.Nifti2Image),
             make("second_big_endian.nii", 10, "u4", nibabel.Nifti2Image, form="both", endian=">"),
             make("signed_bytes.nii", 11, "i1"),
             make("long.nii", 12, "i8"),
             make("unsigned_long.nii", 13, "u8")]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "nifti.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
