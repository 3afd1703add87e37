#!/usr/bin/env python3
"""Writes the small pickles beside it that pickle_test and cifar_test read.

Each stands for a batch of CIFAR's Python version with two records. NumPy and pickle write those of
protocols 2 to 5; python2_protocol2 is spelled opcode by opcode as Python 2 wrote the published files, and
read back here by pickle itself to be sure that it means the same.
"""
import os
import pickle
import struct

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cifar")
LABELS = [3, 9]
DATA = (np.arange(2 * 3072, dtype=np.int64).reshape(2, 3072) * 7 % 251).astype(np.uint8)


def python2_text(text):
    if len(text) < 256:
        return b"U" + bytes([len(text)]) + text
    return b"T" + struct.pack("<i", len(text)) + text


def python2_pickle():
    shape = b"K\x02" + b"M" + struct.pack("<H", 3072) + b"\x86"
    dtype = (b"cnumpy\ndtype\nq\x05" + python2_text(b"u1") + b"K\x00K\x01\x87R" +
             b"(K\x03" + python2_text(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + b"K\x00tb")
    array = (b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03" +
             b"K\x00\x85" + python2_text(b"b") + b"\x87Rq\x04" +
             b"(K\x01" + shape + dtype + b"\x89" + python2_text(DATA.tobytes()) + b"tb")
    return (b"\x80\x02}q\x01(" +
            python2_text(b"batch_label") + python2_text(b"training batch 1 of 5") +
            python2_text(b"labels") + b"]r\x06\x00\x00\x00(K\x03K\x09e" +
            python2_text(b"data") + array +
            python2_text(b"filenames") + b"](" + python2_text(b"a.png") + python2_text(b"b.png") +
            b"eu.")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    batch = {b"batch_label": b"training batch 1 of 5", b"labels": LABELS, b"data": DATA,
             b"filenames": [b"a.png", b"b.png"], b"extra": (1.5, None, True, -70000, 1 << 40)}
    files = {f"python3_protocol{p}": pickle.dumps(batch, protocol=p) for p in (2, 3, 4, 5)}
    files["python2_protocol2"] = python2_pickle()
    read = pickle.loads(files["python2_protocol2"], encoding="latin1")
    assert read["labels"] == LABELS and np.array_equal(read["data"], DATA), read
    names = [f"name {i}".encode() for i in range(10)]
    files["batches.meta"] = pickle.dumps({b"label_names": names, b"num_vis": 3072}, protocol=2)
    files["dangerous"] = pickle.dumps(print, protocol=2)
    for name, content in files.items():
        with open(os.path.join(FOLDER, name), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    main()
