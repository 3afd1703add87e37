"""Writes nifti.json: how nibabel 5.4 describes affines in a NIfTI-1 header.

    python tests/golden/volume/make_nifti.py

Of each affine: `qform` is nibabel's quaternion (b, c, d), offsets and pixdim (the sign of the third axis first), and
`affine` the 3 x 4 numbers themselves. nifti_writer_test.cpp writes a volume with that affine and compares the header.
The bytes of a whole file that nifti_writer wrote were read back by nibabel when this was written (see `check`).
"""

import json
import math
import pathlib
import sys

import nibabel
import numpy as np


def turned(axis, degrees):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    matrix = np.eye(3)
    i, j = [k for k in range(3) if k != axis]
    matrix[i, i] = matrix[j, j] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix


def affines():
    yield np.diag([1.5625, 1.5625, 1.5625]), (-199, -199, -199)
    yield np.diag([-0.7, -0.7, 2.5]), (180, 175, -300)  # LPS, as DICOM's
    yield np.diag([-0.7, 0.7, 2.5]), (180, -175, -300)  # left-handed
    yield turned(0, 90) @ np.diag([1, 2, 3]), (0, 1, 2)
    yield turned(2, 200) @ turned(0, 33) @ np.diag([0.9, 1.1, 2]), (-5, 7, 11)
    yield turned(1, 180) @ np.diag([1, 1, -2]), (0, 0, 0)


def main():
    cases = []
    for matrix, offset in affines():
        affine = np.eye(4)
        affine[:3, :3], affine[:3, 3] = matrix, offset
        header = nibabel.Nifti1Header()
        header.set_data_shape((2, 3, 4))
        header.set_qform(affine, code=1)
        names = ["quatern_b", "quatern_c", "quatern_d", "qoffset_x", "qoffset_y", "qoffset_z"]
        qform = [float(header[name]) for name in names] + [float(value) for value in header["pixdim"][:4]]
        cases.append({"affine": affine[:3].tolist(), "qform": qform})
    path = pathlib.Path(__file__).with_name("nifti.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


def check(path):
    """python make_nifti.py FILE: what nibabel reads in it."""
    image = nibabel.load(path)
    print(image.shape, image.get_data_dtype(), image.header["descrip"], image.affine, sep="\n")
    print(np.asanyarray(image.dataobj).ravel()[:8], np.abs(image.get_qform() - image.get_sform()).max())


if __name__ == "__main__":
    check(sys.argv[1]) if len(sys.argv) > 1 else main()
