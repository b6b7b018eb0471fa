#!/usr/bin/env bash
# Sanic serves a folder with `app.static`. A client asks by HEAD how long a file is, or whether its copy is still the same, and then by GET.
#
# Most would guess: the fields of a HEAD are those of the GET, so its `Content-Length` is the length of the file.
# What is so: `Content-Length: 0` to each HEAD of a file, beside the right Content-Type and Last-Modified. A handler with JSON that allows
#   HEAD gives the right length, so a test with a handler passes.
# Source: _static_request_handler (sanic/mixins/static.py) answers a HEAD without a body, and sets the length only with `use_content_range`, which
#   is off unless it is asked for; http1_response_header (sanic/http/http1.py) then counts the empty body.
#   RFC 9110 §8.6: a server MUST NOT send Content-Length in the answer to a HEAD "unless its field value equals the decimal number of
#   octets that would have been sent in the content of a response if the same request had used the GET method".
# Bites: downloads that reserve space or plan parts by HEAD, and get 0; caches: by RFC 9111 §4.3.5, a HEAD with another length says that
#   the stored answer is stale. Starlette 1.10.0, aiohttp 3.14.5, Flask 3.1.3, Quart 0.22.0, Falcon 4.4.0, Tornado 6.6.1 and Litestar 2.25.0
#   give the length.
set -euo pipefail
sanic="25.12.1"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "sanic==$sanic"
mkdir "$work/files"
printf '%s' '{"title": "One"}' >"$work/files/note.json"
cat >"$work/files.py" <<'PYTHON'
import socket, sys
from sanic import Sanic, json

app = Sanic("files", configure_logging=False)
app.static("/files", sys.argv[1])

@app.route("/note", methods=["GET", "HEAD"])
async def note(request):
    return json({"title": "One"})

if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    app.run(sock=listener, single_process=True, motd=False, access_log=False)
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys

def ask(method, target):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request(method, target)
    response = connection.getresponse()
    response.read()
    return f"{method} {response.status}, Content-Length {response.headers['Content-Length']}"

for target in ("/files/note.json", "/note"):
    print(f"{target}: {ask('GET', target)}; {ask('HEAD', target)}")
PYTHON
"$work/venv/bin/python" "$work/files.py" "$work/files" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(head -1 "$work/port")")"
echo "Sanic $sanic"
echo "$seen"
[ "$seen" = "/files/note.json: GET 200, Content-Length 16; HEAD 200, Content-Length 0
/note: GET 200, Content-Length 15; HEAD 200, Content-Length 15" ]
