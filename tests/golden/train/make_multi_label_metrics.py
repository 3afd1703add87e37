"""Writes multi_label_metrics.json: metrics of a few samples by torchmetrics and scikit-learn, which must agree.

    python tests/golden/train/make_multi_label_metrics.py        # torchmetrics 1.9, scikit-learn 1.9

Logits and targets are functions of their indices, which multi_label_metrics_test.cpp repeats. `rare` has equal rows of
other targets, and no sample of the last class.
"""

import json
import math
import pathlib

import numpy as np
import torch
from sklearn import metrics as sk
from torch.nn import functional as F
from torchmetrics.functional import classification as tm

SAMPLES, CLASSES, THRESHOLD = 53, 6, 0.4


def inputs(kind):
    rows = [i % 20 if kind == "rare" else i for i in range(SAMPLES)]
    logits = torch.tensor([[2 * math.sin(0.7 * (row * CLASSES + c) + 20) for c in range(CLASSES)] for row in rows],
                          dtype=torch.float64)
    targets = torch.tensor([[int((i * i * 3 + i // 7 + 5 * c * i) % 3 == 0) for c in range(CLASSES)]
                            for i in range(SAMPLES)])
    targets[::5] = (logits.sigmoid() > THRESHOLD).long()[::5]
    if kind == "rare":
        targets[:, CLASSES - 1] = 0
    return logits, targets


def agreed(ours, theirs):
    ours, theirs = float(ours), float(theirs)
    assert abs(ours - theirs) < 1e-6, (ours, theirs)
    return theirs


def compute(kind):
    logits, targets = inputs(kind)
    p = logits.sigmoid()
    told = (p > THRESHOLD).long()
    options = {"num_labels": CLASSES, "threshold": THRESHOLD}
    present = [c for c in range(CLASSES) if targets[:, c].any()]
    values = {}
    for name, ours, theirs in (("precision", tm.multilabel_precision, sk.precision_score),
                               ("recall", tm.multilabel_recall, sk.recall_score),
                               ("f1", tm.multilabel_f1_score, sk.f1_score)):
        for average in ("micro", "macro", "weighted"):
            values[f"{name}_{average}"] = agreed(ours(p, targets, average=average, **options),
                                                 theirs(targets, told, average=average, zero_division=0))
    values["label_accuracy"] = agreed(tm.multilabel_accuracy(p, targets, average="micro", **options),
                                      1 - sk.hamming_loss(targets, told))
    values["auroc"] = agreed(
        tm.multilabel_auroc(p, targets, num_labels=CLASSES, average=None)[present].mean(),  # of others it makes 0
        np.mean([sk.roc_auc_score(targets[:, c], p[:, c]) for c in present]))
    values["average_precision"] = agreed(
        tm.multilabel_average_precision(p, targets, num_labels=CLASSES, average=None)[present].mean(),
        np.mean([sk.average_precision_score(targets[:, c], p[:, c]) for c in present]))
    losses = F.binary_cross_entropy_with_logits(logits, targets.double(), reduction="none").mean(1).numpy()
    for percent in (0, 50, 95):
        values[f"loss_p{percent}"] = float(np.percentile(losses, percent))
    exact = agreed(tm.multilabel_exact_match(p, targets, **options), sk.accuracy_score(targets, told))
    precision, recall, f1, samples = sk.precision_recall_fscore_support(targets, told, zero_division=0)
    return {"kind": kind, "values": values, "exact_match": exact, "precision": precision.tolist(),
            "recall": recall.tolist(), "f1": f1.tolist(), "samples": samples.tolist()}


def main():
    cases = [compute(kind) for kind in ("distinct", "rare")]
    path = pathlib.Path(__file__).with_name("multi_label_metrics.json")
    path.write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    main()
