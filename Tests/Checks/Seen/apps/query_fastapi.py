"""FastAPI takes a QUERY of /search, and has /plain for GET alone: PORT."""
import sys

import uvicorn
from fastapi import FastAPI, Request, Response
from searches import Searches

app, searches = FastAPI(), Searches()


@app.api_route("/search", methods=["GET", "QUERY"])
async def search(request: Request, life: int = 60):
    known = request.headers.get("If-None-Match")
    status, fields, content = searches.answer(request.method, await request.body(), known, life)
    return Response(content, status, fields)


@app.get("/plain")
def plain():
    return {}


@app.get("/arrived")
def arrived():
    return Response(searches.look())


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
