"""aiohttp-sse has /events, and tells what is said to /say?text=…, also to a client that was away: PORT."""
import asyncio
import sys

from aiohttp import web
from aiohttp_sse import sse_response

said, more = [], asyncio.Condition()


async def events(request):
    known = request.headers.get("Last-Event-ID")
    place = int(known) if known else len(said)
    async with sse_response(request) as response:
        while response.is_connected():
            async with more:
                await more.wait_for(lambda: len(said) > place)
            place += 1
            await response.send(said[place - 1], event="said", id=str(place))
    return response


async def say(request):
    async with more:
        said.append(request.query["text"])
        more.notify_all()
    return web.Response()

app = web.Application()
app.router.add_get("/events", events)
app.router.add_get("/say", say)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
