"""Makes meta_compressed.mat and meta_plain.mat: small files of the form of the development kit's meta.mat.

Run with NumPy and SciPy: python make_meta.py. Made with SciPy 1.17.1."""

import pathlib

import numpy as np
import scipy.io

HERE = pathlib.Path(__file__).parent
# The numbers of the competition are not in the order of the WordNet ids, and inner nodes come last.
SYNSETS = [(1, "n02119789", "kit fox, Vulpes macrotis", []), (2, "n02100735", "English setter", []),
           (3, "n01440764", "tench, Tinca tinca", []), (4, "n04254777", "sock", []),
           (5, "n00001740", "entity", [1, 2, 3]), (6, "n00021939", "artifact", [4])]
FIELDS = ["ILSVRC2012_ID", "WNID", "words", "gloss", "num_children", "children", "wordnet_height", "num_train_images"]


def main():
    synsets = np.zeros((len(SYNSETS), 1), dtype=[(field, object) for field in FIELDS])
    for row, (number, wnid, words, children) in zip(synsets[:, 0], SYNSETS):
        row["ILSVRC2012_ID"], row["WNID"], row["words"] = float(number), wnid, words
        row["gloss"] = "caf\u00e9 au lait" if number == 1 else "what it is"
        row["num_children"], row["children"] = float(len(children)), np.array([children], dtype=float)
        row["wordnet_height"], row["num_train_images"] = float(bool(children)), 1300.0
    for name, is_compressed in (("meta_compressed.mat", True), ("meta_plain.mat", False)):
        content = {"synsets": synsets, "numbers": np.array([[1, -2, 3], [4, 5, 60000]], dtype=np.int32),
                   "fractions": np.array([0.5, 1e300]), "cells": np.array([["one", 2.0]], dtype=object)}
        scipy.io.savemat(HERE / name, content, do_compression=is_compressed)
        made = (HERE / name).read_bytes()  # the header's text holds the date
        (HERE / name).write_bytes(b"MATLAB 5.0 MAT-file".ljust(116) + made[116:])


if __name__ == "__main__":
    main()
