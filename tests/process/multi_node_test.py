"""Two nodes: network namespaces with a link of 1 Gbit/s between them, real processes in each."""

import json
import os
import sys
import unittest

from paceline_process import (PACELINE, TIMEOUT_S, RunTest, checkpoints, environment, largest_difference, paceline,
                              read_metrics, read_safetensors)
from two_nodes import ADDRESSES, Nodes

PORT = 29531
COMM = 4
SKIPPED = 77  # tests/CMakeLists.txt knows it


class MultiNode(RunTest):
    @classmethod
    def setUpClass(cls):
        cls.nodes = Nodes()
        refusal = cls.nodes.make()
        if refusal:
            cls.nodes.remove()
            print(f"skipped: no network namespaces here: {refusal}", file=sys.stderr, flush=True)
            os._exit(SKIPPED)  # as CTest has it: unittest would call it passed
        super().setUpClass()
        cls.recipe = cls.write_recipe(cls)
        cls.settings = ["train.duration=6ba", "train.precision=fp64", "train.eval_every=6ba", "checkpoint.keep_best=0"]

    @classmethod
    def tearDownClass(cls):
        cls.nodes.remove()
        super().tearDownClass()

    def train_on_two_nodes(self, name, options, variables, *overrides):
        """options and variables: functions of the node's number. Returns the run and node 0's words."""
        run = self.run_directory(name)
        started = [self.nodes.start(node, [PACELINE, "train", self.recipe, "--run-dir", run, *options(node), *self.settings,
                                           *overrides], environment(**variables(node))) for node in range(2)]
        words = [process.communicate(timeout=TIMEOUT_S)[0] for process in started]
        self.assertEqual([process.returncode for process in started], [0, 0], "\n---\n".join(words))
        return run, words[0]

    def weights(self, run):
        path = run.with_suffix(".safetensors")
        self.assertEqual(paceline("export", run, "--format", "safetensors", "-o", path).code, 0)
        return read_safetensors(path)

    def expect_numbers_of_one_rank(self, run):
        one = self.run_directory("one")
        if not one.exists():
            self.train(self.recipe, "--run-dir", one, *self.settings)
        self.assertLess(largest_difference(self.weights(one), self.weights(run)), 1e-10)
        losses = [[line["train/loss"] for line in read_metrics(path) if "train/loss" in line] for path in (one, run)]
        for a, b in zip(*losses, strict=True):
            self.assertAlmostEqual(a, b, places=10)

    def test_our_spelling(self):
        def options(node):
            return ["--nproc", 2, "--nnodes", 2, "--node-rank", node, "--rdzv", f"{ADDRESSES[0]}:{PORT}"]
        run, words = self.train_on_two_nodes("ours", options, lambda node: {})
        self.assertIn(f"gloo over pl0 ({ADDRESSES[0]})", words)
        self.expect_numbers_of_one_rank(run)

    def test_torchruns_spelling(self):
        def options(node):
            return ["--nproc_per_node=2", "--nnodes=2", f"--node_rank={node}", f"--master_addr={ADDRESSES[0]}",
                    f"--master_port={PORT + 1}"]
        run, _ = self.train_on_two_nodes("torchruns", options, lambda node: {})
        self.expect_numbers_of_one_rank(run)

    def test_torchruns_variables(self):
        def variables(node):
            return {"RANK": node, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "MASTER_ADDR": ADDRESSES[0],
                    "MASTER_PORT": PORT + 2}
        run, _ = self.train_on_two_nodes("variables", lambda node: [], variables)
        self.expect_numbers_of_one_rank(run)

    def test_bare_variables_of_lightning_users(self):
        def variables(node):
            return {"MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": PORT + 3, "NODE_RANK": node, "WORLD_SIZE": 2}
        # Of two nodes with two ranks each, 2 may count either: --nnodes says which.
        run, _ = self.train_on_two_nodes("bare", lambda node: ["--nproc", 2, "--nnodes", 2], variables)
        self.expect_numbers_of_one_rank(run)

    def test_sruns_variables(self):
        def variables(node):
            return {"SLURM_PROCID": node, "SLURM_NTASKS": 2, "SLURM_LOCALID": 0, "SLURM_NNODES": 2, "SLURM_NODEID": node,
                    "SLURM_STEP_ID": 0, "SLURM_JOB_ID": 7, "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": PORT + 4}
        run, _ = self.train_on_two_nodes("srun", lambda node: [], variables)
        self.expect_numbers_of_one_rank(run)

    def test_a_secret_is_shared_by_all_machines(self):
        def options(node):
            return ["--nproc", 1, "--nnodes", 2, "--node-rank", node, "--rdzv", f"{ADDRESSES[0]}:{PORT + 7}"]
        run, words = self.train_on_two_nodes("secret", options, lambda node: {"PACELINE_SECRET": "0123456789abcdef"})
        self.assertNotIn("without a secret", words)
        self.expect_numbers_of_one_rank(run)

    def test_a_machine_without_the_secret_is_not_met(self):
        started = [self.nodes.start(node, [PACELINE, "train", self.recipe, "--run-dir", self.run_directory("refused"), "--nnodes",
                                           2, "--node-rank", node, "--rdzv", f"{ADDRESSES[0]}:{PORT + 8}", "--rdzv-timeout", 10],
                                    environment(**({"PACELINE_SECRET": "0123456789abcdef"} if node == 0 else {})))
                   for node in range(2)]
        words = [process.communicate(timeout=TIMEOUT_S)[0] for process in started]
        self.assertEqual([process.returncode for process in started], [COMM, COMM], "\n---\n".join(words))
        self.assertIn("1 of 2 ranks came within 10 s; missing: rank 1", words[0])
        self.assertIn("PACELINE_SECRET", words[0])
        self.assertFalse(self.run_directory("refused").exists())

    def test_hsdp_shards_within_a_node_and_replicates_across(self):
        def options(node):
            return ["--nproc", 2, "--nnodes", 2, "--node-rank", node, "--rdzv", f"{ADDRESSES[0]}:{PORT + 5}"]
        run, _ = self.train_on_two_nodes("hsdp", options, lambda node: {}, "parallel.strategy=hsdp")
        self.expect_numbers_of_one_rank(run)
        saved = sorted(path.name for path in checkpoints(run)[-1].glob("rank-*.safetensors"))
        self.assertEqual(saved, ["rank-0.safetensors", "rank-1.safetensors"])  # one node's replica

    def test_how_training_scales_over_machines(self):
        started = [self.nodes.start(node, [PACELINE, "bench", "scaling", self.recipe, "parallel.strategy=fsdp", "--nproc",
                                           "1,2", "--nnodes", "1,2", "--node-rank", node, "--rdzv",
                                           f"{ADDRESSES[0]}:{PORT + 6}", "--steps", 3, "--warm-up", 2, "--json"],
                                    environment(TMPDIR=self.scratch_of(node))) for node in range(2)]
        words = [process.communicate(timeout=TIMEOUT_S)[0] for process in started]
        self.assertEqual([process.returncode for process in started], [0, 0], "\n---\n".join(words))
        self.assertIn("node 0 prints the table", words[1])
        rows = json.loads(words[0][words[0].index("{"):])["rows"]
        self.assertEqual([(row["nodes"], row["ranks"]) for row in rows], [(1, 1), (1, 2), (2, 4)])
        self.assertTrue(all(row["samples_per_s"] > 0 and row["ceiling_samples_per_s"] > 0 for row in rows), rows)

    def scratch_of(self, node):
        """A folder that the other node does not see as its own."""
        folder = self.root / f"scratch-{node}"
        folder.mkdir()
        return folder


if __name__ == "__main__":
    unittest.main()
