"""The JSON of hybrid ViT cascades: the recipe that it means, its launchers' flags, and training by it on phantoms."""

import json
import re
import unittest

from paceline_process import RunTest, environment, make_phantoms, paceline

SIZES = (16, 32)


def stage(number, size, dim, depth, heads, **more):
    return {"name": f"stage{number}", "volume_size": [size] * 3, "voxel_dim": dim, "vit_depth": depth,
            "num_heads": heads, "use_depth_lifting": True, "use_physics_loss": True, **more}


STAGES = [stage(1, 64, 256, 4, 4, physics_weight=0.3), stage(2, 128, 384, 6, 6, physics_weight=0.4),
          stage(3, 256, 512, 8, 8, physics_weight=0.5)]
SHARES = {"train_split": 0.8, "val_split": 0.1, "test_split": 0.1, "normalize_range": [-1, 1]}


def multi_view(**data):
    return {"model_name": "cascade_of_two_views", "description": "frontal and lateral",
            "xray_config": {"img_size": 512, "num_views": 2, "share_view_weights": False,
                            "view_types": ["frontal", "lateral"]},
            "stage_configs": STAGES,
            "training": {"num_timesteps": 1000, "v_parameterization": True, "batch_size": 4, "learning_rate": 1e-4,
                         "num_epochs_per_stage": 100, "gradient_clip": 1.0, "ema_decay": 0.9999},
            "data": {"dataset_path": "./data/patients", **SHARES, "target_xray_size": 512, "validate_alignment": True,
                     "augmentation": False, "cache_in_memory": False, "flip_drrs_vertical": True,
                     "_comment": "turned where they are prepared", **data}}


def single_view():
    return multi_view() | {"xray_config": {"img_size": 512, "num_views": 1, "view_type": "frontal"}}


def runpod():
    document = multi_view(augmentation=True, dataset_path="$SCANS/patients", target_volume_size=[256, 256, 256])
    document["training"] |= {"batch_size": 2, "num_workers": 4, "weight_decay": 0.01, "mixed_precision": True,
                             "gradient_accumulation_steps": 2, "num_epochs_per_stage": 30}
    return document | {
        "checkpointing": {"checkpoint_dir": "/elsewhere", "save_every_n_epochs": 5, "keep_last_n_checkpoints": 3},
        "logging": {"wandb": {"enabled": True, "project": "ct", "entity": None, "run_name": None},
                    "log_every_n_steps": 50, "validate_every_n_epochs": 1}}


def quick():
    return {"stages": [stage("1_base", 64, 384, 6, 6), stage("2_refine", 128, 512, 8, 8)], "xray_img_size": 512,
            "xray_channels": 1, "num_views": 2, "v_parameterization": True, "num_timesteps": 1000,
            "training": {"batch_size": 8, "num_epochs": 100, "learning_rate": 2e-4, "weight_decay": 0.01,
                         "num_workers": 4, "gradient_clip": 1.0},
            "description": "two stages"}


def small():
    """What two cores train in seconds."""
    return {"model_name": "small",
            "xray_config": {"img_size": 32, "num_views": 2, "view_types": ["frontal", "lateral"]},
            "stage_configs": [stage(1, SIZES[0], 8, 1, 1, physics_weight=0.3, batch_size=2),
                              stage(2, SIZES[1], 8, 1, 1, physics_weight=0.4, accumulation_steps=2)],
            "training": {"num_timesteps": 50, "batch_size": 2, "num_epochs_per_stage": 1, "num_workers": 1}}


