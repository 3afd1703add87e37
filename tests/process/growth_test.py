"""Ranks use no more memory after a thousand steps than after the first hundreds."""

import json
import unittest

from paceline_process import RunTest, send, start, wait_until
from processes import children

MIB = 1 << 20


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4096


class Growth(RunTest):
    def test_a_thousand_steps(self):
        for strategy in ("ddp", "fsdp"):
            recipe = self.write_recipe()
            run = self.run_directory(strategy)
            process = start("train", recipe, "--nproc", 2, "--run-dir", run, f"parallel.strategy={strategy}",
                            "train.duration=100000ba", "train.eval_every=100ba", "checkpoint.every=100ba",
                            "checkpoint.keep_last=1", cwd=self.root)
            self.addCleanup(process.kill)

            def reaches(step):
                if process.poll() is not None:
                    raise AssertionError(process.communicate()[0])
                try:
                    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
                except OSError:
                    return False
                return any(json.loads(line)["step"] >= step for line in lines[-3:] if line.endswith("\n"))

            wait_until(lambda: reaches(400), "the first steps")
            ranks = [pid for pid in children(process.pid) if resident_bytes(pid) > 50 * MIB]
            self.assertEqual(len(ranks), 2)
            before = [resident_bytes(pid) for pid in ranks]
            wait_until(lambda: reaches(1400), "a thousand steps")
            for pid, bytes_before in zip(ranks, before):
                self.assertLess(resident_bytes(pid) - bytes_before, 2 * MIB, strategy)
            code, output = send(process)
            self.assertEqual(code, 143, output)


if __name__ == "__main__":
    unittest.main()
