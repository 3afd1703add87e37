"""Writes volume_quality.json: PSNR, SSIM and the mean absolute error of volumes by scikit-image 0.26 and MONAI 1.6.

    python tests/golden/metrics/make_volume_quality.py

The volumes are functions of their indices, which volume_quality_test.cpp repeats: sin(0.05 i) and that plus 0.3
sin(1.7 i + number). SSIM's window is scikit-image's Gaussian of deviation 1.5, cut off at 3.5 deviations: 11 voxels.
MONAI's SSIM is of float32, so its last digits are rounding.
"""

import json
import pathlib

import numpy as np
import torch
from monai.metrics import MAEMetric, PSNRMetric, SSIMMetric
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

SHAPES = [(12, 13, 16), (11, 11, 11)]
RANGE = 2.0


def monais(truth, volume):
    """PSNR, SSIM and mean absolute error."""
    volumes = [torch.from_numpy(each)[None, None] for each in (volume, truth)]
    ssim = SSIMMetric(spatial_dims=3, data_range=torch.tensor(RANGE), win_size=11, kernel_sigma=1.5)
    return [metric(*volumes).item() for metric in (PSNRMetric(RANGE), ssim, MAEMetric())]


def main():
    cases = []
    for shape in SHAPES:
        index = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
        truth = np.sin(0.05 * index)
        case = {"shape": shape, "psnr": [], "ssim": [], "error": [], "monai": []}
        for number in range(2):
            volume = truth + 0.3 * np.sin(1.7 * index + number)
            case["psnr"].append(peak_signal_noise_ratio(truth, volume, data_range=RANGE))
            case["ssim"].append(structural_similarity(truth, volume, data_range=RANGE, gaussian_weights=True, sigma=1.5,
                                                      use_sample_covariance=False))
            case["error"].append(np.abs(truth - volume).mean())
            case["monai"].append(monais(truth, volume))
        cases.append(case)
    path = pathlib.Path(__file__).with_name("volume_quality.json")
    path.write_text(json.dumps({"range": RANGE, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
