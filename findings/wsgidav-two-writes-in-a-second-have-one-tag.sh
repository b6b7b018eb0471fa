#!/usr/bin/env bash
# WsgiDAV with its provider of files: a client reads a file, another one writes it within the same second, and the length stays the same: a flag,
# a counter, a date. The first one writes what it has made of it, guarded by `If-Match`, as WebDAV clients do against lost updates.
#
# Most would guess: a 412, since the ETag that it read is strong, and a strong one changes with each change of the bytes (RFC 9110 §8.8.1).
#   WsgiDAV does evaluate If-Match, and gives 412 to a tag of another second.
# What is so: a 204, and the other client's write is gone. The same tag in If-None-Match gets a 304, so a copy of before the write counts
#   as confirmed, and goes on doing so: nothing changes the tag later.
# Source: get_file_etag of wsgidav/util.py makes the tag of the inode, the whole seconds of the modification time and the size. It is sent
#   without `W/`, though RFC 9110 §8.8.1 calls such a tag weak.
# Bites: programs that synchronize by tags, where two devices write at once, and tests, which write often in a second.
set -euo pipefail
wsgidav="4.4.0" cheroot="11.1.2"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "WsgiDAV==$wsgidav" "cheroot==$cheroot"
mkdir "$work/files"
cat >"$work/server.py" <<'PYTHON'
import sys
from cheroot import wsgi
from wsgidav.wsgidav_app import WsgiDAVApp

server = wsgi.Server(("127.0.0.1", 0), WsgiDAVApp({
    "provider_mapping": {"/": sys.argv[1]}, "simple_dc": {"user_mapping": {"*": True}}, "verbose": 0, "logging": {"enable": False}}))
server.prepare()
print(server.bind_addr[1], flush=True)
server.serve()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys, time

def ask(method, body=None, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request(method, "/flag.txt", body, {name.replace("_", "-"): value for name, value in fields.items()})
    response = connection.getresponse()
    response.body = response.read().decode()
    return response

def meet(pause):
    time.sleep(1 - time.time() % 1 + 0.05)
    ask("PUT", "own 1")
    tag = ask("GET").headers["ETag"]
    time.sleep(pause)
    ask("PUT", "other")
    confirmed = ask("GET", If_None_Match=tag).status
    written = ask("PUT", "own 2", If_Match=tag).status
    return f"the old tag is weak: {tag.startswith('W/')}; If-None-Match {confirmed}, If-Match {written}, then the file has {ask('GET').body!r}"

print("within a second:", meet(0))
print("a second later:", meet(1.2))
PYTHON
"$work/venv/bin/python" -W ignore "$work/server.py" "$work/files" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "WsgiDAV $wsgidav"
echo "$seen"
[ "$seen" = "within a second: the old tag is weak: False; If-None-Match 304, If-Match 204, then the file has 'own 2'
a second later: the old tag is weak: False; If-None-Match 200, If-Match 412, then the file has 'other'" ]
