"""The rows of methods beside Composer's: what is told of four runs, and that both sides know the same methods."""

import ast
import os
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import algorithm_measures
from conversation import Conversation
from quiet import Usage
from workspace import PEERS, MeasureError, Workspace

ECHO = "import json, sys\nfor line in sys.stdin: print(json.dumps({'told': json.loads(line)}), flush=True)"
METHODS = [*algorithm_measures.BATCHES, *algorithm_measures.CLIPPING, *algorithm_measures.AVERAGES,
           *algorithm_measures.WHOLE_STEPS]


class FakeWorkspace:
    """Answers as the programs do, and keeps what it was asked."""

    def __init__(self):
        self.settings = {}

    def write_recipe(self, text):
        self.recipe = text
        return "recipe.yaml"

    def paceline(self, *arguments, threads):
        self.arguments = arguments
        return '{"rounds": [{"ms": [10, 14, 16, 14]}]}'

    def ask(self, python, script, question):
        self.question = question
        return {"ms": [20, 40, 60, 20]}


class Methods(unittest.TestCase):
    def test_two_runs_with_stand_beside_two_without(self):
        self.assertEqual(algorithm_measures.figures([10, 14, 16, 14]), {"added": 3, "times": 1.25})

    def test_both_sides_measure_the_same(self):
        for method in METHODS:
            with self.subTest(method.name), mock.patch.dict(os.environ, PACELINE_COMPOSER="python"):
                workspace = FakeWorkspace()
                self.assertEqual(algorithm_measures.own(workspace, method, "added"), 3)
                self.assertEqual(algorithm_measures.composer(workspace, method, "times"), 2.5)
                self.assertIn(f"global_batch_size: {workspace.question['batch']}", workspace.recipe)
                steps = workspace.arguments[workspace.arguments.index("--steps") + 1]
                self.assertEqual((steps, "--median" in workspace.arguments),
                                 (workspace.question["steps"], not workspace.question["mean"]))
                for toggle in method.toggles:
                    self.assertEqual(workspace.arguments[workspace.arguments.index(toggle) - 1], "--toggle")

    def test_composer_has_each_of_them(self):
        text = (PEERS / "composer_step.py").read_text()
        known = next(node.value for node in ast.parse(text).body
                     if isinstance(node, ast.Assign) and node.targets[0].id == "METHODS")
        self.assertEqual([key.value for key in known.keys], [method.name for method in METHODS])

    def test_colout_stands_beside_images_of_the_size_that_it_leaves(self):
        colout = next(method for method in METHODS if method.name == "colout")
        self.assertEqual(colout.size, int(0.85 * algorithm_measures.SIZE))
        self.assertIn(f"data.size={algorithm_measures.SIZE}", colout.toggles)
        self.assertEqual({method.size for method in METHODS if method is not colout}, {algorithm_measures.SIZE})


class Conversations(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paceline-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, program):
        conversation = Conversation([sys.executable, "-c", program], dict(os.environ), self.folder, self.folder / "log")
        self.addCleanup(conversation.close)
        return conversation

    def test_each_question_has_an_answer_of_the_same_process(self):
        conversation = self.start(ECHO.replace("'told'", "'of': __import__('os').getpid(), 'told'"))
        answers = [conversation.ask({"number": number}, 60) for number in range(3)]
        self.assertEqual([answer["told"]["number"] for answer in answers], [0, 1, 2])
        self.assertEqual({answer["of"] for answer in answers}, {conversation.process.pid})

    def test_one_that_has_ended_tells_why(self):
        conversation = self.start("raise SystemExit('there is no Composer')")
        with self.assertRaisesRegex(EOFError, "ended with 1:\nthere is no Composer"):
            conversation.ask({}, 60)

    def test_one_that_does_not_answer_is_not_waited_for(self):
        with self.assertRaises(TimeoutError):
            self.start("import time; time.sleep(60)").ask({}, 0.1)

    def test_a_failed_one_is_an_error_of_the_measure_and_is_started_anew(self):
        workspace = Workspace(pathlib.Path("/build"))
        workspace.folder = self.folder
        script = self.folder / "script.py"
        script.write_text("raise SystemExit('no')")
        with self.assertRaisesRegex(MeasureError, r"script.py \{\}: it ended with 1:\nno"):
            workspace.ask(sys.executable, script, {})
        script.write_text(ECHO)
        self.assertEqual(workspace.ask(sys.executable, script, 5), {"told": 5})
        workspace.conversations[script].close()
        with self.assertRaisesRegex(MeasureError, "nowhere is not there"):
            workspace.ask("nowhere", self.folder / "other.py", {})

    def test_what_a_living_child_uses_is_not_what_others_use(self):
        before = Usage.now()
        busy = self.start("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
                          "print('{}', flush=True)\ntime.sleep(60)")
        busy.ask({}, 60)
        self.assertGreaterEqual(Usage.now().own - before.own, 0.28)
        self.assertIsNone(busy.process.poll())


if __name__ == "__main__":
    unittest.main()
