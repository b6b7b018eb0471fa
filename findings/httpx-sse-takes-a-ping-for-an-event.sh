#!/usr/bin/env bash
# sse-starlette, a server of event streams, and httpx-sse, their client. The events have an `id`, and the server sends its ping, a comment, every
# 15 seconds (here every 0.2), so that no proxy ends the connection.
#
# Most would guess: the client sees its events and nothing else. A comment is ignored, and where no `data` came, no event is dispatched.
# What is so: from the first `id` on, each ping is an event "message" with that id and with data "", twice or a thousand times between two
#   events. Without ids, the same pings are not seen, so a stream without them passes each test.
# Source: SSEDecoder.decode (httpx_sse/_decoders.py) yields at an empty line unless event, data, retry and the last id are all empty; the
#   last id stays, as it should. HTML Living Standard, §9.2.6: "If the data buffer is an empty string, set the data buffer and the event
#   type buffer to the empty string and return."
# Bites: programs that decode each event, `json.loads(event.data)`, fail at the first ping, which is after 15 quiet seconds; others count
#   or show an event that nobody sent. A client skips events whose data is empty.
set -euo pipefail
starlette="3.7.0" client="0.4.3" httpx="0.28.1" uvicorn="0.54.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
  "sse-starlette==$starlette" "httpx-sse==$client" "httpx==$httpx" "uvicorn==$uvicorn"
cat >"$work/prices.py" <<'PYTHON'
import asyncio, socket
import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.routing import Route

def stream(ids):
    async def prices(request):
        async def events():
            for number in (1, 2):
                yield ServerSentEvent(data='{"price": %d}' % number, id=str(number) if ids else None)
                await asyncio.sleep(0.7)
        return EventSourceResponse(events(), ping=0.2)
    return prices

app = Starlette(routes=[Route("/with", stream(True)), Route("/without", stream(False))])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import sys
import httpx
from httpx_sse import connect_sse

url = f"http://127.0.0.1:{sys.argv[1]}"
with httpx.Client(timeout=10) as client:
    for name in ("with", "without"):
        with connect_sse(client, "GET", f"{url}/{name}") as source:
            events = [(event.event, event.id, event.data) for event in source.iter_sse()]
        sent = [data for _, _, data in events if data]
        pings = {event for event in events if not event[2]}
        print(f"{name} ids: {sent}, and between them {sorted(pings) if pings else 'nothing'}")
PYTHON
"$work/venv/bin/python" "$work/prices.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 "$work/venv/bin/python" "$work/client.py" "$(cat "$work/port")")"
echo "sse-starlette $starlette, httpx-sse $client"
echo "$seen"
[ "$seen" = "with ids: ['{\"price\": 1}', '{\"price\": 2}'], and between them [('message', '1', ''), ('message', '2', '')]
without ids: ['{\"price\": 1}', '{\"price\": 2}'], and between them nothing" ]
