#!/usr/bin/env bash
# A form (multipart/form-data) has a field whose name contains a quotation mark, `size 5"`. It can be written in two ways: `name="size 5%22"`,
# as browsers do (HTML Living Standard, §4.10.22.8), and `name="size 5\""`, as older clients do and MIME has it. Twelve libraries read both.
#
# Most would guess: a library that reads the forms of browsers decodes `%22`, and the other form is the old one, which fewer read.
# What is so: the old form is read by eleven of twelve. What browsers write is decoded by Werkzeug, multipart, Litestar and Sanic, and is the
#   name `size 5%22` in python-multipart (Starlette, FastAPI), Django, aiohttp, Falcon, Bottle, WebOb, Tornado and BlackSheep. No form of
#   the name works everywhere: Sanic reads the old one as `size 5\`.
# Source: RFC 7578 §4.2 allows percent-encoding for names, and leaves to a receiver whether it decodes. HTML has three escapes (CR, LF and
#   the quotation mark), and none for `%`.
# Bites: clients whose field names come from data, such as columns or labels, once a server is another one: the field is not missing, it has
#   another name. Names of letters, digits and `-` are not concerned.
set -euo pipefail
packages=(python-multipart==0.0.34 starlette==1.10.0 httpx==0.28.1 Werkzeug==3.1.9 Django==5.2.19 aiohttp==3.14.5 multipart==2.0.1
  litestar==2.25.0 sanic==25.12.1 falcon==4.4.0 bottle==0.13.4 WebOb==1.8.11 tornado==6.6.1 blacksheep==2.6.4)
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "${packages[@]}"
cat >"$work/forms.py" <<'PYTHON'
import asyncio, io, logging

logging.disable()

CONTENT_TYPE = "multipart/form-data; boundary=b0undary"

def environ(body):
    return {"REQUEST_METHOD": "POST", "CONTENT_TYPE": CONTENT_TYPE, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
            "PATH_INFO": "/", "SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.url_scheme": "http", "wsgi.errors": io.StringIO()}

def asgi(app, body):
    """The name that an application answers with."""
    import httpx

    async def ask():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.post("/", content=body, headers={"Content-Type": CONTENT_TYPE})).json()
    return asyncio.run(ask())

def python_multipart(body):
    from starlette.requests import Request
    from starlette.responses import JSONResponse

    async def app(scope, receive, send):
        await JSONResponse(list(await Request(scope, receive).form())[0])(scope, receive, send)
    return asgi(app, body)

def werkzeug(body):
    from werkzeug.wrappers import Request
    return list(Request(environ(body)).form)[0]

def django(body):
    from django.conf import settings
    if not settings.configured:
        settings.configure()
    from django.core.handlers.wsgi import WSGIRequest
    return list(WSGIRequest(environ(body)).POST)[0]

def aiohttp(body):
    from aiohttp import StreamReader, web
    from aiohttp.test_utils import make_mocked_request
    from unittest.mock import Mock

    async def read():
        stream = StreamReader(Mock(_reading_paused=False), 2 ** 16, loop=asyncio.get_running_loop())
        stream.feed_data(body)
        stream.feed_eof()
        request = make_mocked_request("POST", "/", {"Content-Type": CONTENT_TYPE}, payload=stream)
        return list(await request.post())[0]
    return asyncio.run(read())

def multipart(body):
    import multipart
    return list(multipart.parse_form_data(environ(body), strict=True)[0])[0]

def litestar(body):
    from litestar import Litestar, Request, post

    @post("/")
    async def name(request: Request) -> list[str]:
        return list(await request.form())
    return asgi(Litestar([name]), body)[0]

def sanic(body):
    from sanic.request.form import parse_multipart_form
    return list(parse_multipart_form(body, b"b0undary")[0])[0]

def falcon(body):
    import falcon
    return [part.name for part in falcon.Request(environ(body)).get_media()][0]

def bottle(body):
    from bottle import BaseRequest
    return list(BaseRequest(environ(body)).forms)[0]

def webob(body):
    from webob import Request
    return list(Request(environ(body)).POST)[0]

def tornado(body):
    from tornado.httputil import parse_multipart_form_data
    fields = {}
    parse_multipart_form_data(b"b0undary", body, fields, {})
    return list(fields)[0]

def blacksheep(body):
    from blacksheep.multipart import parse_multipart
    return [part.name.decode() for part in parse_multipart(body)][0]

SPELLINGS = {'size 5%22 (browsers)': b'size 5%22', 'size 5\\" (MIME)': b'size 5\\"'}
for spelling, name in SPELLINGS.items():
    body = b'--b0undary\r\nContent-Disposition: form-data; name="%s"\r\n\r\n1\r\n--b0undary--\r\n' % name
    read = {}
    for library in (python_multipart, werkzeug, django, aiohttp, multipart, litestar, sanic, falcon, bottle, webob, tornado, blacksheep):
        read.setdefault(library(body), []).append(library.__name__)
    for name, libraries in read.items():
        print(f"{spelling} is {name} in {', '.join(libraries)}")
PYTHON
seen="$("$work/venv/bin/python" -W ignore "$work/forms.py")"
echo "${packages[*]}"
echo "$seen"
[ "$seen" = "size 5%22 (browsers) is size 5%22 in python_multipart, django, aiohttp, falcon, bottle, webob, tornado, blacksheep
size 5%22 (browsers) is size 5\" in werkzeug, multipart, litestar, sanic
size 5\\\" (MIME) is size 5\" in python_multipart, werkzeug, django, aiohttp, multipart, litestar, falcon, bottle, webob, tornado, blacksheep
size 5\\\" (MIME) is size 5\\ in sanic" ]
