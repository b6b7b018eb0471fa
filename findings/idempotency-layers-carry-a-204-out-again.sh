#!/usr/bin/env bash
# Two layers for the Idempotency-Key of a request, both for FastAPI: asgi-idempotency-header and idemptx. Two handlers each: one answers
# 201 with JSON, the other 204, or JSON of another media type. A client sends each request twice under one key.
#
# Most would guess: both are carried out once. What an answer looks like has nothing to do with it.
# What is so: only an answer with a body of `application/json` is kept. After a 204, both forget the key, and the repeat is carried out again;
#   asgi-idempotency-header does so for `application/vnd.api+json`, too, and leaves `Location` and `ETag` out of what it repeats.
# Source: send_wrapper of idempotency_header_middleware/middleware.py clears the key for another Content-Type and where json.loads fails, and
#   its store has the status and the JSON; the decorator of idemptx keeps an instance of JSONResponse alone.
#   draft-ietf-httpapi-idempotency-key-header §2.6: "The resource SHOULD respond with the result of the previously completed operation".
# Bites: writes that answer nothing, the usual form of "mark as read", "add one" or "send again": they are done twice under a key that was
#   there to prevent it. A client that takes the name of what it has made from `Location` gets none from a repeat.
set -euo pipefail
header="0.2.0" idemptx="0.2.2" fastapi="0.165.0" uvicorn="0.54.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "asgi-idempotency-header==$header" "idemptx==$idemptx" \
  "fastapi==$fastapi" "uvicorn==$uvicorn" "redis==5.3.1"
cat >"$work/orders.py" <<'PYTHON'
import socket
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from idemptx import idempotent
from idemptx.backend import InMemoryBackend
from idempotency_header_middleware import IdempotencyHeaderMiddleware
from idempotency_header_middleware.backends import MemoryBackend

def orders(around):
    app, made = FastAPI(), []

    def answer(name, make):
        @app.post(f"/{name}")
        @around
        async def order(request: Request):
            made.append(name)
            return make()

    @app.get("/made/{name}")
    def count(name: str):
        return made.count(name)

    place = {"Location": "/orders/1", "ETag": '"1"'}
    answer("json", lambda: JSONResponse({"order": 1}, 201, headers=place))
    answer("nothing", lambda: Response(status_code=204))
    answer("vendor", lambda: JSONResponse({"order": 1}, 201, media_type="application/vnd.api+json"))
    return app

app = FastAPI()
app.mount("/asgi-idempotency-header", IdempotencyHeaderMiddleware(orders(lambda handler: handler), backend=MemoryBackend()))
app.mount("/idemptx", orders(idempotent(storage_backend=InMemoryBackend())))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys

def ask(method, target, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request(method, target, headers={name.replace("_", "-"): value for name, value in fields.items()})
    response = connection.getresponse()
    return response.status, response.headers["Location"], response.read().decode()

for layer in ("asgi-idempotency-header", "idemptx"):
    for name in ("json", "nothing", "vendor"):
        twice = [ask("POST", f"/{layer}/{name}", Idempotency_Key=f"key-of-{name}")[:2] for _ in "ab"]
        print(f"{layer}, {name}: {twice}, carried out {ask('GET', f'/{layer}/made/{name}')[2]} time(s)")
PYTHON
"$work/venv/bin/python" -W ignore "$work/orders.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "asgi-idempotency-header $header, idemptx $idemptx"
echo "$seen"
[ "$seen" = "asgi-idempotency-header, json: [(201, '/orders/1'), (201, None)], carried out 1 time(s)
asgi-idempotency-header, nothing: [(204, None), (204, None)], carried out 2 time(s)
asgi-idempotency-header, vendor: [(201, None), (201, None)], carried out 2 time(s)
idemptx, json: [(201, '/orders/1'), (201, '/orders/1')], carried out 1 time(s)
idemptx, nothing: [(204, None), (204, None)], carried out 2 time(s)
idemptx, vendor: [(201, None), (201, None)], carried out 1 time(s)" ]
