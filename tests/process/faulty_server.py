"""A server of files as S3 and as plain HTTP speak, on the loopback address, with faults on demand."""

import email.utils
import http.server
import pathlib
import threading
import urllib.parse
import xml.sax.saxutils


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512  # two ranks ask for 64 files each at once; whose connection is dropped waits for 30 s


class FaultyServer:
    """Serves the files below `folder`: /BUCKET/KEY, and lists of them. `faults` are done in turn to every
    `every`-th request for a file's bytes: throttle, reset, truncate, fail, flip. `refusal` answers whatever has
    `refused` in its path."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.faults, self.every = [], 0
        self.refusal, self.refused = None, ""  # (status, code)
        self.bytes_requests = self.requests = self.num_faults = 0
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"state": self})
        self.http = _Server(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def environment(self):
        """What a program needs to take it for S3."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}

    def next_fault(self):
        with self.lock:
            self.bytes_requests += 1
            if not self.every or self.bytes_requests % self.every:
                return None
            self.num_faults += 1
            return self.faults[self.num_faults % len(self.faults)]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        self.state.requests += 1
        if self.state.refusal and self.state.refused in self.path:
            return self.refuse(*self.state.refusal, with_body)
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        path = self.state.folder / urllib.parse.unquote(url.path).strip("/")
        if "list-type" in query:
            return self.list_folder(path, query)
        if not path.is_file():
            return self.refuse(404, "NoSuchKey", with_body)
        return self.serve(path, with_body)

    def reply(self, status, headers, body, with_body=True):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def refuse(self, status, code, with_body):
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code} it is.</Message></Error>"
        self.reply(status, {"Content-Type": "application/xml"}, text.encode(), with_body)

    def list_folder(self, bucket, query):
        if not bucket.is_dir():
            return self.refuse(404, "NoSuchBucket", True)
        prefix = query.get("prefix", [""])[0]
        folder = bucket / prefix
        rows = []
        for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
            key = xml.sax.saxutils.escape(prefix + entry.name)
            if entry.is_dir():
                rows.append(f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>")
            else:
                rows.append(f"<Contents><Key>{key}</Key><Size>{entry.stat().st_size}</Size>"
                            "<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>")
        text = ("<?xml version='1.0'?><ListBucketResult><IsTruncated>false</IsTruncated>"
                f"<KeyCount>{len(rows)}</KeyCount>{''.join(rows)}</ListBucketResult>")
        return self.reply(200, {"Content-Type": "application/xml"}, text.encode())

    def serve(self, path, with_body):
        content = path.read_bytes()
        headers = {"ETag": f'"{len(content)}"', "Last-Modified": email.utils.formatdate(1767323045, usegmt=True),
                   "Accept-Ranges": "bytes"}
        wanted = self.headers.get("Range")
        if not with_body or not wanted:
            return self.reply(200, headers, content, with_body)
        first, last = wanted.removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last or len(content)), len(content) - 1)
        if first >= len(content):
            return self.reply(416, {"Content-Range": f"bytes */{len(content)}"}, b"")
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        body = content[first:last + 1]
        fault = self.state.next_fault()
        if fault == "throttle":
            return self.refuse(503, "SlowDown", True)
        if fault == "fail":
            return self.refuse(500, "InternalError", True)
        if fault == "flip":
            body = bytes([body[0] ^ 1]) + body[1:]
        if fault in ("reset", "truncate"):
            self.send_response(206)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:len(body) // 2 if fault == "truncate" else 0])
            self.close_connection = True
            return None
        return self.reply(206, headers, body)
