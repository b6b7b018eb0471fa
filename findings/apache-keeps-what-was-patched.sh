#!/usr/bin/env bash
# Apache httpd with mod_cache and mod_cache_disk before an API whose answers are fresh for a minute: somebody changes a thing through the
# same Apache, with PATCH.
#
# Most would guess: the stored answer is dropped, as after the PUT, the POST and the DELETE of the same URL: a cache must invalidate it after a
#   successful request with an unsafe method, and after one with a method that it does not know (RFC 9111 §4.4).
# What is so: after PATCH, the old answer is served for the rest of its minute, and only then the new one. The other three methods drop it.
#   Traffic Server 9.2.5 keeps it after PATCH as well, and drops it after the three; HAProxy and Squid drop it after all four.
# Source: cache_quick_handler and cache_handler of mod_cache.c add the filter that invalidates for M_PUT, M_POST and M_DELETE; whatever else
#   is no GET is `not cacheable by mod_cache, ignoring`.
# Bites: APIs whose only way to change a thing is PATCH: the writer reads back the old values, and takes the write for lost.
set -euo pipefail
apache="2.4.71-1~deb12u1" apr="1.7.2-3+deb12u1" aprutil="1.6.3-1+deb12u1"
work="$(mktemp -d)"
trap 'kill ${server:-} ${cache:-} 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "apache2-bin=$apache" "libapr1=$apr" "libaprutil1=$aprutil" &&
  for package in *.deb; do dpkg-deb -x "$package" root; done)
LD_LIBRARY_PATH="$(echo "$work"/root/usr/lib/*-linux-gnu)"
export LD_LIBRARY_PATH
cat >"$work/origin.py" <<'PYTHON'
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

values = {}

class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, body=b""):
        self.send_response(status)
        for name, value in {"Cache-Control": "max-age=60", "Content-Type": "text/plain", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self): self.answer(200, values.get(self.path, "old").encode())
    def change(self):
        values[self.path] = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(200, b"done")
    do_PUT = do_POST = do_PATCH = do_DELETE = change
    def log_message(self, *_): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
python3 "$work/origin.py" >"$work/port" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
own="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
mkdir "$work/cache"
{
  printf 'ServerRoot %s\nServerName localhost\nPidFile pid\nDefaultRuntimeDir .\nErrorLog error.log\nListen 127.0.0.1:%s\n' "$work" "$own"
  for module in mpm_event authz_core proxy proxy_http cache cache_disk; do
    echo "LoadModule ${module}_module root/usr/lib/apache2/modules/mod_$module.so"
  done
  printf 'Mutex file:%s default\nCacheRoot %s/cache\nCacheEnable disk /\n' "$work" "$work"
  printf 'ProxyPass / http://127.0.0.1:%s/\n' "$(cat "$work/port")"
} >"$work/httpd.conf"
"$work/root/usr/sbin/apache2" -f "$work/httpd.conf" -DFOREGROUND &
cache=$!
address="http://127.0.0.1:$own"
for _ in $(seq 100); do curl -s -o "$work/answer" "$address/warm" && break; sleep 0.1; done
seen=""
for method in PUT POST DELETE PATCH; do
  curl -sf -o "$work/answer" "$address/$method"
  sleep 0.2
  curl -sf -o "$work/answer" -X "$method" -d new "$address/$method"
  seen="$seen$method $(curl -sf "$address/$method"); "
done
echo "Apache $apache, what a GET gives after a change: $seen"
[ "$seen" = "PUT new; POST new; DELETE new; PATCH old; " ]
