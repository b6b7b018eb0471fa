#!/usr/bin/env bash
# Django under ASGI with GZipMiddleware: a view streams from an async generator, as views of event streams, exports and answers of language
# models do. Its client is httpx, which asks for gzip by default.
#
# Most would guess: the client gets all chunks, whole, as it does from the same view under WSGI, or with a generator that is not async.
# What is so: httpx gets the first chunk, then the end, and no error: a 200 with a part of the body, which looks like a short answer. curl 7.88
#   with --compressed writes the first chunk and fails with 23, so does what is built on libcurl, such as URLSession on Linux. requests,
#   aiohttp and a client that takes no gzip get everything.
# Source: GZipMiddleware compresses each chunk of an async stream for itself (gzip_wrapper, which calls compress_string), so the body is
#   several members of gzip, one after the other. RFC 1952 §2.2 allows that. httpx's GZipDecoder has one zlib.decompressobj, which ends with
#   the first member and keeps the rest as unused_data, which nobody looks at. A sync stream is one member (compress_sequence).
# Bites: who moves a view to async: JSON lines lose all but the first, event streams fall silent, and only for some clients.
set -euo pipefail
django="5.2.19" httpx="0.28.1" requests="2.34.2" uvicorn="0.54.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "Django==$django" "httpx==$httpx" "requests==$requests" "uvicorn==$uvicorn"
cat >"$work/lines.py" <<'PYTHON'
import socket, sys
import django, uvicorn
from django.conf import settings

settings.configure(SECRET_KEY="lines", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", DATABASES={},
                   MIDDLEWARE=["django.middleware.gzip.GZipMiddleware"])
django.setup()

from django.core.asgi import get_asgi_application
from django.http import StreamingHttpResponse
from django.urls import path

async def numbers():
    for number in range(4):
        yield f'{{"number": {number}}}\n'

async def lines(request):
    return StreamingHttpResponse(numbers(), content_type="application/jsonl")

urlpatterns = [path("lines", lines)]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(get_asgi_application(), lifespan="off", log_level="error")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import sys
import httpx, requests

address = f"http://127.0.0.1:{sys.argv[1]}/lines"
for name, answer in (("httpx", httpx.get(address)), ("httpx without gzip", httpx.get(address, headers={"Accept-Encoding": "identity"})),
                     ("requests", requests.get(address))):
    print(f"{name}: {answer.status_code}, {len(answer.text.splitlines())} of 4 lines")
PYTHON
"$work/venv/bin/python" "$work/lines.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 "$work/venv/bin/python" "$work/client.py" "$(cat "$work/port")")"
echo "Django $django, httpx $httpx, requests $requests"
echo "$seen"
[ "$seen" = "httpx: 200, 1 of 4 lines
httpx without gzip: 200, 4 of 4 lines
requests: 200, 4 of 4 lines" ]
