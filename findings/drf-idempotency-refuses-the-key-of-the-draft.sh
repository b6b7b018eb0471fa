#!/usr/bin/env bash
# Three layers for the Idempotency-Key of a request in Django REST Framework: drf-idempotency, drf-idempotencykey and drf-idem (told to read that
# field). A client writes the key as the draft of the IETF does, `Idempotency-Key: "8e03978e-40d5-43e8-bc93-6894a57f9324"`.
#
# Most would guess: it is taken, as the form that the draft requires; where a layer does not parse the field, the quotes are two more
#   characters of an opaque key.
# What is so: 400 from each of them, for each request of the client, the first one too. The key is invalid, for its quotes. Without the quotes,
#   the same key is taken, which the draft does not allow.
# Source: draft-ietf-httpapi-idempotency-key-header §2.1: "Idempotency-Key is an Item Structured Header. Its value MUST be a String", which
#   is in quotes (RFC 9651 §3.3.3). _KEY_PATTERN of drf_idempotency/core.py and _REQUEST_ID_RE of drf_idem/middleware.py have no quote;
#   drf_idempotencykey/mixins.py wants what uuid.UUID reads.
# Bites: clients that follow the draft: they cannot write at all. asgi-idempotency-header 0.2.0, fastapi-idempotency 0.1.1,
#   fastapi-idempotency-key 0.1.1 and idemptx 0.2.2 take both forms, as two keys, so a client that changes its form loses its keys.
set -euo pipefail
idempotency="1.0.0" mixin="0.2.0" idem="0.1.1" django="5.2.19" framework="3.18.3"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "drf-idempotency==$idempotency" "drf-idempotencykey==$mixin" \
  "drf-idem==$idem" "Django==$django" "djangorestframework==$framework"
cat >"$work/orders.py" <<'PYTHON'
import logging, sys, threading
from http.client import HTTPConnection
from wsgiref.simple_server import WSGIRequestHandler, make_server
import django
from django.conf import settings

name, file = sys.argv[1:]
memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
settings.configure(
    SECRET_KEY="orders", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": file}}, CACHES={"default": memory, "drf_idem": memory},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", name],
    MIDDLEWARE=[] if name == "drf_idempotencykey" else [f"{name}.middleware.IdempotencyMiddleware"],
    IDEMPOTENCY={"BACKEND": "drf_idempotency.backends.database.DatabaseBackend"},
    DRF_IDEM={"HEADER": "HTTP_IDEMPOTENCY_KEY", "CACHE_BACKEND": "drf_idem"},
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"]})
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

call_command("migrate", verbosity=0)
User.objects.create_user("reader", password="read")
logging.disable()
bases = (APIView,)
if name == "drf_idempotencykey":
    from drf_idempotencykey.mixins import DrfIdempotencyKeyMixin
    bases = (DrfIdempotencyKeyMixin, APIView)

class Orders(*bases):
    def post(self, request):
        return Response({"order": 1}, status=201)

urlpatterns = [path("orders/", Orders.as_view())]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()

def ask(key):
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("POST", "/orders/", headers={"Idempotency-Key": key, "Authorization": "Basic cmVhZGVyOnJlYWQ="})
    return connection.getresponse().status

key = "8e03978e-40d5-43e8-bc93-6894a57f9324"
print(f'{name.replace("_", "-")}: as a String {ask(chr(34) + key + chr(34))}, bare {ask(key)}')
PYTHON
seen="$(for name in drf_idempotency drf_idempotencykey drf_idem; do
  timeout 60 "$work/venv/bin/python" -W ignore "$work/orders.py" "$name" "$work/$name.db"
done)"
echo "drf-idempotency $idempotency, drf-idempotencykey $mixin, drf-idem $idem"
echo "$seen"
[ "$seen" = "drf-idempotency: as a String 400, bare 201
drf-idempotencykey: as a String 400, bare 201
drf-idem: as a String 400, bare 201" ]
