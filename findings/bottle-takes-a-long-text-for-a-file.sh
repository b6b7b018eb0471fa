#!/usr/bin/env bash
# Bottle reads a form (multipart/form-data) with two text fields, a title and a text, neither of which has a `filename`. The text becomes longer.
#
# Most would guess: both are in `request.forms`, however long; a form that is too large is an error, and stays one if it is larger still.
# What is so: near 100 KB, a 400. A longer text gives no error, and is no longer in `request.forms`: it is in `request.files`, as an upload
#   without a name. `request.forms.get("text")` is None, so a handler that takes an absent field for an empty or an unchanged one saves that.
# Source: BaseRequest.POST (bottle.py) counts the fields against MEMFILE_MAX together, but takes a part that alone is longer, and so is in a
#   file, for an upload: `not part.filename and part.is_buffered()`. RFC 7578 §4.2: `filename` says that a part is a file.
# Bites: clients that send long texts or JSON as a field: a note is saved until it has 100 KB, fails there, and a larger one is lost
#   with a 200. A body of its own for the text helps.
set -euo pipefail
bottle="0.13.4"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "bottle==$bottle"
cat >"$work/notes.py" <<'PYTHON'
import socket
from wsgiref.simple_server import WSGIRequestHandler, make_server
from bottle import Bottle, request

app = Bottle()

@app.post("/notes")
def save():
    text, files = request.forms.get("text"), {name: part.raw_filename for name, part in request.files.items()}
    return f"fields {list(request.forms)}, text {'missing' if text is None else len(text)}, files {files}"

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys

for length in (102_000, 102_400, 102_401):
    fields = {"title": b"One", "text": b"x" * length}
    body = b"".join(b'--b0undary\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
                    for name, value in fields.items()) + b"--b0undary--\r\n"
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request("POST", "/notes", body, {"Content-Type": "multipart/form-data; boundary=b0undary"})
    response = connection.getresponse()
    print(f"{length} bytes: {response.status}, {response.read().decode() if response.status == 200 else response.reason}")
PYTHON
"$work/venv/bin/python" "$work/notes.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "Bottle $bottle"
echo "$seen"
[ "$seen" = "102000 bytes: 200, fields ['title', 'text'], text 102000, files {}
102400 bytes: 400, Bad Request
102401 bytes: 200, fields ['title'], text missing, files {'text': None}" ]
