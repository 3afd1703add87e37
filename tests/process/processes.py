"""Processes as /proc shows them; for the tests in this folder and the scripts of the GPU kit."""

import os
import pathlib


def stat_of(pid):
    """The fields after the program's name: state, parent, and more; None if there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def children(pid):
    """The processes that this one has started: of a launcher, its ranks."""
    found = []
    for entry in map(int, filter(str.isdigit, os.listdir("/proc"))):
        stat = stat_of(entry)
        if stat and int(stat[1]) == pid:
            found.append(entry)
    return found


def is_running(pid):
    """A process that nobody has waited for yet has ended all the same."""
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"
