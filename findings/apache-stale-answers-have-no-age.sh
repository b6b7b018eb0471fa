#!/usr/bin/env bash
# Apache httpd with mod_cache, mod_cache_disk and mod_proxy_http, their defaults: an origin says max-age=2, answers once, and is shut down.
#
# Most would guess: what is stale by then is a 502 or 503, since nobody said stale-if-error; or a 200 with its age, `Age: 4`, as each answer
#   from the store has. A client that has the tag gets a 304, as from any cache.
# What is so: a 200 without `Age`, whose lifetime seems to begin again, for as long as the origin is away. `Date` is the old one. It says
#   `Warning: 111`, which RFC 9111 §5.5 has made obsolete. `If-None-Match` with the tag gets the whole 200, too. While fresh, `Age` is there,
#   and the tag gets a 304.
# Source: CacheStaleOnError is on by default. cache_insert_error_filter (mod_cache.c) puts the stored fields back as the origin has sent them,
#   unless they say must-revalidate, proxy-revalidate or s-maxage. Age is added where an answer is found fresh, which is before that.
# Bites: each cache behind it, a browser's as well: it takes the answer for new, and asks again only a whole lifetime later. An outage of a
#   second can hide a change for twice max-age.
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

class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        for name, value in {"Cache-Control": "max-age=2", "ETag": '"1"', "Content-Type": "text/plain", "Content-Length": "2"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"v1")
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
  printf 'ProxyPass / http://127.0.0.1:%s/ retry=0\n' "$(cat "$work/port")"
} >"$work/httpd.conf"
"$work/root/usr/sbin/apache2" -f "$work/httpd.conf" -DFOREGROUND &
cache=$!
for _ in $(seq 100); do curl -s -o "$work/answer" "http://127.0.0.1:$own/warm" && break; sleep 0.1; done
ask() {
  curl -s -o "$work/answer" -D "$work/head" -w '%{http_code}' "$@" "http://127.0.0.1:$own/page"
  grep -qi '^age:' "$work/head" && echo -n ' with Age' || echo -n ' without Age'
}
ask >"$work/first"
fresh="$(ask), its tag $(ask -H 'If-None-Match: "1"')"
kill "$server"
wait "$server" 2>/dev/null || true
sleep 3
stale="$(ask), its tag $(ask -H 'If-None-Match: "1"')"
sleep 1
later="$(ask)"
echo "Apache $apache: fresh $fresh; stale with its origin away $stale; a second later $later"
[ "$fresh; $stale; $later" = \
  "200 with Age, its tag 304 with Age; 200 without Age, its tag 200 without Age; 200 without Age" ]
