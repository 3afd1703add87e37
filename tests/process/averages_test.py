"""`evaluate: average`: what the program evaluates, predicts and exports is the average, unless the trained weights are asked for."""

import json
import unittest

from paceline_process import RunTest, checkpoint_tensors, checkpoints, paceline, read_metrics, read_safetensors, settings

AVERAGE = "+algorithms.ema={half_life: 2ba, evaluate: average}"


class Averages(RunTest):
    def trains(self, run, *overrides, resume=()):
        result = paceline("train", self.write_recipe(), "--nproc", 2, "--run-dir", run, *resume,
                          *settings("train.duration=8ba", "train.eval_every=4ba", "checkpoint.every=4ba",
                                    "schedule=constant", AVERAGE, *overrides), cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result

    def measures(self, run, *arguments):
        result = paceline("eval", run, "--json", *arguments, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return json.loads(result.out)

    def test_they_are_what_is_told_and_written(self):
        run, started = self.run_directory("average"), self.run_directory("started")
        self.trains(run)
        logged = [line for line in read_metrics(run) if "val/loss" in line][-1]
        self.assertFalse([name for name in logged if name.startswith("val_")])
        usual, trained = self.measures(run), self.measures(run, "--weights", "trained")
        self.assertEqual((usual["weights"], trained["weights"]), ("ema", "trained"))
        self.assertEqual(usual["metrics"], self.measures(run, "--weights", "ema")["metrics"])
        self.assertAlmostEqual(usual["metrics"]["val/loss"], logged["val/loss"], places=5)
        self.assertNotAlmostEqual(trained["metrics"]["val_trained/loss"], logged["val/loss"], places=5)
        text = paceline("eval", run, cwd=self.root).out
        self.assertIn("(step 8, weights of ema)", text)

        tensors = checkpoint_tensors(checkpoints(run)[-1])
        name = next(name for name in tensors if name.startswith("head.") and name.endswith("weight"))
        for arguments, stored, told in (((), f"algorithms.ema/{name}", "the ema's weights after step 8"),
                                        (("--weights", "trained"), name, "the model's weights after step 8")):
            result = paceline("export", run, "-o", self.root / "weights.safetensors", *arguments, cwd=self.root)
            self.assertEqual(result.code, 0, str(result))
            self.assertIn(told, result.err)
            self.assertEqual(read_safetensors(self.root / "weights.safetensors")[name], tensors[stored])

        told = self.trains(started, f"model.pretrained={run}@last", "optimizer.lr=0", "train.duration=1ba").err
        self.assertIn("of the algorithm ema, whose average", told)
        self.assertEqual(checkpoint_tensors(checkpoints(started)[-1])[name], tensors[f"algorithms.ema/{name}"])

    def test_two_of_them_are_refused(self):
        result = paceline("config", "check", self.write_recipe(), AVERAGE, "+algorithms.swa={evaluate: average}", cwd=self.root)
        self.assertEqual(result.code, 2, str(result))
        self.assertIn("algorithms 'ema' and 'swa' both have evaluations measure their average", result.err)


if __name__ == "__main__":
    unittest.main()
