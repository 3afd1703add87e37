"""Every source from a bucket of moto's S3 server is the same as from this machine."""

import json
import os
import pathlib
import socket
import subprocess
import tarfile
import time
import unittest

from paceline_process import RunTest, environment, paceline

VENV = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin"

UPLOAD = """
import boto3, pathlib, sys
url, root = sys.argv[1], pathlib.Path(sys.argv[2])
s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1")
s3.create_bucket(Bucket="bucket")
for file in root.rglob("*"):
    if file.is_file() and not file.name.startswith("."):
        s3.upload_file(str(file), "bucket", str(file.relative_to(root)))
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Moto(RunTest):
    def setUp(self):
        port = free_port()
        server = subprocess.Popen([str(VENV / "moto_server"), "-H", "127.0.0.1", "-p", str(port)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.url = f"http://127.0.0.1:{port}"
        self.env = environment(AWS_ENDPOINT_URL=self.url, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret",
                               AWS_EC2_METADATA_DISABLED="true", XDG_CACHE_HOME=self.root / "home")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        self.fail("moto_server does not start")

    def info(self, place):
        result = paceline("data", "info", place, "--json", "--samples", 0, cwd=self.root, env=self.env)
        self.assertEqual(result.code, 0, str(result))
        return json.loads(result.out)

    def test_a_bucket_is_as_good_as_a_folder(self):
        files = self.root / "files"
        made = paceline("data", "synth", files / "images", "--classes", 3, "--train-per-class", 12,
                        "--val-per-class", 4, "--min-size", 20, "--max-size", 40)
        self.assertEqual(made.code, 0, str(made))
        made = paceline("data", "pack", files / "images", "-o", files / "packed", "--samples-per-shard", 10)
        self.assertEqual(made.code, 0, str(made))
        (files / "tars").mkdir()
        label = self.root / "label"
        label.write_text("1")
        with tarfile.open(files / "tars" / "train-0.tar", "w") as tar:
            for number, image in enumerate(sorted((files / "images" / "train").glob("*/*.jpg"))):
                tar.add(image, f"{number}.jpg")
                tar.add(label, f"{number}.cls")
        subprocess.run([str(VENV / "python"), "-c", UPLOAD, self.url, str(files)], check=True, env=self.env)
        for name in ("images", "tars", "packed"):
            self.assertEqual(self.info(f"s3://bucket/{name}"), self.info(files / name), name)


if __name__ == "__main__":
    unittest.main()
