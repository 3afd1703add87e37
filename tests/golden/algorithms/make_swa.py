"""Writes swa.json: averages that Composer's SWA keeps of scripted weights (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_swa.py

What Composer computes, as a contract for the C++:

When. Only at BATCH_END (update_interval in ba) or EPOCH_END (in ep), once swa_start is reached: a share of the run or
a number of whole epochs; swa_end is counted in the same of both. The first such event is number 0 of a count of its
own, and whenever that is a multiple of the interval weights are taken. So the interval runs from swa_start on, unlike
that of EMA, and an event past swa_end that is no multiple loads all the same.
At BATCH_END of an epoch's last batch the clock does not count that epoch yet: a start in ep with an interval in ba
begins one batch later than the epoch ends. The C++ counts steps, and begins with the epoch's last.

What. torch's AveragedModel: the first weights are copied, then average + (w - average) / (n + 1) with n the number
taken so far; parameters of every kind, frozen ones too. All buffers are copied from the model each time (use_buffers
is off), also the counter of batches.

End. At the first event with the clock at or past swa_end, after weights were taken if they were due, the average is
loaded into the model, buffers included: those of the last weights taken, and not those at hand. Nothing happens after
that. The optimizer knows nothing of it. There is no evaluation of the average before.

The learning rate. schedule_swa_lr overwrites swa_lr by the last rate of the one scheduler, so that annealing ends
where it begins (`assert_annealing_does_nothing`); the C++ leaves the rate to the schedule.

The file: `cases`, each with the constructor's `options`, `max_batches`, `batches_per_epoch` and `updates`: those events
that took weights or loaded them, with `batch`, `is_taken`, `is_loaded`, `average` (name to flat values, float32) and
`model` after it. Weights of batch t are functions of t: see `write_weights`.
"""

import json
import pathlib
import warnings

import torch
from averaged_net import BATCHES_PER_EPOCH, MAX_BATCHES, Net, write_weights
from composer.algorithms.swa import SWA
from composer.core import Event, State
from composer.devices import DeviceCPU


def values(module):
    return {name: [float(f"{value:.9g}") for value in tensor.detach().reshape(-1).tolist()]
            for name, tensor in module.state_dict().items() if tensor.is_floating_point()}


def send(swa, state, event):
    """What the engine does with one algorithm."""
    if swa.match(event, state):
        swa.apply(event, state, None)


def new_state(net, **options):
    return State(model=net, rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration=f"{MAX_BATCHES}ba",
                 **options)


def events(state):
    """Moves the clock as the trainer does and yields the events at which an average may change."""
    for batch in range(1, MAX_BATCHES + 1):
        state.timestamp = state.timestamp.to_next_batch()
        yield Event.BATCH_END, batch
        if batch % BATCHES_PER_EPOCH == 0:
            state.timestamp = state.timestamp.to_next_epoch()
            yield Event.EPOCH_END, batch


def run(options):
    net = Net()
    write_weights(net, 0)
    state, swa, updates = new_state(net), SWA(**options), []
    send(swa, state, Event.INIT)
    for event, batch in events(state):
        if event == Event.BATCH_END:
            write_weights(net, batch)
        was_completed, num_taken = swa.swa_completed, int(swa.swa_model.n_averaged)
        send(swa, state, event)
        is_taken = int(swa.swa_model.n_averaged) != num_taken
        is_loaded = swa.swa_completed and not was_completed
        if is_taken or is_loaded:
            updates.append({"batch": batch, "is_taken": is_taken, "is_loaded": is_loaded,
                            "average": values(swa.swa_model.module), "model": values(net)})
    return {"options": options, "max_batches": MAX_BATCHES, "batches_per_epoch": BATCHES_PER_EPOCH,
            "updates": updates}


def assert_annealing_does_nothing():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    state = new_state(net, optimizers=optimizer)
    state.schedulers = [torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)]
    swa = SWA(swa_start="0.25dur", update_interval="1ba", schedule_swa_lr=True, anneal_steps=2, swa_lr=0.1)
    send(swa, state, Event.INIT)
    for event, _ in events(state):
        send(swa, state, event)
    assert swa.swa_lr == 0.5 and optimizer.param_groups[0]["lr"] == 0.5


def main():
    warnings.simplefilter("ignore")
    assert_annealing_does_nothing()
    cases = [run({"swa_start": start, "swa_end": end, "update_interval": interval}) for start, end, interval in (
        ("0.25dur", "0.75dur", "1ba"), ("0.25dur", "0.75dur", "3ba"), ("0.3dur", "0.8dur", "2ba"),
        ("0.0dur", "1.0dur", "5ba"), ("0.25dur", "0.97dur", "1ep"), ("1ep", "3ep", "1ep"), ("1ep", "4ep", "2ep"),
        ("0.7dur", "0.97dur", "1ep"))]
    assert all(case["updates"][-1]["is_loaded"] for case in cases)
    path = pathlib.Path(__file__).with_name("swa.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
