"""aiohttp takes a QUERY of /search, and has /plain for GET alone: PORT."""
import sys

from aiohttp import web
from searches import Searches

searches = Searches()


async def search(request):
    life, known = request.query.get("life", "60"), request.headers.get("If-None-Match")
    status, fields, content = searches.answer(request.method, await request.read(), known, life)
    return web.Response(status=status, headers=fields, body=content)


async def plain(_):
    return web.json_response({})


async def arrived(_):
    return web.Response(body=searches.look())


app = web.Application()
app.router.add_route("QUERY", "/search", search)
app.router.add_get("/search", search)
app.router.add_get("/plain", plain)
app.router.add_get("/arrived", arrived)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
