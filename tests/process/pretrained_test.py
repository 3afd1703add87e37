"""Weights of elsewhere: model.pretrained=hf:..., torchvision:..., https://... against servers that refuse and fail."""

import hashlib
import os
import signal
import subprocess
import unittest

from fake_hub import QUICK, FakeHub, HubTest
from faulty_server import FaultyServer
from paceline_process import TIMEOUT_S, environment, paceline, send, start, wait_until


class Pretrained(HubTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.digest = hashlib.sha256(cls.weights).hexdigest()

    def setUp(self):
        self.home = self.root / self.id().rpartition(".")[2]
        self.cache = self.home / "hub"
        self.hub = FakeHub({"model.safetensors": self.weights, "config.json": b"{}", "README.md": b"a model"})
        self.addCleanup(self.hub.close)

    def env(self, **changes):
        kept = {key: value for key, value in environment().items() if not key.startswith(("HF_", "HUGGING"))}
        places = {"HF_ENDPOINT": self.hub.url, "HF_HOME": self.home, "TORCH_HOME": self.home / "torch",
                  "XDG_CACHE_HOME": self.home / "xdg", "PACELINE_TORCHVISION_URL": self.hub.store_url}
        return kept | {key: str(value) for key, value in (places | changes).items()}

    def fetch(self, weights, *arguments, code=0, **changes):
        result = paceline("train", self.recipe, f"model.pretrained={weights}", *QUICK, *arguments, cwd=self.root,
                          env=self.env(**changes))
        self.assertEqual(result.code, code, str(result))
        return result.err

    def refused(self, weights, *said, code=3, **changes):
        told = self.fetch(weights, "data.remote.retries=1", code=code, **changes)
        for text in said:
            self.assertIn(text, told)
        self.assertNotIn("Traceback", told)
        self.nothing_looks_whole()
        return told

    def nothing_looks_whole(self):
        for path in self.home.rglob("*"):
            if path.is_file() and ".lock" not in path.name:
                self.assertTrue(path.name.endswith(".incomplete") or path.name == "config.json" or path.stat().st_size < 100,
                                path)

    def repository(self):
        return self.cache / "models--some--net"

    def test_fetches_once_into_the_cache_of_huggingface_hub(self):
        told = self.fetch("hf:some/net", HF_TOKEN="the-token")
        self.assertIn(f"note: the weights are hf:some/net at commit {self.hub.commit}, model.safetensors", told)
        self.assertIn("note: starts from the weights in", told)
        self.assertEqual((self.repository() / "refs/main").read_text(), self.hub.commit)
        link = self.repository() / "snapshots" / self.hub.commit / "model.safetensors"
        self.assertEqual(os.readlink(link), f"../../blobs/{self.digest}")
        self.assertEqual(link.read_bytes(), self.weights)
        for _, path, headers in self.hub.asked:
            self.assertEqual(headers.get("Authorization"), "Bearer the-token", path)
        for _, path, headers in self.hub.stored:  # which is another host
            self.assertNotIn("Authorization", headers, path)
        self.assertNotIn("the-token", told)
        self.assertEqual(self.hub.downloads(), 1)
        self.fetch("hf:some/net")
        self.fetch(f"hf:some/net@{self.hub.commit}:model.safetensors", HF_ENDPOINT="http://127.0.0.1:9")
        self.fetch("hf:some/net", HF_HUB_OFFLINE=1)
        self.assertEqual(self.hub.downloads(), 1)
        self.assertIn("taking what is in the cache", self.fetch("hf:some/net", HF_ENDPOINT="http://127.0.0.1:9"))

    def test_takes_the_token_of_the_login(self):
        self.hub.token = "of-the-file"
        self.refused("hf:some/net", "hf:some/net: the hub knows no such model (HTTP status 401)", "set HF_TOKEN")
        self.home.mkdir(exist_ok=True)
        (self.home / "token").write_text("of-the-file\n")
        self.fetch("hf:some/net")

    def test_goes_on_after_every_kind_of_failure(self):
        self.hub.refusals = [(503, {}), (429, {"Retry-After": "1"}), (500, {})]
        self.hub.faults = ["fail", "truncate", "stall", "truncate"]
        told = self.fetch("hf:some/net", "data.remote.timeout=1")
        self.assertIn("trying again in 1 s", told)
        ranges = [headers.get("Range") for method, _, headers in self.hub.stored if method == "GET"]
        self.assertEqual(ranges[:2], [None, None])
        half = len(self.weights) // 2
        self.assertEqual(ranges[2], f"bytes={half}-")
        self.assertEqual(len(ranges), 5)
        self.assertEqual((self.repository() / "blobs" / self.digest).read_bytes(), self.weights)

    def test_goes_on_where_a_killed_process_stopped(self):
        self.hub.faults = ["stall"]
        process = start("train", self.recipe, "model.pretrained=hf:some/net", *QUICK, cwd=self.root, env=self.env())
        partial = self.repository() / "blobs" / (self.digest + ".incomplete")
        wait_until(lambda: partial.exists() and partial.stat().st_size == len(self.weights) // 2, "half a file")
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=TIMEOUT_S)
        self.fetch("hf:some/net")
        self.assertEqual(self.hub.stored[-1][2].get("Range"), f"bytes={len(self.weights) // 2}-")

    def test_refusals_are_one_clear_error(self):
        for status, headers, said in (
                (403, {"X-Error-Code": "GatedRepo"}, ["the model is gated", f"Accept its terms at {self.hub.url}/some/net"]),
                (401, {"X-Error-Code": "RepoNotFound"}, ["knows no such model"]),
                (404, {"X-Error-Code": "RepoNotFound"}, ["knows no such model"]),
                (404, {"X-Error-Code": "RevisionNotFound"}, ["has no revision 'main'"]),
                (429, {"Retry-After": "1"}, ["given up after 2 tries", "HTTP status 429"]),
                (500, {}, ["given up after 2 tries", "HTTP status 500"])):
            with self.subTest(status):
                self.hub.refuse_all = (status, headers)
                self.refused("hf:some/net", *said)
        self.hub.refuse_all = None
        self.refused("hf:some/net:modle.safetensors", "has no file 'modle.safetensors'",
                     "did you mean 'model.safetensors'?", code=2)
        self.refused("hf:some/net", "HF_HUB_OFFLINE", "not in the cache", HF_HUB_OFFLINE=1)
        self.refused("hf:some/net", "given up after 2 tries", HF_ENDPOINT="http://127.0.0.1:9")
        self.refused("hf:net", "expected hf:OWNER/NAME", code=2)
        self.refused("torchvision:IMAGENET1K_V2", "no weights of a model 'vit'", code=2)
        self.refused("torchvision:resnet18/IMAGENET1K_V2", "it has IMAGENET1K_V1", code=2)

    def test_damage_is_found_and_thrown_away(self):
        self.hub.faults = ["flip"]
        self.refused("hf:some/net", "what came is damaged", self.digest)
        self.assertEqual(list((self.repository() / "blobs").glob("*.incomplete")), [])

    def test_a_stall_ends_by_the_timeout(self):
        self.hub.faults = ["stall", "stall", "stall"]
        told = self.fetch("hf:some/net", "data.remote.retries=0", "data.remote.timeout=1", code=3)
        self.assertIn("given up after 1 try", told)
        self.nothing_looks_whole()

    def test_one_process_downloads_and_the_others_wait(self):
        self.hub.faults = [0.15]  # 3 s in all
        command = ("train", self.recipe, "--nproc", 2, "model.pretrained=hf:some/net", *QUICK)
        processes = [start(*command, cwd=self.root, env=self.env()) for _ in range(2)]
        told = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]
        for process, text in zip(processes, told):
            self.assertEqual(process.returncode, 0, text)
        self.assertEqual(self.hub.downloads(), 1, told)
        self.assertIn("waiting for another process that downloads hf:some/net:model.safetensors", "".join(told))

    def test_all_ranks_fail_together(self):
        self.hub.refuse_all = (403, {"X-Error-Code": "GatedRepo"})
        result = paceline("train", self.recipe, "--nproc", 3, "model.pretrained=hf:some/net", *QUICK, cwd=self.root,
                          env=self.env())
        self.assertEqual(result.code, 3, str(result))
        for rank in range(3):
            self.assertRegex(result.err, rf"\[rank {rank}\] error: hf:some/net: .*the model is gated")

    def test_a_full_disk_is_told(self):
        mount = self.home
        mount.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={len(self.weights) // 2}", "tmpfs", mount],
                          capture_output=True).returncode != 0:
            self.skipTest("no file system of a small size can be mounted here")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        self.refused("hf:some/net", "has room for", "HF_HOME", XDG_CACHE_HOME=self.root / "elsewhere")

    def test_torchvision_and_plain_servers(self):
        self.hub.files = {"net.safetensors": self.weights, f"net-{self.digest[:8]}.safetensors": self.weights,
                          "net-00000000.safetensors": self.weights}
        checkpoints = self.home / "torch/hub/checkpoints"
        for name in ("net.safetensors", f"net-{self.digest[:8]}.safetensors"):
            told = self.fetch(f"{self.hub.store_url}/{name}?signature=hidden")
            self.assertNotIn("hidden", told)
            self.assertEqual((checkpoints / name).read_bytes(), self.weights)
        num_asked = len(self.hub.stored)
        self.fetch(f"{self.hub.store_url}/net-{self.digest[:8]}.safetensors")
        self.assertEqual(len(self.hub.stored), num_asked)
        self.assertIn("should begin with 00000000", self.fetch(f"{self.hub.store_url}/net-00000000.safetensors", code=3))
        self.assertIn("there is no such file", self.fetch(f"{self.hub.store_url}/none.safetensors", code=3))
        # The hash of torchvision's own file is not ours to forge: it is looked for, and refused.
        self.hub.files["resnet18-f37072fd.pth"] = b"forged"
        self.assertIn("should begin with f37072fd", self.fetch("torchvision:resnet18/IMAGENET1K_V1", code=3))
        self.assertFalse((checkpoints / "resnet18-f37072fd.pth").exists())

    def test_buckets(self):
        served = self.home / "served/bucket"
        served.mkdir(parents=True)
        (served / "net.safetensors").write_bytes(self.weights)
        server = FaultyServer(self.home / "served")
        self.addCleanup(server.close)
        told = self.fetch("s3://bucket/net.safetensors", **server.environment())
        self.assertIn("note: the weights are s3://bucket/net.safetensors", told)
        num_reads = server.bytes_requests
        self.fetch("s3://bucket/net.safetensors", **server.environment())
        self.assertEqual(server.bytes_requests, num_reads)
        self.assertIn("there is no such file",
                      self.fetch("s3://bucket/none.safetensors", code=3, **server.environment()))

    def test_checking_a_recipe_asks_nobody(self):
        def check(weights, code):
            result = paceline("config", "check", self.recipe, f"model.pretrained={weights}", cwd=self.root, env=self.env())
            self.assertEqual(result.code, code, str(result))
            return result.err
        check("hf:some/net", 0)
        self.assertIn("expected hf:OWNER/NAME", check("hf:net", 2))
        self.assertIn("no weights of a model 'vit'", check("torchvision:DEFAULT", 2))
        self.assertEqual(self.hub.asked, [])

    def test_a_signal_ends_a_download(self):
        self.hub.faults = [1]
        process = start("train", self.recipe, "model.pretrained=hf:some/net", *QUICK, cwd=self.root, env=self.env())
        wait_until(lambda: self.hub.downloads() == 1, "the download")
        code, told = send(process)
        self.assertEqual(code, 128 + signal.SIGTERM, told)
        self.nothing_looks_whole()


if __name__ == "__main__":
    unittest.main()
