#!/usr/bin/env bash
# Two layers for the Idempotency-Key of a request: asgi-idempotency-header before FastAPI, and the mixin of drf-idempotencykey in a view of Django
# REST Framework. A handler meets an error that it does not catch, such as a database that is away for a second; the client gets 500 and
# repeats the request under its key, which is what the key is for.
#
# Most would guess: the repeat is carried out, since the first request has ended and made nothing; or it gets the 500 again.
# What is so: 409, the first request "is already in progress", though it is over. That does not pass: drf-idempotencykey says so for an hour,
#   with `Retry-After: 5`, and asgi-idempotency-header for as long as its store lives, since only the stored answers expire there.
# Source: neither takes the key back when the handler raises: IdempotencyHeaderMiddleware.__call__ and DrfIdempotencyKeyMixin.dispatch
#   await it without `finally`. draft-ietf-httpapi-idempotency-key-header §2.7 has 409 for a repeat while the first is still processed.
# Bites: clients that wait and repeat at a 409, as the draft and Retry-After tell them: they do so for hours. With a new key it would work at
#   once. fastapi-idempotency 0.1.1, fastapi-idempotency-key 0.1.1, idemptx 0.2.2 and drf-idempotency 1.0.0 carry the repeat out.
set -euo pipefail
header="0.2.0" fastapi="0.165.0" uvicorn="0.54.0" mixin="0.2.0" django="5.2.19" framework="3.18.3"
work="$(mktemp -d)"
trap 'kill "${first:-}" "${second:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "asgi-idempotency-header==$header" "fastapi==$fastapi" "uvicorn==$uvicorn" \
  "redis==8.1.0" "drf-idempotencykey==$mixin" "Django==$django" "djangorestframework==$framework"
cat >"$work/asgi.py" <<'PYTHON'
import socket
import uvicorn
from fastapi import FastAPI
from idempotency_header_middleware import IdempotencyHeaderMiddleware
from idempotency_header_middleware.backends import MemoryBackend

app, asked = FastAPI(), []
app.add_middleware(IdempotencyHeaderMiddleware, backend=MemoryBackend())

@app.post("/orders/")
async def orders():
    asked.append(1)
    if len(asked) == 1:
        raise OSError("the database is away")
    return {"order": 1}

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/mixin.py" <<'PYTHON'
import logging, sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
import django
from django.conf import settings

settings.configure(
    SECRET_KEY="orders", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}}, MIDDLEWARE=[],
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "drf_idempotencykey"],
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"]})
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path
from drf_idempotencykey.mixins import DrfIdempotencyKeyMixin
from rest_framework.response import Response
from rest_framework.views import APIView

call_command("migrate", verbosity=0)
User.objects.create_user("reader", password="read")
logging.disable()
asked = []

class Orders(DrfIdempotencyKeyMixin, APIView):
    def post(self, request):
        asked.append(1)
        if len(asked) == 1:
            raise OSError("the database is away")
        return Response({"order": 1})

urlpatterns = [path("orders/", Orders.as_view())]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import base64, http.client, sys, time

def ask(port, key):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
    connection.request("POST", "/orders/", headers={
        "Idempotency-Key": key, "Authorization": "Basic " + base64.b64encode(b"reader:read").decode()})
    response = connection.getresponse()
    response.read()
    return f"{response.status}" + (f" (Retry-After {response.headers['Retry-After']})" if response.headers["Retry-After"] else "")

for name, port in zip(("asgi-idempotency-header", "drf-idempotencykey"), sys.argv[1:]):
    keys = ["5e7c1b2a-6c0f-4c53-9a0a-0f6f3f6d7a11"] * 4 + ["5e7c1b2a-6c0f-4c53-9a0a-0f6f3f6d7a12"]
    first, *repeats, new = [ask(port, key) for key in keys if not time.sleep(0.3)]
    print(f"{name}: {first}; its repeats {', '.join(repeats)}; with a new key {new}")
PYTHON
"$work/venv/bin/python" -W ignore "$work/asgi.py" >"$work/port1" 2>"$work/log1" &
first=$!
"$work/venv/bin/python" -W ignore "$work/mixin.py" "$work/keys.db" >"$work/port2" 2>"$work/log2" &
second=$!
for _ in $(seq 200); do [ -s "$work/port1" ] && [ -s "$work/port2" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port1")" "$(cat "$work/port2")")"
echo "asgi-idempotency-header $header, drf-idempotencykey $mixin"
echo "$seen"
[ "$seen" = "asgi-idempotency-header: 500; its repeats 409, 409, 409; with a new key 200
drf-idempotencykey: 500; its repeats 409 (Retry-After 5), 409 (Retry-After 5), 409 (Retry-After 5); with a new key 200" ]
