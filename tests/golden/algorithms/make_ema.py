"""Writes ema.json: averages that Composer's EMA keeps of scripted weights (mosaicml 0.32.1, torch 2.7.0, CPU).

    python tests/golden/algorithms/make_ema.py

What Composer computes, as a contract for the C++:

Smoothing. s = 2 ** -(update_interval / half_life), in double. An s that is given is used as it is: it is *not* adapted
to update_interval. The default half_life is 1000ba, so s needs half_life=None, and then update_interval must be given
too: without it the constructor of 0.32.1 ends in an AttributeError. The interval defaults to 1 of half_life's unit.

When. Only at BATCH_END (interval in ba) or EPOCH_END (in ep); the clock has already advanced, so the first BATCH_END is
batch 1. At each such event, in this order:
 1. If not started, and clock >= start (ba and ep by count; dur by the fraction elapsed), the average becomes a copy of
    the weights and is started. This is asked at *every* such event, also where the interval does not divide the count.
 2. If started and count % interval == 0 (counted from the start of the run, not from ema_start), the average is
    updated. That includes the event of the copy: there average and weights are the same, and s*w + (1-s)*w gives them
    back but for a rounding.
So with half_life 100ba, interval 5ba and start 0.0dur the copy is that of batch 1, and batch 5 gives
s*w1 + (1-s)*w5. Nothing before the copy counts. A fraction without a known end of training never starts.

Update. Per tensor average <- (average * s) + (w * (1 - s)), each of the three operations rounded in the tensor's own
type; 1 - s is made in double, and both factors are rounded to the type of the tensor when they multiply it. There is no
copy in float32 of weights in a lower precision. Averaged are
 - parameters with requires_grad, asked when the copy is made: frozen ones stay out, evaluation sees the model's own;
 - every buffer, persistent or not: running means and variances like weights; integers (num_batches_tracked) in float32
   (integer tensor times float), then cut towards zero when they are written back. So a counter stands still until it
   lags by 1 / (1 - s): see `num_batches_tracked` here, which says nothing about the average.
The function compute_ema with a module as the average differs: it averages all that both have, frozen parameters too.

Evaluation. EVAL_START swaps average and weights, buffers too, and EVAL_END swaps them back; before the start nothing is
swapped. BATCH_CHECKPOINT and EPOCH_CHECKPOINT, if a saver is due, swap and leave it so until the next BATCH_START (or
EVAL_END) swaps back. Hence one fault that the C++ need not have: with an interval in ep, a checkpoint at the last batch
of an epoch leaves the average in the model at EPOCH_END, and the update then writes s*weights + (1-s)*average over the
weights that it holds (`assert_fault_after_checkpoint`).

The file: `cases`, each with the constructor's `options`, `max_batches`, `batches_per_epoch`, the `smoothing` found and
`updates`: those events that changed something, with `batch` and `epoch` on the clock, `is_copied`, `is_averaged` and
`average` (name to flat values, float32) after it. Weights of batch t are functions of t: see `write_weights`.
"""

import json
import pathlib

import torch
from averaged_net import BATCHES_PER_EPOCH, MAX_BATCHES, Net, wave, write_weights
from composer.algorithms.ema import EMA
from composer.core import Event, State
from composer.devices import DeviceCPU


class PartlyFrozenNet(Net):
    """Of its six parameters the last is frozen."""

    def __init__(self):
        super().__init__()
        self.fc2.bias.requires_grad_(False)


def snapshot(named):
    return {name: tensor.detach().clone() for name, tensor in named}


def flat(tensor):
    if not tensor.is_floating_point():
        return tensor.item()
    return [float(f"{value:.9g}") for value in tensor.reshape(-1).tolist()]


def average_of(ema):
    return {name: flat(tensor) for name, tensor in [*ema.ema_model.named_parameters(), *ema.ema_model.named_buffers()]}


def send(ema, state, event):
    """What the engine does with one algorithm."""
    is_matched = ema.match(event, state)
    if is_matched:
        ema.apply(event, state, None)
    return is_matched


