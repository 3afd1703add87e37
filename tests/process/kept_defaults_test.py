"""Runs of older programs go on: no default of a key that must not change on resume is another one than it was."""

import json
import unittest

from keep_defaults import FILE, defaults_of
from paceline_process import paceline


class KeptDefaults(unittest.TestCase):
    def setUp(self):
        told = paceline("config", "reference")
        self.assertEqual(told.code, 0, str(told))
        self.today = {(section, key): default for section, keys in defaults_of(told.out).items()
                      for key, default in keys.items()}
        self.kept = {(section, key): default for section, keys in json.loads(FILE.read_text()).items()
                     for key, default in keys.items()}

    def test_no_default_changes(self):
        changed = {key: (old, self.today.get(key, "gone")) for key, old in self.kept.items() if self.today.get(key) != old}
        self.assertEqual(changed, {}, "older runs would refuse to go on, or go on otherwise")

    def test_every_default_is_kept(self):
        self.assertGreater(len(self.today), 1500)
        self.assertEqual(sorted(self.today.keys() - self.kept.keys()), [], "run tests/process/keep_defaults.py")


if __name__ == "__main__":
    unittest.main()
