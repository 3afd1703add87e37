"""Writes projections.json: what DiffDRR 0.6.1 integrates along the rays through a cube of numbers by Siddon's method.

    python tests/golden/volume/make_projections.py

Source, detector and turn of each view are DiffDRR's own: its C-arm in the orientation "AP", turned about the body's long
axis. Pixels are as wide at the isocentre as ours, so on the detector as much wider as it is further away. A source
10,000 km away stands for parallel beams. No ray lies between two voxels, where either may count.

DiffDRR asks for much that it only draws with, VTK and Jupyter among it, so it is none of deps/peers.txt; beside the
peers these are enough:

    pip install --no-deps diffdrr==0.6.1 torchio==1.2.1 fastcore roma jaxtyping wadler_lindig kornia kornia_rs humanize \
        einops deprecated wrapt typer shellingham rich markdown-it-py mdurl pygments loguru click pandas python-dateutil six
"""

import json
import pathlib

import numpy as np
import torch
from diffdrr.data import read
from diffdrr.drr import DRR
from torchio import ScalarImage

SIDE, FOV_MM = 11, 88.0
ROWS, COLUMNS = 10, 8
BEAMS = {"cone": (200.0, 350.0), "parallel": (1e10, 1e10 + 100)}  # from the source to isocentre and detector, in mm


def views(cube):
    """Of values [z][y][x]."""
    voxel = FOV_MM / SIDE
    affine = np.diag([voxel, voxel, voxel, 1])
    affine[:3, 3] = (voxel - FOV_MM) / 2
    values = torch.tensor(np.ascontiguousarray(cube.transpose()), dtype=torch.float64)
    subject = read(ScalarImage(tensor=values[None].float(), affine=affine), orientation="AP")
    for beam, (isocentre, detector) in BEAMS.items():
        magnified = detector / isocentre
        network = DRR(subject, sdd=detector, height=ROWS, width=COLUMNS, delx=FOV_MM / COLUMNS * magnified,
                      dely=FOV_MM / ROWS * magnified).double()
        network.density = values  # in place of what it makes of Hounsfield units
        for angle in (0, 90, -35):
            turn, way = torch.tensor([[[angle, 0, 0]], [[0, isocentre, 0]]], dtype=torch.float64)
            image = network(turn, way, parameterization="euler_angles", convention="ZXY", degrees=True)[0, 0] / FOV_MM
            yield {"beam": beam, "angle": angle, "image": [float(f"{value:.10g}") for value in image.flatten()]}


def main():
    cube = np.random.default_rng(3).integers(0, 10, (SIDE,) * 3)
    isocentre, detector = BEAMS["cone"]
    golden = {"side": SIDE, "fov_mm": FOV_MM, "rows": ROWS, "columns": COLUMNS, "cube": cube.flatten().tolist(),
              "cone": {"source_to_isocentre_mm": isocentre, "source_to_detector_mm": detector}, "views": list(views(cube))}
    path = pathlib.Path(__file__).with_name("projections.json")
    path.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
