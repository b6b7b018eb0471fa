"""An origin that does what the query of a request says, and counts what arrives: PORT.

  ?life=60&tag=1&age=5&slow=2&sie=9   fields of the answer to GET; slow is in seconds
  If-None-Match with the tag gets a 304. PUT and PATCH get 204, or 412 where If-Match is another tag. /count?of=/path is a number.
"""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

counts, guard = {}, threading.Lock()


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, fields, body=b""):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        url = urlsplit(self.path)
        wish = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/count":
            return self.answer(200, [], str(counts.get(wish["of"], 0)).encode())
        with guard:
            counts[url.path] = number = counts.get(url.path, 0) + 1
        time.sleep(float(wish.get("slow", 0)))
        life = f"max-age={wish.get('life', 60)}" + (f", stale-if-error={wish['sie']}" if "sie" in wish else "")
        fields = [("Content-Type", "application/json"), ("Cache-Control", life)]
        if "tag" in wish:
            fields.append(("ETag", f'"{wish["tag"]}"'))
        if "age" in wish:
            fields.append(("Age", wish["age"]))
        if "tag" in wish and f'"{wish["tag"]}"' == self.headers.get("If-None-Match", "").removeprefix("W/"):
            return self.answer(304, fields)
        self.answer(200, fields, b'{"number": %d, "text": "%s"}' % (number, b"note " * 200))

    do_HEAD = do_GET

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wish = parse_qs(urlsplit(self.path).query)
        tag = f'"{wish["tag"][0]}"' if "tag" in wish else None
        self.answer(412 if self.headers.get("If-Match", tag) != tag else 204, [])

    do_PATCH = do_PUT

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


Server(("127.0.0.1", int(sys.argv[1])), Origin).serve_forever()
