"""Sanic serves a folder of files, and answers /unchanged with a 304, and a body that the handler has given it: PORT FOLDER."""
import sys

from sanic import Sanic, json

app = Sanic("unchanged", configure_logging=False)
app.static("/", sys.argv[2])


@app.get("/unchanged")
async def unchanged(request):
    return json({"title": "One"}, status=304)


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(sys.argv[1]), single_process=True, motd=False, access_log=False)
