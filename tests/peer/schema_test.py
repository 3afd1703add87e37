"""Editors and validators know our recipes: jsonschema and the YAML language server, under YAML 1.1 and 1.2."""

import json
import os
import pathlib
import subprocess
import unittest

from paceline_process import RunTest, paceline

PEERS = pathlib.Path(os.environ.get("PACELINE_PEERS", ""))
RECIPES = pathlib.Path(__file__).resolve().parents[2] / "recipes"
SERVER = "yaml-language-server@1.19.2"
YAML_VERSIONS = ("1.1", "1.2")

VALIDATE = """
import json, sys
import jsonschema, yaml
from ruamel.yaml import YAML
schema, version, path = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
recipe = yaml.safe_load(open(path)) if version == '1.1' else YAML(typ='safe', pure=True).load(open(path))
errors = jsonschema.Draft7Validator(schema).iter_errors(recipe)
print(json.dumps([error.message for error in errors]))
"""


class LanguageServer:
    """Asks the server of VS Code's YAML extension what it would underline."""

    def __init__(self, folder):
        node = PEERS / "node"
        program = node / "node_modules/yaml-language-server/bin/yaml-language-server"
        if not program.exists():
            subprocess.run(["npm", "install", "--no-fund", "--no-audit", "--prefix", str(node), SERVER], check=True,
                           capture_output=True)
        self.settings = {}
        self.process = subprocess.Popen(["node", str(program), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send(id=1, method="initialize", params={"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.wait_for(lambda message: message.get("id") == 1)
        self.send(method="initialized", params={})

    def close(self):
        self.process.kill()
        self.process.communicate()

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def wait_for(self, is_wanted):
        while True:
            length = None
            while line := self.process.stdout.readline().strip():
                name, _, value = line.partition(b": ")
                if name == b"Content-Length":
                    length = int(value)
            if length is None:
                raise AssertionError("the language server ended")
            message = json.loads(self.process.stdout.read(length))
            if is_wanted(message):
                return message
            if "id" in message and "method" in message:  # it asks for settings
                wanted = message["params"].get("items", []) if isinstance(message.get("params"), dict) else []
                self.send(id=message["id"], result=[self.settings.get(item.get("section"), {}) for item in wanted])

    def diagnose(self, path, version):
        self.settings = {"yaml": {"validate": True, "yamlVersion": version, "schemaStore": {"enable": False}}}
        self.send(method="workspace/didChangeConfiguration", params={"settings": self.settings})
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text()}
        self.send(method="textDocument/didOpen", params={"textDocument": document})
        told = self.wait_for(lambda message: message.get("method") == "textDocument/publishDiagnostics" and
                             message["params"]["uri"] == document["uri"])
        return [found["message"] for found in told["params"]["diagnostics"]]


class Schema(RunTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.schema = cls.root / "recipe.schema.json"
        cls.schema.write_text(paceline("config", "schema").out)
        cls.server = LanguageServer(cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        super().tearDownClass()

    def complaints(self, path):
        """What all readers say of a recipe, by reader and version of YAML."""
        told = {}
        for version in YAML_VERSIONS:
            result = subprocess.run([str(PEERS / "bin/python"), "-c", VALIDATE, str(self.schema), version, str(path)],
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            told["jsonschema", version] = json.loads(result.stdout)
            copy = self.root / f"{version}-{path.name}"
            copy.write_text(f"# yaml-language-server: $schema={self.schema.as_uri()}\n{path.read_text()}")
            told["editor", version] = self.server.diagnose(copy, version)
        return told

    def write(self, name, text):
        path = self.root / name
        path.write_text(text)
        return path

    def test_what_we_ship_and_write_is_sound(self):
        written = [self.write("template.yaml", paceline("config", "template").out),
                   self.write("shown.yaml", paceline("config", "show", RECIPES / "vit-cifar10.yaml").out)]
        for path in [*RECIPES.glob("**/*.yaml"), *written]:
            for reader, complaints in self.complaints(path).items():
                self.assertEqual(complaints, [], f"{path.name} in {reader}")

    def test_numbers_that_older_readers_take_for_text(self):
        path = self.write("text.yaml", "optimizer: {name: sgd, lr: 5e-4}\ntrain: {duration: 1ep, grad_accum_steps: 1_0}\n"
                          "model: {name: vit, fused: off}\n")
        for reader, complaints in self.complaints(path).items():
            self.assertEqual(complaints, [], reader)

    def test_a_mistake_is_told_of_the_component_that_was_meant(self):
        for name, text, word in (("key", "optimizer: {name: sgd, momentun: 0.9}", "momentun"),
                                 ("default", "optimizer: {momentun: 0.9}", "momentun"),
                                 ("name", "optimizer: {name: sdg}", "sgd"),
                                 ("bare", "optimizer: sdg", "sgd"),
                                 ("model", "model: {name: vit, depht: 3}", "depht"),
                                 ("limit", "optimizer: {name: sgd, lr: -1}", "0"),
                                 ("kind", "train: {grad_accum_steps: [2]}", "type")):
            for reader, complaints in self.complaints(self.write(f"{name}.yaml", text + "\n")).items():
                told = " ".join(complaints)
                self.assertEqual(len(complaints), 1, f"{name} in {reader}: {complaints}")
                self.assertIn(word, told, f"{name} in {reader}")
                self.assertNotIn("was expected", told)


if __name__ == "__main__":
    unittest.main()
