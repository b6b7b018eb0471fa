"""sse-starlette has /events, and tells what is said to /say?text=…, also to a client that was away: PORT."""
import asyncio
import sys

import uvicorn
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

said, more = [], asyncio.Condition()


async def events(request):
    async def told(place):
        while True:
            async with more:
                await more.wait_for(lambda: len(said) > place)
            place += 1
            yield {"event": "said", "id": str(place), "data": said[place - 1]}
    known = request.headers.get("Last-Event-ID")
    return EventSourceResponse(told(int(known) if known else len(said)), ping=1)


async def say(request):
    async with more:
        said.append(request.query_params["text"])
        more.notify_all()
    return PlainTextResponse("")

app = Starlette(routes=[Route("/events", events), Route("/say", say)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
