#!/usr/bin/env bash
# nginx before an API that sends events, with its defaults for a proxy, so with proxy_buffering on, and then with `gzip_types text/event-stream`,
# or `*`, added to save bytes.
#
# Most would guess: proxy_buffering holds events back, as each guide for event streams says, until some kilobytes are there, so it has to be off
#   (or `X-Accel-Buffering: no` comes from the API), with gzip or without.
# What is so: without gzip, each event arrives at once, buffering or not. With gzip, nothing arrives, not even the head of the response, until the
#   stream ends: the client does not know that it is connected, and EventSource stays at `connecting`. With X-Accel-Buffering: no and
#   gzip, each event arrives at once again.
# Source: the buffers are sent on when the API pauses, but gzip's filter (ngx_http_gzip_filter_module) passes on what zlib gives it, which is
#   nothing for so few bytes unless a buffer is marked to be flushed. ngx_event_pipe marks none; without buffering, each one is.
# Bites: whoever has seen event streams work through nginx without any setting, and then switches on compression for everything.
set -euo pipefail
nginx="1.22.1-9+deb12u11"
work="$(mktemp -d)"
trap 'kill ${server:-} ${proxy:-} 2>/dev/null || true; rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "nginx=$nginx" && dpkg-deb -x nginx_*.deb nginx)
cat >"$work/events.py" <<'PYTHON'
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Events(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if "unbuffered" in self.path: self.send_header("X-Accel-Buffering", "no")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(3):
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
mkdir "$work/t"
cat >"$work/nginx.conf" <<CONF
daemon off; master_process off; pid $work/pid; error_log $work/error.log;
events {}
http {
  access_log off;
  client_body_temp_path $work/t/b; proxy_temp_path $work/t/p; fastcgi_temp_path $work/t/f; uwsgi_temp_path $work/t/u; scgi_temp_path $work/t/s;
  gzip on; gzip_types text/event-stream;
  server { listen 127.0.0.1:$own; location / { proxy_pass http://127.0.0.1:$(cat "$work/port"); } }
}
CONF
"$work/nginx/usr/sbin/nginx" -c "$work/nginx.conf" -e "$work/error.log" &
proxy=$!
cat >"$work/client.py" <<'PYTHON'
import http.client, sys, time, zlib

def listen(port, target, coding):
    for _ in range(100):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            began = time.monotonic()
            connection.request("GET", target, headers={"Accept-Encoding": coding})
            break
        except OSError:
            time.sleep(0.1)
    response, text, times = connection.getresponse(), b"", []
    head = round(time.monotonic() - began)
    inflate = zlib.decompressobj(31).decompress if response.headers["Content-Encoding"] else bytes
    while piece := response.read1(65536):
        text += inflate(piece)
        times += [round(time.monotonic() - began)] * (text.count(b"\n\n") - len(times))
    return f"head at {head} s, events at {times} s"

port = int(sys.argv[1])
print("without gzip:", listen(port, "/events", "identity"))
print("with gzip:", listen(port, "/events", "gzip"))
print("with gzip and X-Accel-Buffering: no:", listen(port, "/unbuffered", "gzip"))
PYTHON
seen="$(timeout 40 python3 "$work/client.py" "$own")"
echo "nginx $nginx, the head and the events are sent at 0 and [0, 1, 2] s"
echo "$seen"
[ "$seen" = "without gzip: head at 0 s, events at [0, 1, 2] s
with gzip: head at 3 s, events at [3, 3, 3] s
with gzip and X-Accel-Buffering: no: head at 0 s, events at [0, 1, 2] s" ]
