"""Whether a machine does nothing else while it measures."""

import dataclasses
import os
import pathlib
import time

BUSY_CORES = 0.2


@dataclasses.dataclass(frozen=True)
class Usage:
    """Processor seconds since the machine started: of all, and of this process and its children that have ended."""

    at: float
    all: float
    own: float

    @classmethod
    def now(cls):
        fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _, _, _, _, steal = map(int, fields[:8])
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        return cls(time.monotonic(), (user + nice + system + steal) / os.sysconf("SC_CLK_TCK"), own)

    def others_since(self, earlier):
        """The cores that others used on average, other machines on the same host and the kernel's writing among them."""
        return ((self.all - earlier.all) - (self.own - earlier.own)) / (self.at - earlier.at)


def is_disturbed(earlier):
    return Usage.now().others_since(earlier) > BUSY_CORES
