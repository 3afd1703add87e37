"""Folders that `paceline data prepare ct` made: reads them, and makes others of them."""

import json
import shutil

import numpy as np
import torch

WINDOW = (-1000, 3000)  # HU that are -1 and 1
MANIFEST = "ct_manifest.json"


def volumes(folder, split, side):
    """[patients, side, side, side] in [-1, 1], z y x."""
    hu = torch.from_numpy(np.load(folder / split / f"volume_{side}.npy")).float().clamp(*WINDOW)
    return (hu - WINDOW[0]) * (2 / (WINDOW[1] - WINDOW[0])) - 1


def xrays(folder, split, size):
    """[patients, views, size, size] in [-1, 1]."""
    stored = np.load(folder / split / f"xrays_{size}.npy")
    return torch.from_numpy(stored.astype(np.float32)) * (2 / 65535) - 1


def psnr(found, wanted):
    """The mean over patients, of values in [-1, 1]."""
    return (10 * torch.log10(4 / (found - wanted).square().flatten(1).mean(1))).mean().item()


def rewritten(folder, target, change):
    """A copy whose manifest and arrays `change(manifest, target)` has changed."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    manifest = json.loads((target / MANIFEST).read_text())
    change(manifest, target)
    (target / MANIFEST).write_text(json.dumps(manifest))
    return target


def shuffled(folder, target, size):
    """The same, but each patient of val has the X-rays of the next one."""
    def change(manifest, copy):
        path = copy / "val" / f"xrays_{size}.npy"
        np.save(path, np.roll(np.load(path), 1, axis=0))
        patients = sorted((each for each in manifest["patients"] if each["split"] == "val"), key=lambda each: each["index"])
        hashes = [each["hashes"][-1] for each in patients]
        for patient, moved in zip(patients, hashes[-1:] + hashes[:-1]):
            patient["hashes"][-1] = moved
    return rewritten(folder, target, change)


def alone(folder, target):
    """The first patient of train alone, and as another patient's in val."""
    def change(manifest, copy):
        for path in (copy / "train").glob("*.npy"):
            first = np.load(path)[:1]
            for split in ("train", "val"):
                np.save(copy / split / path.name, first)
        shutil.rmtree(copy / "test", ignore_errors=True)
        patient = next(each for each in manifest["patients"] if each["split"] == "train" and each["index"] == 0)
        manifest["patients"] = [patient, patient | {"split": "val", "patient": patient["patient"] + "-again"}]
    return rewritten(folder, target, change)
