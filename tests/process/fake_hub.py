"""Hugging Face's hub and the server that its large files lie on, on the loopback address, with faults on demand."""

import hashlib
import http.server
import json
import threading
import time
import urllib.parse

from paceline_process import RunTest, paceline

QUICK = ["--dry-run", "checkpoint.every=null", "schedule.warmup=0ba"]  # enough to fetch weights


def git_blob_sha1(content):
    """What the hub calls a small file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class HubTest(RunTest):
    """Tests with a recipe and the exported weights of a run of it, for a hub to offer."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        test = cls()
        cls.recipe = test.write_recipe()
        test.train(cls.recipe, "--run-dir", "runs/origin", "train.duration=1ba", "checkpoint.every=1ba",
                   "schedule.warmup=0ba")
        made = paceline("export", "runs/origin", "-o", "model.safetensors", cwd=cls.root)
        assert made.code == 0, made
        cls.weights = (cls.root / "model.safetensors").read_bytes()


class FakeHub:
    """One repository, some/net, whose `files` map names to contents; those of weights are large. The large ones lie at
    another host (another port), as at the real hub. `refusals` are answered to as many questions first, each
    (status, headers); `refuse_all` to all of them. `faults` are done in turn when bytes of a large file are asked for:
    "truncate", "stall", "fail", "flip", or a pause in seconds after each piece; None lets it pass."""

    def __init__(self, files, commit="c" * 40, token=None):
        self.files, self.commit, self.token = dict(files), commit, token
        self.refusals, self.refuse_all, self.faults = [], None, []
        self.asked, self.stored = [], []  # (method, path, headers) of the hub and of the store
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.hub = self._start(_HubHandler)
        self.store = self._start(_StoreHandler)
        self.url = f"http://127.0.0.1:{self.hub.server_port}"
        self.store_url = f"http://localhost:{self.store.server_port}"

    def _start(self, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), {"state": self}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def close(self):
        self.stopping.set()
        for server in (self.hub, self.store):
            server.shutdown()
            server.server_close()

    def is_large(self, name):
        return name.endswith((".safetensors", ".bin", ".pth"))

    def large_by_sum(self, digest):
        for name, content in self.files.items():
            if self.is_large(name) and hashlib.sha256(content).hexdigest() == digest:
                return content
        return None

    def next_of(self, faults):
        with self.lock:
            return faults.pop(0) if faults else None

    def downloads(self):
        """How often bytes of large files were asked for."""
        return sum(method == "GET" for method, _, _ in self.stored)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (BrokenPipeError, ConnectionResetError):  # a client that was stopped
            self.close_connection = True

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def reply(self, status, headers, body=b"", with_body=True, length=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def send_file(self, content, headers, with_body, fault=None):
        status, first = 200, 0
        wanted = self.headers.get("Range")
        if wanted and with_body:
            first = int(wanted.removeprefix("bytes=").split("-")[0])
            if first >= len(content):
                return self.reply(416, {"Content-Range": f"bytes */{len(content)}"})
            status = 206
            headers = headers | {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}
        body = content[first:]
        if fault == "fail":
            return self.reply(503, {}, b"the store is down")
        if fault == "flip":
            body = bytes([body[0] ^ 1]) + body[1:]
        if fault is None or fault == "flip" or not with_body:
            return self.reply(status, headers, body, with_body)
        self.reply(status, headers, body[:len(body) // 2] if isinstance(fault, str) else b"", length=len(body))
        self.wfile.flush()
        if fault == "stall":
            self.state.stopping.wait(60)
        elif fault != "truncate":
            for at in range(0, len(body), len(body) // 20 + 1):
                self.wfile.write(body[at:at + len(body) // 20 + 1])
                time.sleep(fault)
            return None
        self.close_connection = True
        return None


class _HubHandler(_Handler):
    def answer(self, with_body):
        state = self.state
        with state.lock:
            state.asked.append((self.command, self.path, dict(self.headers)))
        refusal = state.refuse_all or state.next_of(state.refusals)
        if refusal:
            return self.reply(refusal[0], refusal[1], b"refused", with_body)
        if state.token and self.headers.get("Authorization") != f"Bearer {state.token}":
            return self.reply(401, {"X-Error-Code": "RepoNotFound"}, b"", with_body)
        path = urllib.parse.unquote(self.path)
        if path.startswith("/api/models/some/net/revision/"):
            listing = {"sha": state.commit, "siblings": [{"rfilename": name} for name in state.files]}
            return self.reply(200, {}, json.dumps(listing).encode(), with_body)
        for revision in (state.commit, "main"):
            name = path.removeprefix(f"/some/net/resolve/{revision}/")
            if name in state.files:
                return self.resolve(name, with_body)
        return self.reply(404, {"X-Error-Code": "EntryNotFound" if "/some/net/" in path else "RepoNotFound"}, b"", with_body)

    def resolve(self, name, with_body):
        content = self.state.files[name]
        headers = {"X-Repo-Commit": self.state.commit}
        if not self.state.is_large(name):
            return self.send_file(content, headers | {"ETag": f'"{git_blob_sha1(content)}"'}, with_body)
        digest = hashlib.sha256(content).hexdigest()
        return self.reply(302, headers | {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(content)),
                                          "Location": f"{self.state.store_url}/{digest}?signature=hidden"}, b"", with_body)


class _StoreHandler(_Handler):
    """By the SHA-256 of a file, or by its name, as a server of torchvision's weights has them."""

    def answer(self, with_body):
        state = self.state
        with state.lock:
            state.stored.append((self.command, self.path, dict(self.headers)))
        name = self.path.strip("/").split("?")[0]
        content = state.large_by_sum(name) or state.files.get(name)
        if content is None:
            return self.reply(404, {}, b"", with_body)
        fault = state.next_of(state.faults) if with_body else None
        return self.send_file(content, {"ETag": '"v1"', "Accept-Ranges": "bytes"}, with_body, fault)
