"""Sends requests through a cache library, as it is used by its manual: LIBRARY FOLDER.

A line of standard input is a request as JSON; a line of standard output is its answer, or the error of the library.
"""

import asyncio
import json
import pathlib
import sys

library, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def httpx_like(client):
    def send(method, url, headers, body):
        answer = client.request(method, url, headers=headers, content=body)
        return answer.status_code, answer.text
    return send


def requests_like(session):
    def send(method, url, headers, body):
        answer = session.request(method, url, headers=headers, data=body, allow_redirects=False, timeout=10)
        return answer.status_code, answer.text
    return send


def hishel():
    from hishel import CacheOptions, SqliteStorage
    from hishel.httpx import CacheClient
    storage = SqliteStorage(database_path=folder / "hishel.db")
    return httpx_like(CacheClient(storage=storage, rfc=CacheOptions(shared=False)))


def httpx_cache():
    import httpx_cache as package
    return httpx_like(package.Client())


def cachecontrol():
    import requests
    from cachecontrol import CacheControl
    return requests_like(CacheControl(requests.Session()))


def requests_cache():
    from requests_cache import CachedSession
    return requests_like(CachedSession(backend="memory", cache_control=True))


def httplib2():
    import httplib2 as package
    client = package.Http(str(folder / "httplib2"), timeout=10)
    client.follow_redirects = False

    def send(method, url, headers, body):
        answer, content = client.request(url, method, body=body, headers=headers)
        return answer.status, content.decode()
    return send


def aiohttp_client_cache():
    from aiohttp_client_cache import CacheBackend, CachedSession
    loop = asyncio.new_event_loop()

    async def begin():
        return CachedSession(cache=CacheBackend(cache_control=True))
    session = loop.run_until_complete(begin())

    async def answer(method, url, headers, body):
        async with session.request(method, url, headers=headers, data=body, allow_redirects=False) as answer:
            return answer.status, await answer.text()

    return lambda *request: loop.run_until_complete(answer(*request))


send = {"hishel": hishel, "httpx-cache": httpx_cache, "CacheControl": cachecontrol, "requests-cache": requests_cache,
        "httplib2": httplib2, "aiohttp-client-cache": aiohttp_client_cache}[library]()
for line in sys.stdin:
    request = json.loads(line)
    try:
        status, body = send(request["method"], request["url"], request["headers"], request["body"])
        print(json.dumps({"status": status, "body": body}), flush=True)
    except Exception as error:  # noqa: BLE001 - the table says that there was one.
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
