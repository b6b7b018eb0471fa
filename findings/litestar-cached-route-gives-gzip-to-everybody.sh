#!/usr/bin/env bash
# Litestar with its own two settings for speed: a handler with `cache=60`, and `CompressionConfig(backend="gzip")`. One client sends
# `Accept-Encoding: gzip`, the next one `Accept-Encoding: identity`.
#
# Most would guess: the second one gets JSON. The answer has `Vary: Accept-Encoding`, so Litestar's store keeps the coded and the
#   plain answer apart, or it keeps the plain one and codes it for each client.
# What is so: whoever asks first decides for everybody, for as long as the answer is stored. After a client with gzip, the others get
#   gzip, which they have refused; after one without, nobody gets compression.
# Source: default_cache_key_builder (litestar/config/response_cache.py) makes the key of the method, the path and the query alone, and
#   the stack of build_route_middleware_stack (_asgi/routing_trie/mapping.py) has the compression inside of the store.
#   RFC 9110 §12.5.3: a client with `gzip;q=0` has refused gzip. RFC 9111 §4.1 wants the fields of `Vary` compared.
# Bites: clients with other codings than the first one's: for a minute, now and then, their decoder meets bytes instead of JSON. One that
#   asks for gzip and deflate alone gets brotli after a browser. A `key_builder` with the coding in the key helps.
set -euo pipefail
litestar="2.25.0" uvicorn="0.54.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "litestar==$litestar" "uvicorn==$uvicorn"
cat >"$work/notes.py" <<'PYTHON'
import socket
import uvicorn
from litestar import Litestar, get
from litestar.config.compression import CompressionConfig

@get("/notes/{name:str}", cache=60, sync_to_thread=False)
def note(name: str) -> dict[str, str]:
    return {"title": "One " * 400}

app = Litestar([note], compression_config=CompressionConfig(backend="gzip"))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys

def ask(target, coding):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request("GET", target, headers={"Accept-Encoding": coding})
    response = connection.getresponse()
    begin = {b"\x1f\x8b": "gzip", b'{"': "JSON"}.get(response.read()[:2], "something else")
    return f"{coding} gets {begin}, Content-Encoding {response.headers['Content-Encoding']}, Vary {response.headers['Vary']}"

for name, codings in (("a", ("gzip", "identity", "gzip;q=0")), ("b", ("identity", "gzip"))):
    for coding in codings:
        print(f"/notes/{name}:", ask(f"/notes/{name}", coding))
PYTHON
"$work/venv/bin/python" "$work/notes.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "Litestar $litestar"
echo "$seen"
[ "$seen" = "/notes/a: gzip gets gzip, Content-Encoding gzip, Vary Accept-Encoding
/notes/a: identity gets gzip, Content-Encoding gzip, Vary Accept-Encoding
/notes/a: gzip;q=0 gets gzip, Content-Encoding gzip, Vary Accept-Encoding
/notes/b: identity gets JSON, Content-Encoding None, Vary None
/notes/b: gzip gets JSON, Content-Encoding None, Vary None" ]
