"""How much of drawn digits a linear model tells by their pixels: scikit-learn's logistic regression on standardised pixels.
Prints for each strength of its penalty the accuracy on the pictures that it saw and on others, as JSON.

    python linear_digits.py FOLDER
"""

import json
import pathlib
import sys
import warnings

import numpy as np
import torchvision
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

INVERSE_PENALTIES = (1e-4, 1e-2)
ITERATIONS = 100


def read(folder):
    files = torchvision.datasets.ImageFolder(folder)
    return np.stack([np.asarray(image, np.float32).ravel() for image, _ in files]), np.array(files.targets)


def main(folder):
    warnings.filterwarnings("ignore", message=".*failed to converge.*")  # it is as good before
    (train, train_labels), (val, val_labels) = read(folder / "train"), read(folder / "val")
    scaler = StandardScaler().fit(train)
    train, val = scaler.transform(train), scaler.transform(val)
    models = [LogisticRegression(C=c, max_iter=ITERATIONS).fit(train, train_labels) for c in INVERSE_PENALTIES]
    print(json.dumps([{"C": model.C, "train": model.score(train, train_labels), "val": model.score(val, val_labels)}
                      for model in models]))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
