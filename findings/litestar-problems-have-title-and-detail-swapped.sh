#!/usr/bin/env bash
# Litestar with its ProblemDetailsPlugin for all errors (RFC 9457): a handler raises TooManyRequestsException("…"), a parameter is invalid, and a
# handler fails.
#
# Most would guess: `title` is that of the kind of problem, "Too Many Requests", and `detail` the text that the program has given to this
#   one; and a 500 is a problem too.
# What is so: the other way round. `title` is the text of the occurrence, "Validation failed for GET /notes?limit=x", and `detail` is the phrase
#   of the status. The 500 of an unexpected exception is `application/json`, with `status_code` in place of `status`.
# Source: _http_exception_to_problem_detail_exception (litestar/plugins/problem_details.py) passes `title=exc.detail`; the plugin handles
#   HTTPException alone. RFC 9457 §3.1.3: the title "SHOULD NOT change from occurrence to occurrence"; §3.1.4: `detail` is "specific to this
#   occurrence"; §4.2.1: without `type`, the title is the status phrase.
# Bites: a client that shows `detail` to a person shows "Bad Request"; one that groups or translates by `title` finds a new kind for each
#   URL; one that reads `status` of each error fails at a 500. Programs that raise ProblemDetailsException set both as they should be.
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
from litestar.exceptions import TooManyRequestsException
from litestar.plugins.problem_details import ProblemDetailsConfig, ProblemDetailsPlugin

@get("/notes", sync_to_thread=False)
def notes(limit: int) -> list[int]:
    return []

@get("/busy", sync_to_thread=False)
def busy() -> None:
    raise TooManyRequestsException("Ten notes a minute, and you have had eleven", headers={"Retry-After": "30"})

@get("/broken", sync_to_thread=False)
def broken() -> None:
    raise OSError("the disk is away")

plugin = ProblemDetailsPlugin(ProblemDetailsConfig(enable_for_all_http_exceptions=True))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = Litestar([notes, busy, broken], plugins=[plugin])
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, json, sys

for target in ("/busy", "/notes?limit=x", "/broken"):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request("GET", target)
    response = connection.getresponse()
    body = json.loads(response.read())
    members = {name: body[name] for name in ("title", "detail", "status", "status_code") if name in body}
    print(response.status, response.headers["Content-Type"], members)
PYTHON
"$work/venv/bin/python" "$work/notes.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "Litestar $litestar"
echo "$seen"
[ "$seen" = "429 application/problem+json {'title': 'Ten notes a minute, and you have had eleven', 'detail': 'Too Many Requests', 'status': 429}
400 application/problem+json {'title': 'Validation failed for GET /notes?limit=x', 'detail': 'Bad Request', 'status': 400}
500 application/json {'detail': 'Internal Server Error', 'status_code': 500}" ]
