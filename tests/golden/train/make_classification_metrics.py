"""Writes classification_metrics.json: metrics of a few samples by torchmetrics and scikit-learn, which must agree.

    python tests/golden/train/make_classification_metrics.py        # torchmetrics 1.9, scikit-learn 1.9

Logits and labels are functions of their indices, which classification_measure_test.cpp repeats. `tied` has equal rows
of other labels, and no sample of the last class.
"""

import json
import math
import pathlib

import numpy as np
import torch
from sklearn import metrics as sk
from torch.nn import functional as F
from torchmetrics.functional import classification as tm

SAMPLES, CLASSES = 61, 7


def inputs(kind):
    rows = [i % 20 if kind == "tied" else i for i in range(SAMPLES)]
    logits = torch.tensor([[2 * math.sin(0.7 * (row * CLASSES + c) + 20) for c in range(CLASSES)] for row in rows],
                          dtype=torch.float64)
    present = CLASSES - 1 if kind == "tied" else CLASSES
    return logits, torch.tensor([(i * i * 3 + i // 7) % present for i in range(SAMPLES)])


def agreed(ours, theirs):
    ours, theirs = float(ours), float(theirs)
    assert abs(ours - theirs) < 1e-6, (ours, theirs)
    return theirs


def compute(kind):
    logits, labels = inputs(kind)
    p = logits.softmax(1)
    told = logits.argmax(1)
    losses = F.cross_entropy(logits, labels, reduction="none").numpy()
    options = {"num_classes": CLASSES}
    present = sorted(set(labels.tolist()))
    values = {}
    for k in (1, 3):
        values[f"top{k}"] = agreed(tm.multiclass_accuracy(p, labels, average="micro", top_k=k, **options),
                                   sk.top_k_accuracy_score(labels, p, k=k, labels=range(CLASSES)))
    for name, ours, theirs in (("precision", tm.multiclass_precision, sk.precision_score),
                               ("recall", tm.multiclass_recall, sk.recall_score),
                               ("f1", tm.multiclass_f1_score, sk.f1_score)):
        for average in ("macro", "weighted"):
            values[f"{name}_{average}"] = agreed(ours(told, labels, average=average, **options),
                                                 theirs(labels, told, average=average, zero_division=0))
    values["balanced_accuracy"] = sk.balanced_accuracy_score(labels, told)
    values["ece"] = float(tm.multiclass_calibration_error(p, labels, n_bins=15, norm="l1", **options))
    values["auroc"] = agreed(
        tm.multiclass_auroc(p, labels, average=None, **options)[present].mean(),  # of others it makes 0
        np.mean([sk.roc_auc_score(labels == c, p[:, c]) for c in present]))
    values["average_precision"] = agreed(
        tm.multiclass_average_precision(p, labels, average="macro", **options),
        np.mean([sk.average_precision_score(labels == c, p[:, c]) for c in present]))
    for percent in (0, 50, 95, 99.5):
        values[f"loss_p{percent}"] = float(np.percentile(losses, percent))
    confusions = sk.confusion_matrix(labels, told, labels=range(CLASSES))
    assert confusions.tolist() == tm.multiclass_confusion_matrix(told, labels, **options).tolist()
    precision, recall, f1, samples = sk.precision_recall_fscore_support(labels, told, labels=range(CLASSES),
                                                                        zero_division=0)
    return {"kind": kind, "values": values, "confusions": confusions.tolist(), "precision": precision.tolist(),
            "recall": recall.tolist(), "f1": f1.tolist(), "samples": samples.tolist()}


def main():
    cases = [compute(kind) for kind in ("distinct", "tied")]
    path = pathlib.Path(__file__).with_name("classification_metrics.json")
    path.write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
