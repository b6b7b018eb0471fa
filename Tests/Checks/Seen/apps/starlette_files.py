"""Starlette serves a folder of files, compressed where the client takes it; FastAPI answers /unchanged with a 304: PORT FOLDER."""
import sys

import uvicorn
from fastapi import FastAPI, Response
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

app = FastAPI()
app.add_middleware(GZipMiddleware)


@app.get("/unchanged")
def unchanged(response: Response):
    response.status_code = 304
    return {"title": "One"}


app.mount("/", StaticFiles(directory=sys.argv[2]))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