def new_state(net):
    return State(model=net, rank_zero_seed=0, run_name="golden", device=DeviceCPU(), max_duration=f"{MAX_BATCHES}ba")


def events(state):
    """Moves the clock as the trainer does and yields the events at which an average may change."""
    for batch in range(1, MAX_BATCHES + 1):
        yield Event.BATCH_START, batch
        state.timestamp = state.timestamp.to_next_batch()
        yield Event.BATCH_END, batch
        if batch % BATCHES_PER_EPOCH == 0:
            state.timestamp = state.timestamp.to_next_epoch()
            yield Event.EPOCH_END, batch


def run(options):
    net = PartlyFrozenNet()
    write_weights(net, 0)
    state, ema, updates = new_state(net), EMA(**options), []
    send(ema, state, Event.INIT)
    for event, batch in events(state):
        if event == Event.BATCH_END:
            write_weights(net, batch)
        was_started = ema.ema_started
        is_averaged = send(ema, state, event) and event == ema.update_event
        is_copied = ema.ema_started and not was_started
        if is_copied or is_averaged:
            updates.append({"batch": batch, "epoch": state.timestamp.epoch.value, "is_copied": is_copied,
                            "is_averaged": is_averaged, "average": average_of(ema)})
    assert_swaps(ema, state, net)
    return {"options": options, "max_batches": MAX_BATCHES, "batches_per_epoch": BATCHES_PER_EPOCH,
            "smoothing": ema.smoothing, "updates": updates}


def assert_swaps(ema, state, net):
    weights, average = snapshot(net.state_dict().items()), average_of(ema)
    send(ema, state, Event.EVAL_START)
    for name, tensor in net.state_dict().items():
        assert flat(tensor) == average.get(name, flat(weights[name])), name
    assert "fc2.bias" not in average
    send(ema, state, Event.EVAL_END)
    assert all(tensor.equal(weights[name]) for name, tensor in net.state_dict().items())
    assert average_of(ema) == average


def assert_fault_after_checkpoint():
    """EPOCH_END with the average still in the model takes one for the other."""
    net = PartlyFrozenNet()
    state, ema = new_state(net), EMA(half_life="1ep")
    write_weights(net, 1)
    send(ema, state, Event.INIT)
    state.timestamp = state.timestamp.to_next_batch().to_next_epoch()
    send(ema, state, Event.EPOCH_END)
    write_weights(net, 2)
    ema.apply(Event.BATCH_CHECKPOINT, state, None)
    send(ema, state, Event.EPOCH_END)
    assert ema.ema_weights_active and net.fc1.weight.allclose(wave([3, 2], 1.0).float())
    expected = 0.5 * (wave([3, 2], 2.0) + wave([3, 2], 1.0)).float()
    assert dict(ema.ema_model.named_parameters())["fc1.weight"].allclose(expected)


def assert_smoothing_needs_an_interval():
    try:
        EMA(half_life=None, smoothing=0.9)
    except AttributeError:
        return
    raise AssertionError("EMA now takes a smoothing alone: mend the text above")


def main():
    assert_smoothing_needs_an_interval()
    assert_fault_after_checkpoint()
    cases = [run(options) for options in (
        {"half_life": "10ba", "update_interval": "1ba", "ema_start": "0.0dur"},
        {"half_life": "10ba", "ema_start": "4ba"},
        {"half_life": "100ba", "update_interval": "5ba", "ema_start": "0.0dur"},
        {"half_life": "100ba", "update_interval": "5ba", "ema_start": "4ba"},
        {"half_life": None, "smoothing": 0.9, "update_interval": "1ba", "ema_start": "4ba"},
        {"half_life": None, "smoothing": 0.9, "update_interval": "3ba", "ema_start": "0.25dur"},
        {"half_life": "2ep", "update_interval": "1ep", "ema_start": "2ep"})]
    path = pathlib.Path(__file__).with_name("ema.json")
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
