#!/usr/bin/env bash
# Kinto behind nginx with `gzip on; gzip_types application/json`: each client that takes gzip, as every browser does, validates what it has.
#
# Most would guess: nginx makes the tag weak, as a coded body needs (`W/"1795893994530"`); `If-None-Match` compares weakly (RFC 9110
#   §13.1.2), so the answer is a 304, and at worst a 200.
# What is so: a 400, `If-None-Match in header: The value should be integer between double quotes`, and again at each attempt: a cache that
#   sends back the tag that it was given has no way to a newer value until it forgets the old one. The same client without gzip gets the 304.
# Source: nginx's ngx_http_gzip_filter makes the tag weak (ngx_http_weak_etag) on the way out and leaves If-None-Match as it is on the way in;
#   Kinto takes an integer in quotes alone (HeaderQuotedInteger, kinto/core/schema.py). Either of them goes well with others.
# Bites: whoever keeps responses with their tags: a cache in a browser or before it, where Kinto has an expiry as here (without one, it says
#   no-store), and a client that keeps tags by itself. An error that only clients with gzip get, after their second request.
set -euo pipefail
nginx="1.22.1-9+deb12u11" kinto="26.5.0"
work="$(mktemp -d)"
trap 'kill ${server:-} ${proxy:-} 2>/dev/null || true; rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "nginx=$nginx" && dpkg-deb -x nginx_*.deb nginx)
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "kinto==$kinto" "waitress==3.0.2"
cat >"$work/store.py" <<'PYTHON'
from kinto import main
from waitress.server import create_server

everyone = "system.Everyone"
server = create_server(main({}, **{
    "kinto.storage_backend": "kinto.core.storage.memory", "kinto.cache_backend": "kinto.core.cache.memory",
    "kinto.permission_backend": "kinto.core.permission.memory", "kinto.userid_hmac_secret": "notes",
    "kinto.bucket_create_principals": everyone, "kinto.record_cache_expires_seconds": "60"}), host="127.0.0.1", port=0)
print(server.effective_port, flush=True)
server.run()
PYTHON
"$work/venv/bin/python" -W ignore "$work/store.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 200); do [ -s "$work/port" ] && break; sleep 0.1; done
port="$(cat "$work/port")"
mkdir "$work/t"
cat >"$work/nginx.conf" <<CONF
daemon off; master_process off; pid $work/pid; error_log $work/error.log;
events {}
http {
  access_log off;
  client_body_temp_path $work/t/b; proxy_temp_path $work/t/p; fastcgi_temp_path $work/t/f; uwsgi_temp_path $work/t/u; scgi_temp_path $work/t/s;
  gzip on; gzip_types application/json;
  server { listen unix:$work/socket; location / { proxy_pass http://127.0.0.1:$port; } }
}
CONF
"$work/nginx/usr/sbin/nginx" -c "$work/nginx.conf" -e "$work/error.log" &
proxy=$!
for _ in $(seq 100); do [ -S "$work/socket" ] && break; sleep 0.1; done
note="/v1/buckets/notes/collections/notes/records/one"
put() { curl -sf -o "$work/answer" -X PUT -H 'Content-Type: application/json' -d "$2" "http://127.0.0.1:$port$1"; }
put /v1/buckets/notes '{}'
put /v1/buckets/notes/collections/notes '{}'
put "$note" '{"data": {"title": "One"}}'
ask() { curl -s -o "$work/answer" -D "$work/head" -w '%{http_code}' --unix-socket "$work/socket" "$@" "http://nginx$note"; }
field() { tr -d '\r' <"$work/head" | sed -n "s/^$1: //Ip"; }
ask -H 'Accept-Encoding: gzip' >"$work/status"
coded="$(field ETag)"
ask >"$work/status"
plain="$(field ETag)"
[ "$coded" = "W/$plain" ] && tags="weak with gzip" || tags="gzip $coded, plain $plain"
with="$(ask -H 'Accept-Encoding: gzip' -H "If-None-Match: $coded")"
text="$(grep -o 'The value should be integer between double quotes' "$work/answer" | head -n 1 || true)"
without="$(ask -H "If-None-Match: $plain")"
put "$note" '{"data": {"title": "Two"}}'
changed="$(ask -H 'Accept-Encoding: gzip' -H "If-None-Match: $coded")"
echo "nginx $nginx, Kinto $kinto: the tag is $tags; validated with gzip $with ($text), without $without; after a change with gzip $changed"
[ "$tags $with $without $changed" = "weak with gzip 400 304 400" ]
