"""TensorBoard shows a run's whole curve, by its own reader in Python and by its data server, however often it went on, and
the pictures of its evaluations."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from ct_pictures_test import RECIPE as CASCADE, SIDE, XRAY_SIZE
from paceline_process import RunTest, make_phantoms, paceline, read_metrics

PYTHON = pathlib.Path(os.environ.get("PACELINE_PEERS", "")) / "bin" / "python"
TAGS = ("train/loss", "val/loss")
LEAST_PIXELS = 192  # of a picture with several images

ACCUMULATE = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'scalars': 0})
events.Reload()
print(json.dumps({tag: [event.step for event in events.Scalars(tag)] for tag in sys.argv[2:]}))
"""

# Tag to step to width and height, as TensorBoard and as the decoded picture have them, and the file's digest.
PICTURES = """
import hashlib, io, json, sys
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={'images': 0})
events.Reload()
told = {}
for tag in events.Tags()['images']:
    for event in events.Images(tag):
        picture = Image.open(io.BytesIO(event.encoded_image_string))
        picture.load()
        told.setdefault(tag, {})[event.step] = [[event.width, event.height], picture.size, picture.format, picture.mode,
                                                hashlib.sha256(event.encoded_image_string).hexdigest()]
print(json.dumps(told))
"""


def logged_steps(run):
    return {tag: [line["step"] for line in read_metrics(run) if tag in line] for tag in TAGS}


class TensorBoard(RunTest):
    def told(self, script, *arguments):
        result = subprocess.run([str(PYTHON), "-c", script, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def accumulated(self, run):
        return self.told(ACCUMULATE, run, *TAGS)

    def served(self, run, load_fast, wanted):
        """The steps that the web page would draw; asks until they are those wanted, as files are read in the background."""
        server = subprocess.Popen([str(PYTHON), "-m", "tensorboard.main", "--logdir", str(run), "--port", "0",
                                   f"--load_fast={load_fast}", "--samples_per_plugin", "scalars=100000"],
                                  stderr=subprocess.PIPE, text=True)
        try:
            while not (found := re.search(r"http://\S+", line := server.stderr.readline())):
                self.assertTrue(line, "TensorBoard ended")
            deadline, steps = time.monotonic() + 30, None
            while steps != wanted and time.monotonic() < deadline:
                time.sleep(0.3)
                try:
                    steps = {tag: [step for _, step, _ in self.fetch(found[0], tag)] for tag in TAGS}
                except urllib.error.HTTPError:  # it has not read so far
                    pass
            return steps
        finally:
            server.kill()
            server.communicate()

    @staticmethod
    def fetch(address, tag):
        query = urllib.parse.urlencode({"run": ".", "tag": tag})
        with urllib.request.urlopen(f"{address}data/plugin/scalars/scalars?{query}", timeout=10) as answer:
            return json.load(answer)

    def expect_whole_curve(self, run, last):
        wanted = logged_steps(run)
        self.assertEqual(wanted["train/loss"], list(range(1, last + 1)))
        self.assertEqual(wanted["val/loss"], list(range(5, last + 1, 5)))
        self.assertEqual(self.accumulated(run), wanted)
        for load_fast in ("true", "false"):
            self.assertEqual(self.served(run, load_fast, wanted), wanted, f"--load_fast={load_fast}")

    def test_after_resumes_a_refused_one_and_a_branch(self):
        run = self.run_directory("run")
        recipe = self.write_recipe()
        settings = ["train.eval_every=5ba", "checkpoint.every=5ba", "checkpoint.keep_last=100"]
        self.train(recipe, "--run-dir", run, "train.duration=10ba", *settings)
        self.expect_whole_curve(run, 10)
        for last in (20, 30, 40):
            self.train(recipe, "--run-dir", run, "--resume", "auto", f"train.duration={last}ba", *settings)
            if last in (20, 40):
                self.expect_whole_curve(run, last)
        refused = paceline("train", recipe, "--run-dir", run, "--resume", "auto", "run.seed=4", *settings, cwd=self.root)
        self.assertEqual(refused.code, 2, str(refused))
        self.expect_whole_curve(run, 40)
        self.train(recipe, "--run-dir", run, "--resume", run / "checkpoints/step-00000015", "train.duration=25ba", *settings)
        self.expect_whole_curve(run, 25)

    def test_shows_what_evaluations_of_a_cascade_do(self):
        _, volumes = make_phantoms(self.root, 24, (SIDE,), XRAY_SIZE)
        recipe = self.write_recipe(text=CASCADE.replace("DATA", str(volumes)), name="cascade.yaml")
        run = self.run_directory("cascade")
        self.train(recipe, "--run-dir", run, "+loggers.tensorboard=")
        pictures = self.told(PICTURES, run)
        self.assertEqual(sorted(pictures), ["val/slices", "val/xrays"])
        for tag, by_step in pictures.items():
            self.assertEqual(sorted(by_step), ["1", "2", "3"])
            for step, (told, decoded, form, mode, digest) in by_step.items():
                self.assertEqual((told, form, mode), (decoded, "PNG", "RGB"), f"{tag} of step {step}")
                self.assertGreater(min(told), LEAST_PIXELS)
                if step != "1":  # whose files are gone: two are kept
                    file = run / "pictures" / f"step-0000000{step}" / f"{tag.replace('/', '_')}.png"
                    self.assertEqual(hashlib.sha256(file.read_bytes()).hexdigest(), digest)


if __name__ == "__main__":
    unittest.main()
