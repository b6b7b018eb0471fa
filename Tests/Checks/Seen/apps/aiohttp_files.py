"""aiohttp serves a folder of files: PORT FOLDER."""
import sys

from aiohttp import web

app = web.Application()
app.router.add_static("/", sys.argv[2])
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
