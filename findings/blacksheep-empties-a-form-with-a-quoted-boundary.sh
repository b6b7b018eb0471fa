#!/usr/bin/env bash
# BlackSheep reads a form (multipart/form-data) whose boundary is in quotes, as it may always be and as RFC 2046 §5.1.1 wants it
# for a boundary with `:`, `=` or a space; and one with another parameter of the Content-Type before or after it.
#
# Most would guess: the quotes belong to the header field, as in each parameter of a Content-Type (RFC 9110 §5.6.6), so the fields are
#   those of the same form without quotes. At worst, a 400.
# What is so: 200, and the form is empty: the handler sees no field and no file, as if the client had sent none.
# Source: get_boundary_from_header (blacksheep/multipart.py) takes what is between the first `=` and the next space, with the quotes, and
#   finds no such boundary in the body. Starlette, Werkzeug, Django, aiohttp, Litestar, Sanic, Falcon, Bottle, WebOb and Tornado read it.
# Bites: uploads that work from a browser, and vanish from another client, without an error on either side.
set -euo pipefail
blacksheep="2.6.4" uvicorn="0.54.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "blacksheep==$blacksheep" "uvicorn==$uvicorn"
cat >"$work/forms.py" <<'PYTHON'
import socket
import uvicorn
from blacksheep import Application, Request, text

app = Application()

@app.router.post("/")
async def fields(request: Request):
    form = await request.form() or {}
    return text(f"{len(form)} field(s): {form}")

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys

body = b'--b0undary\r\nContent-Disposition: form-data; name="title"\r\n\r\nOne\r\n--b0undary--\r\n'
for parameters in ("boundary=b0undary", 'boundary="b0undary"', "boundary=b0undary; charset=utf-8", "charset=utf-8; boundary=b0undary"):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request("POST", "/", body, {"Content-Type": f"multipart/form-data; {parameters}"})
    response = connection.getresponse()
    print(f"{parameters}: {response.status}, {response.read().decode()}")
PYTHON
"$work/venv/bin/python" "$work/forms.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "BlackSheep $blacksheep"
echo "$seen"
[ "$seen" = "boundary=b0undary: 200, 1 field(s): {'title': 'One'}
boundary=\"b0undary\": 200, 0 field(s): {}
boundary=b0undary; charset=utf-8: 200, 0 field(s): {}
charset=utf-8; boundary=b0undary: 200, 0 field(s): {}" ]
