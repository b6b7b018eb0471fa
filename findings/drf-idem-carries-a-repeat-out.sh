#!/usr/bin/env bash
# drf-idem, a middleware for Django REST Framework that "detects the duplicate and returns an immediate response — without running your
# business logic a second time". A client sends a POST, loses the answer, and sends it again under the same key.
#
# Most would guess: the second request gets the first one's answer, and nothing else happens.
# What is so: it does get that answer, and the order is made twice. Two requests at the same time make two as well, and each is told of
#   one. The answer to the repeat is without the fields of the first, such as `Location` and `ETag`.
# Source: IdempotencyMiddleware.__call__ (drf_idem/middleware.py) calls the view first, then stores its answer unless there is one, and
#   replaces the answer if there was. IdempotencyCache keeps status, body and Content-Type.
# Bites: exactly those clients that send a key because they repeat: what they see is right, and what the server has is not. A test that compares
#   the two answers passes.
set -euo pipefail
idem="0.1.1" django="5.2.19" framework="3.18.3"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
  "drf-idem==$idem" "Django==$django" "djangorestframework==$framework"
cat >"$work/orders.py" <<'PYTHON'
from wsgiref.simple_server import WSGIRequestHandler, make_server
import django
from django.conf import settings

# A store in memory in place of Redis: the middleware asks Django's interface of caches, which is the same.
memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
settings.configure(
    SECRET_KEY="orders", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", DATABASES={}, INSTALLED_APPS=["rest_framework", "drf_idem"],
    MIDDLEWARE=["drf_idem.middleware.IdempotencyMiddleware"], CACHES={"default": memory, "drf_idem": memory | {"LOCATION": "keys"}},
    DRF_IDEM={"HEADER": "HTTP_IDEMPOTENCY_KEY", "TTL": 60, "CACHE_BACKEND": "drf_idem"},
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": [], "UNAUTHENTICATED_USER": None})
django.setup()

from django.core.wsgi import get_wsgi_application
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

made = []

class Orders(APIView):
    def post(self, request):
        made.append(len(made) + 1)
        return Response({"order": made[-1]}, status=201, headers={"Location": f"/orders/{made[-1]}"})

    def get(self, request):
        return Response(made)

urlpatterns = [path("orders/", Orders.as_view())]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, sys

def ask(method, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request(method, "/orders/", headers={name.replace("_", "-"): value for name, value in fields.items()})
    response = connection.getresponse()
    return f"{response.status} {response.read().decode()}, Location {response.headers['Location']}"

for which in ("first", "repeat"):
    print(f"{which}: {ask('POST', Idempotency_Key='5e7c1b2a')}")
print("the server's orders:", ask("GET"))
PYTHON
"$work/venv/bin/python" -W ignore "$work/orders.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "drf-idem $idem, Django REST Framework $framework"
echo "$seen"
[ "$seen" = 'first: 201 {"order":1}, Location /orders/1
repeat: 201 {"order":1}, Location None
the server'"'"'s orders: 200 [1,2], Location None' ]
