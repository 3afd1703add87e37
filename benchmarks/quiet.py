"""Whether a machine does nothing else while it measures."""

import dataclasses
import os
import pathlib
import time

BUSY_CORES = 0.2


def living_children():
    """Processor ticks of this process' children that have not ended, and of their own that have."""
    ticks = 0
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == os.getpid():
            ticks += sum(map(int, fields[11:15]))
    return ticks


@dataclasses.dataclass(frozen=True)
class Usage:
    """Processor seconds since the machine started: of all, and of this process and its children."""

    at: float
    all: float
    own: float

    @classmethod
    def now(cls):
        fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _, _, _, _, steal = map(int, fields[:8])
        times, ticks = os.times(), os.sysconf("SC_CLK_TCK")
        own = times.user + times.system + times.children_user + times.children_system + living_children() / ticks
        return cls(time.monotonic(), (user + nice + system + steal) / ticks, own)

    def others_since(self, earlier):
        """The cores that others used on average, other machines on the same host and the kernel's writing among them."""
        return ((self.all - earlier.all) - (self.own - earlier.own)) / (self.at - earlier.at)


def is_disturbed(earlier):
    return Usage.now().others_since(earlier) > BUSY_CORES
