"""Writes halving.json: rounds of successive halving as Hyperband's algorithm 1 has them.

    python3 tests/golden/launcher/sweep/make_halving.py

Li et al., "Hyperband: A Novel Bandit-Based Approach to Hyperparameter Optimization", JMLR 18 (2018), algorithm 1 with
eta = 3 and R = 81: for s = s_max, ..., 0 the bracket begins with n = ceil(B / R * eta^s / (s + 1)) configurations and
r = R * eta^-s; round i trains n_i = floor(n * eta^-i) of them to r_i = r * eta^i and keeps the best floor(n_i / eta).
The script checks its brackets against the paper's table 1 before it writes. Two more values of eta and R follow by the
same lines, and which of random losses each round keeps.

The file: `brackets`, each with `eta`, `shortest`, `longest`, `trials`, and of each of its `rounds` the number of trials
and the resource; `races`, each with `losses` (null: a trial that failed), `keep` and `kept`, the indices, best first.
"""

import json
import math
import pathlib
import random


def brackets(eta, longest):
    s_max = round(math.log(longest, eta))
    budget = (s_max + 1) * longest
    for s in range(s_max, -1, -1):
        n = math.ceil(budget / longest * eta**s / (s + 1))
        shortest = longest // eta**s
        yield {"eta": eta, "shortest": shortest, "longest": longest, "trials": n,
               "rounds": [[n // eta**i, shortest * eta**i] for i in range(s + 1)]}


def race(draws):
    losses = [None if draws.random() < 0.2 else round(draws.uniform(0, 1), 1) for _ in range(draws.randint(1, 12))]
    keep = draws.randint(1, 6)
    order = sorted((loss, index) for index, loss in enumerate(losses) if loss is not None)
    return {"losses": losses, "keep": keep, "kept": [index for _, index in order[:keep]]}


def main():
    table_1 = [[[81, 1], [27, 3], [9, 9], [3, 27], [1, 81]], [[34, 3], [11, 9], [3, 27], [1, 81]],
               [[15, 9], [5, 27], [1, 81]], [[8, 27], [2, 81]], [[5, 81]]]
    assert [bracket["rounds"] for bracket in brackets(3, 81)] == table_1
    draws = random.Random(5)
    golden = {"brackets": [*brackets(3, 81), *brackets(2, 16), *brackets(4, 256)],
              "races": [race(draws) for _ in range(40)]}
    path = pathlib.Path(__file__).with_name("halving.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
