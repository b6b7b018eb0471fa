#!/usr/bin/env bash
# tuswsgi, resumable uploads (tus 1.0.0) for WSGI. A client sends the first chunk, does not get the answer, and sends the chunk again, at the
# offset that it knows.
#
# Most would guess: 409, since the server is further than that, which is what `Upload-Offset` is for. The client asks by HEAD, and goes on.
# What is so: 204, and the chunk is appended once more; `Upload-Offset` of a request is not read. The chunk after it is too much: 400. But
#   where the repeat makes the length right, the upload is complete, and the program gets a file with its first half twice: "01230123".
# Source: patch of tuswsgi.py calls write_data, which appends, and compares no offset. tus 1.0.0, Core, PATCH: "If the offsets do not
#   match, the Server MUST respond with the 409 Conflict status without modifying the upload resource."
# Bites: clients that repeat a PATCH after a lost answer, which is safe by the protocol, and proxies that do so for them. A check of the
#   length finds nothing.
set -euo pipefail
tuswsgi="0.5.5"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "tuswsgi==$tuswsgi"
cat >"$work/uploads.py" <<'PYTHON'
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
from tuswsgi import TusMiddleware

finished = []

def uploads(environ, start_response):
    if environ["PATH_INFO"].startswith("/files"):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        finished.append(open(environ["wsgi.input"].read(length).decode()).read())
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [", ".join(finished).encode()]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, TusMiddleware(uploads, upload_path="/files", tmp_dir=sys.argv[1]), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys
from urllib.parse import urlsplit

def ask(method, target, body=None, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request(method, target, body, {"Tus-Resumable": "1.0.0"} | {name.replace("_", "-"): value for name, value in fields.items()})
    response = connection.getresponse()
    response.text = response.read().decode()
    return response

def send(*chunks):
    file = urlsplit(ask("POST", "/files", Upload_Length="8", Content_Length="0").headers["Location"]).path
    told = []
    for offset, chunk in chunks:
        answer = ask("PATCH", file, chunk, Upload_Offset=str(offset), Content_Type="application/offset+octet-stream")
        told.append(f"{answer.status} {answer.headers['Upload-Offset'] or answer.text}".strip())
    return f"{', '.join(told)}; HEAD says {ask('HEAD', file).headers['Upload-Offset']} of 8"

print("0 to 4, again, 4 to 8:", send((0, b"0123"), (0, b"0123"), (4, b"4567")))
print("0 to 3, again, 3 to 8:", send((0, b"012"), (0, b"012"), (3, b"34567")))
print("finished:", ask("GET", "/finished").text)
PYTHON
"$work/venv/bin/python" -W ignore "$work/uploads.py" "$work/files" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "tuswsgi $tuswsgi"
echo "$seen"
[ "$seen" = "0 to 4, again, 4 to 8: 204 4, 204 8, 400; HEAD says 12 of 8
0 to 3, again, 3 to 8: 204 3, 204 6, 400; HEAD says 11 of 8
finished: 01230123" ]
