#!/usr/bin/env bash
# HAProxy with `compression algo gzip` and `compression type text/event-stream`, or with no types at all, which is each type: an API sends an
# event each second, to a browser that takes gzip, as all do.
#
# Most would guess: either each event arrives at once, as it does through Apache's mod_deflate and h2o, or, if the compression holds bytes
#   back, events arrive in lumps of some kilobytes.
# What is so: each event arrives when the next one does. All of an event but its last byte is sent on at once, and that is the line feed of
#   the empty line which ends it, so no client takes it for an event. The last one before a silence is not seen until the silence ends.
# Source: HAProxy is built with libslz, which writes whole bytes: the bits of the last symbol wait in its queue for those of the next piece, and
#   the filter does not pad them out at the end of what it has. zlib's Z_SYNC_FLUSH, which Apache uses, does.
# Bites: events that come seldom, which are those that matter: one that says that a job is done is read when something else happens.
#   `compression type` without event streams, or Cache-Control: no-transform from the API, is the cure.
set -euo pipefail
haproxy="2.6.12-1+deb12u4" lua="5.3.6-2" tracing="1.1.3-3+b1" tracinglib="1.6.0-4"
work="$(mktemp -d)"
trap 'kill ${server:-} ${proxy:-} 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "haproxy=$haproxy" "liblua5.3-0=$lua" \
  "libopentracing-c-wrapper0=$tracing" "libopentracing1=$tracinglib" && for package in *.deb; do dpkg-deb -x "$package" root; done)
cat >"$work/events.py" <<'PYTHON'
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Events(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if "plain" in self.path: self.send_header("Cache-Control", "no-transform")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(4):
            event = b'data: {"number": %d}\n\n' % number
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(1)
        self.wfile.write(b"0\r\n\r\n")
    def log_message(self, *_): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Events)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
python3 "$work/events.py" >"$work/port" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
own="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
cat >"$work/haproxy.cfg" <<CONF
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  compression algo gzip
  compression type text/event-stream
frontend clients
  bind 127.0.0.1:$own
  default_backend api
backend api
  server only 127.0.0.1:$(cat "$work/port")
CONF
LD_LIBRARY_PATH="$(echo "$work"/root/usr/lib/*-linux-gnu)" "$work/root/usr/sbin/haproxy" -db -f "$work/haproxy.cfg" 2>"$work/log" &
proxy=$!
cat >"$work/client.py" <<'PYTHON'
import http.client, sys, time, zlib

def listen(port, target):
    for _ in range(100):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", target, headers={"Accept-Encoding": "gzip"})
            break
        except OSError:
            time.sleep(0.1)
    response, began, text, times = connection.getresponse(), time.monotonic(), b"", []
    coding = response.headers["Content-Encoding"]
    inflate = zlib.decompressobj(31).decompress if coding else bytes
    while piece := response.read1(65536):
        text += inflate(piece)
        times += [round(time.monotonic() - began)] * (text.count(b"\n\n") - len(times))
    return f"{coding}, read at {times} s"

print("compressed:", listen(int(sys.argv[1]), "/events"))
print("no-transform:", listen(int(sys.argv[1]), "/plain"))
PYTHON
seen="$(timeout 40 python3 "$work/client.py" "$own")"
echo "HAProxy $haproxy, events sent at [0, 1, 2, 3] s"
echo "$seen"
[ "$seen" = "compressed: gzip, read at [1, 2, 3, 4] s
no-transform: None, read at [0, 1, 2, 3] s" ]
