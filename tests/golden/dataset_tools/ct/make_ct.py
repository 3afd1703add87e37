"""Writes what nibabel, NumPy and SciPy make of small volumes, and Python's hmac of patients: orient.json, cube.json and
patient_split.json. Values stand with i fastest.

Run with nibabel, SciPy and PyTorch: python make_ct.py. Made with nibabel 5.4.2, NumPy 2.4.6, SciPy 1.17.1 and
PyTorch 2.11.
"""

import hashlib
import hmac
import itertools
import json
import pathlib

import nibabel
import numpy
import torch
from scipy.spatial.transform import Rotation
from torch.nn.functional import interpolate

HERE = pathlib.Path(__file__).parent


def write(name, cases):
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / name).write_text(f"[\n{lines}\n]\n")


def flat(array):
    return [float(value) for value in numpy.asarray(array, numpy.float32).ravel(order="F")]


def affine_of(turn, zooms, shift):
    affine = numpy.eye(4)
    affine[:3, :3] = turn * zooms
    affine[:3, 3] = shift
    return affine


def orient():
    cases = []
    turns = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            turn = numpy.zeros((3, 3))
            turn[order, range(3)] = signs
            turns.append(turn)
    turns += list(Rotation.random(12, random_state=3).as_matrix())
    turns += [turn * [1, 1, -1] for turn in Rotation.random(4, random_state=4).as_matrix()]
    for turn in turns:
        values = numpy.arange(2 * 3 * 4, dtype=numpy.float32).reshape(2, 3, 4)
        image = nibabel.Nifti1Image(values, affine_of(turn, [0.5, 0.75, 3], [10, -20, 30]))
        turned = nibabel.as_closest_canonical(image)
        cases.append({"sizes": list(values.shape), "affine": image.affine[:3].tolist(), "values": flat(values),
                      "oriented_sizes": list(turned.shape), "oriented_affine": turned.affine[:3].tolist(),
                      "oriented_values": flat(turned.get_fdata())})
    return cases


def triangle_matrix(inputs, outputs, step):
    """Row by row the weights of one output; rows of zeros lie outside. All at once, unlike the code under test."""
    places = (inputs - 1) / 2 + (numpy.arange(outputs) - (outputs - 1) / 2) * step
    weights = numpy.clip(1 - numpy.abs(numpy.arange(inputs)[None] - places[:, None]) / max(1, step), 0, None)
    weights /= weights.sum(1, keepdims=True).clip(1e-30)
    weights[(places < -0.5) | (places > inputs - 0.5)] = 0
    return weights


def check_against_torch():
    """Where a cube covers a volume exactly, PyTorch's filter against aliasing must give the same."""
    values = numpy.random.default_rng(9).normal(size=(12, 12, 12))
    for side in (5, 6, 12, 20):
        matrix = triangle_matrix(12, side, 12 / side)
        made = numpy.einsum("ai,bj,ck,ijk->abc", matrix, matrix, matrix, values)
        how = {"mode": "bilinear", "antialias": True}
        peer = interpolate(torch.from_numpy(values)[None], (side, side), **how)[0]            # i, b, c
        peer = interpolate(peer.permute(1, 0, 2)[None], (side, side), **how)[0].permute(1, 0, 2)  # a, b, c
        numpy.testing.assert_allclose(peer.numpy(), made, atol=1e-9)


def cube():
    check_against_torch()
    cases = []
    for number, (sizes, zooms, fov, side) in enumerate((
            ((6, 5, 4), (1, 1, 1), 8, 8),        # as it is, with air around
            ((6, 5, 4), (1, 1.5, 2), 9, 12),     # smaller voxels
            ((12, 11, 7), (0.5, 0.7, 1), 6, 4),  # larger voxels, prefiltered
            ((9, 8, 10), (0.6, 2, 0.3), 4, 4),   # both, cut at the sides
            ((1, 3, 2), (2, 1, 5), 6, 6),
            ((10, 10, 3), (0.5, 0.5, 1), 12, 2))):
        random = numpy.random.default_rng(number)
        values = random.normal(0, 500, sizes).astype(numpy.float32)
        turn = Rotation.from_euler("xyz", [5, -8, 12], degrees=True).as_matrix() if number % 2 else numpy.eye(3)
        affine = affine_of(turn, zooms, random.normal(0, 50, 3))
        made = values.astype(numpy.float64)
        outside = numpy.zeros((side,) * 3, bool)
        for axis in range(3):
            matrix = triangle_matrix(sizes[axis], side, fov / side / zooms[axis])
            made = numpy.moveaxis(numpy.tensordot(matrix, made, (1, axis)), 0, axis)
            shape = [1, 1, 1]
            shape[axis] = side
            outside |= (matrix.sum(1) == 0).reshape(shape)
        made[outside] = -1000
        voxel = fov / side
        middle = affine[:3, :3] @ ((numpy.array(sizes) - 1) / 2) + affine[:3, 3]
        target = affine_of(turn, [voxel] * 3, 0)
        target[:3, 3] = middle - target[:3, :3] @ numpy.full(3, (side - 1) / 2)
        halves = made.reshape(side // 2, 2, side // 2, 2, side // 2, 2).mean((1, 3, 5))
        half_affine = target.copy()
        half_affine[:3, 3] += target[:3, :3] @ numpy.full(3, 0.5)
        half_affine[:3, :3] *= 2
        cases.append({"sizes": list(sizes), "affine": affine[:3].tolist(), "values": flat(values), "fov_mm": fov,
                      "side": side, "cube": flat(made), "cube_affine": target[:3].tolist(), "half": flat(halves),
                      "half_affine": half_affine[:3].tolist()})
    return cases


def patient_split():
    cases = []
    for seed in (0, 1, 2**64 - 1):
        for patient in ("LIDC-0001", "p", "Müller", "a b", *map(str, range(40))):
            digest = hmac.new(f"paceline ct {seed}".encode(), patient.encode(), hashlib.sha256).hexdigest()
            tenth = int(digest[16:32], 16) % 10
            cases.append({"seed": seed, "patient": patient, "code": digest[:16],
                          "split": "val" if tenth == 8 else "test" if tenth == 9 else "train"})
    return cases


if __name__ == "__main__":
    write("orient.json", orient())
    write("cube.json", cube())
    write("patient_split.json", patient_split())
