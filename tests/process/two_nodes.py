"""Two network namespaces that stand for hosts, with a link of 1 Gbit/s between them."""

import os
import subprocess

ADDRESSES = ("10.213.77.1", "10.213.77.2")


def ip(*arguments):
    return subprocess.run(["ip", *map(str, arguments)], capture_output=True, text=True)


class Nodes:
    """Two namespaces that stand for hosts; None where the machine does not let us make them."""

    def __init__(self):
        self.names = [f"paceline-{os.getpid()}-{node}" for node in range(2)]

    def make(self):
        """Returns why it cannot be done, or nothing."""
        try:
            steps = [("netns", "add", name) for name in self.names]
            steps.append(("link", "add", "pl0", "netns", self.names[0], "type", "veth", "peer", "name", "pl1", "netns",
                          self.names[1]))
            for node, name in enumerate(self.names):
                steps += [("-n", name, "addr", "add", f"{ADDRESSES[node]}/24", "dev", f"pl{node}"),
                          ("-n", name, "link", "set", f"pl{node}", "up"), ("-n", name, "link", "set", "lo", "up")]
            for step in steps:
                done = ip(*step)
                if done.returncode != 0:
                    return f"ip {' '.join(step)}: {done.stderr.strip()}"
        except FileNotFoundError:
            return "the command ip is not installed"
        for node, name in enumerate(self.names):  # where the kernel has no such queue the link stays fast
            subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", f"pl{node}", "root", "tbf", "rate",
                            "1gbit", "burst", "1mb", "latency", "50ms"], capture_output=True)
        return None

    def remove(self):
        for name in self.names:
            ip("netns", "del", name)

    def start(self, node, command, env):
        return subprocess.Popen(["ip", "netns", "exec", self.names[node], *map(str, command)], env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
