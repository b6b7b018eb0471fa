#!/usr/bin/env bash
# requests-sse, a client of event streams over requests: a text that is streamed word by word, as language models do, and one with lines.
#
# Most would guess: one space after the colon is the separator, and each further one belongs to the data. So `data:  world` is " world", and
#   the parts, put together, are the text.
# What is so: all spaces after the colon are removed, so the words run together. Line feeds at the end of the data are removed too, so an event
#   of two empty lines, the blank line of a text, is "". The other clients of Python keep both.
# Source: EventSource.__next__ (requests_sse/client.py) takes `fields[1].lstrip(" ")`, and _dispatch_event `rstrip("\n")`. HTML Living
#   Standard, §9.2.6: "If value starts with a U+0020 SPACE character, remove it from value"; and, of the data buffer, remove the last
#   character if it is a line feed.
# Bites: whoever streams text in pieces. JSON as data is not concerned, so the same client passes with another server.
set -euo pipefail
requests_sse="0.5.3" requests="2.34.2" sseclient="1.9.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
  "requests-sse==$requests_sse" "requests==$requests" "sseclient-py==$sseclient"
cat >"$work/words.py" <<'PYTHON'
from http.server import BaseHTTPRequestHandler, HTTPServer

class Words(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for data in ("Hello", " world,", "  \n", "\n", " again"):
            self.wfile.write("".join(f"data: {line}\n" for line in data.split("\n")).encode() + b"\n")
        self.wfile.write(b"event: end\ndata: 1\n\n")

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Words)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import sys
import requests
import sseclient
from requests_sse import EventSource

def data(events):
    found = []
    for kind, text in events:
        if kind == "end":
            return found
        found.append(text)

url = f"http://127.0.0.1:{sys.argv[1]}/"
with EventSource(url, timeout=5) as source:
    print("requests-sse:", data((event.type, event.data) for event in source))
print("sseclient-py:", data((event.event, event.data) for event in sseclient.SSEClient(requests.get(url, stream=True, timeout=5)).events()))
PYTHON
python3 "$work/words.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 "$work/venv/bin/python" "$work/client.py" "$(cat "$work/port")")"
echo "requests-sse $requests_sse, sseclient-py $sseclient"
echo "$seen"
[ "$seen" = "requests-sse: ['Hello', 'world,', '', '', 'again']
sseclient-py: ['Hello', ' world,', '  \\n', '\\n', ' again']" ]