class GuideJson(RunTest):
    def write(self, document, name="config.json", comment=""):
        path = self.root / name
        path.write_text(comment + json.dumps(document, indent=2))
        return path

    def shown(self, document, *settings, env=None):
        """The phases that config show prints, and all of it."""
        result = paceline("config", "show", self.write(document), *settings, env=env, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        return result.out.split("---  # phase ")[1:], result.out

    def refused(self, document, *settings, text=None):
        path = self.write(document)
        if text is not None:
            path.write_text(text)
        result = paceline("config", "check", path, *settings, cwd=self.root)
        self.assertEqual(result.code, 2, str(result))
        self.assertEqual(result.err.count("error: "), 1, str(result))
        return result.err

    def assert_has(self, text, *lines):
        for line in lines:
            self.assertRegex(text, rf"(?m)^ *(- )?{re.escape(line)}( +#.*)?$")

    def test_config_show_prints_the_recipe_it_means(self):
        phases, _ = self.shown(multi_view())
        self.assertEqual([phase.splitlines()[0] for phase in phases], ["1: stage1", "2: stage2", "3: stage3"])
        for number, (phase, size, weight) in enumerate(zip(phases, (64, 128, 256), (0.3, 0.4, 0.5)), 1):
            self.assert_has(phase, "name: ct_diffusion", "name: ct_cascade", f"num_stages: {number}", f"side: {size}",
                            f"physics_weight: {weight}", "batch_size_per_rank: 4", "duration: 100ep", "lr: 0.0001",
                            "grad_clip_norm: 1", "smoothing: 0.9999", "monitor: val/psnr", "monitor: val/loss",
                            "name: adamw", "name: constant", "xray_size: 512", f"path: {self.root}/data/patients")
        phases, _ = self.shown(single_view(), "optimizer.lr=3e-4")
        self.assert_has(phases[0], "num_views: 1", "lr: 0.0003")
        phases, out = self.shown(runpod(), env=environment(SCANS="/scans"))
        self.assert_has(phases[2], "path: /scans/patients", "precision: fp16", "grad_accum_steps: 2", "flip: true",
                        "xrays: projected", "dir: /elsewhere", "interval_steps: 50")
        self.assertIn("# note: augmentation: a mirrored patient's lateral view", out)
        self.assertIn("# note: logging.wandb: there is no W&B here", out)
        document = multi_view() | {"stage_configs": [STAGES[0], STAGES[1] | {"gradient_checkpointing": False}, STAGES[2]]}
        document["training"]["gradient_checkpointing"] = True
        phases, _ = self.shown(document)
        for phase, line in zip(phases, ("every: 1", "activation_checkpointing: null", "every: 1")):
            self.assert_has(phase, line)
        phases, _ = self.shown(quick())
        self.assertEqual([phase.splitlines()[0] for phase in phases], ["1: stage1_base", "2: stage2_refine"])
        self.assert_has(phases[1], "batch_size_per_rank: 8", "lr: 0.0002", "num_threads: 4")

    def test_comments_are_taken_and_mistakes_told_with_their_lines(self):
        path = self.write(quick(), comment="// for two GPUs\n")
        result = paceline("config", "show", path)
        self.assertEqual(result.code, 0, str(result))
        document = multi_view()
        document["training"]["batch_sise"] = 3
        self.assertRegex(self.refused(document),
                         r"config.json:\d+: training.batch_sise: has no meaning here: did you mean batch_size\?")
        self.assertIn("data.train_split: patients are dealt out by `paceline data prepare ct`",
                      self.refused(multi_view(train_split=0.7)))
        self.assertIn("config.json:3: not valid JSON: nothing follows this comma",
                      self.refused({}, text='{"stages": [\n{"volume_size": 64}\n],\n}'))
        wrong_heads = r"config.json:\d+: model.stages\[1\].dim: must be a multiple of heads"
        for second, problem in ((stage(2, 128, 384, 6, 5), wrong_heads),
                                (stage(2, 96, 384, 6, 6), "must be a multiple of the stage before's 64")):
            self.assertRegex(self.refused(multi_view(target_xray_size=512) | {"stage_configs": [STAGES[0], second]}),
                             problem)

    def test_scans_are_told_how_they_are_prepared(self):
        scans = self.root / "scans"
        (scans / "7").mkdir(parents=True)
        (scans / "7" / "7.nii.gz").write_bytes(b"")
        document = small() | {"data": {"dataset_path": str(scans)}}
        result = paceline("train", self.write(document), cwd=self.root)
        self.assertEqual(result.code, 2, str(result))
        self.assertEqual(result.err.count(f"run `paceline data prepare ct {scans} DST`"), 1, str(result))

    def test_trains_stage_by_stage_and_goes_on(self):
        _, volumes = make_phantoms(self.root, 24, (32, 16), 32)
        config = self.write(small() | {"data": {"dataset_path": str(volumes)}})
        run = self.root / "run"
        short = ("model.xray_dim=64", "task.sampling_steps=2", "train.eval_batches=1", "data.subset=4")
        result = paceline("train", "--config", config, "--method", "torchrun", "--num_processes=1", "--wandb",
                          "--mixed_precision=no", "--checkpoint_dir", run, *short, cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("note: --wandb: there is no W&B here", result.err)
        for phase in ("1-stage1", "2-stage2"):
            self.assertTrue((run / "phases" / phase / "summary.json").exists(), phase)
        metrics = (run / "phases" / "2-stage2" / "metrics.jsonl").read_text()
        self.assertIn('"val/psnr"', metrics)
        other = self.root / "other"
        result = paceline("train", config, "--checkpoint_dir", other, "--resume_from", run / "stage2_best.pt", *short,
                          "phases.stage2.task.physics_weight=0.2", cwd=self.root)
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("phase 2 of 2: stage2", result.err + result.out)
        self.assertEqual(sorted(path.name for path in (other / "phases").iterdir()), ["2-stage2"])
        result = paceline("train", config, "--resume_from", run / "stage3_best.pt", *short, cwd=self.root)
        self.assertNotEqual(result.code, 0)
        self.assertIn("has begun no stage stage3; there are: stage1, stage2", result.err)


if __name__ == "__main__":
    unittest.main()
