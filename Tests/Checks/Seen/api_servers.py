"""What the guide's tables of API servers say, asked of each of them. A function returns the texts of its cells.

A text is put together of what was seen, so it differs from the guide's where the server does.
"""

import base64
import gzip
import json
import re
import sqlite3
import sys

from client import ask, covered, guarded, revalidated, tag_of_coded

READING, WRITING = "API servers: reading", "API servers: writing and lists"
REVALIDATION, COVERS, CODED = ((READING, name) for name in ("a revalidation gives", "the `ETag` covers", "with compression"))
WRITE, LISTS = ((WRITING, name) for name in ("a write with `If-Match`", "links and totals"))
JSON = {"Content_Type": "application/json"}


def status(answers):
    return str(answers[1].status)


def folder_of_files(place):
    folder = place.root / "files"
    folder.mkdir(exist_ok=True)
    (folder / "note.json").write_text(json.dumps([{"id": number, "title": "note " * 50} for number in range(20)]))
    return folder


def aiohttp(place, port, folder, version):
    files = place.root / "coded"
    files.mkdir(exist_ok=True)
    content = b'{"title": "One"}' * 100
    (files / "note.json").write_bytes(content)
    (files / "note.json.gz").write_bytes(gzip.compress(content))
    place.application(folder, "aiohttp_files.py", port, files)
    plain, coded = ask(port, "/note.json"), ask(port, "/note.json", Accept_Encoding="gzip")
    own = coded["Content-Encoding"] == "gzip" and coded["ETag"] != plain["ETag"]
    return {REVALIDATION: status(revalidated(port, "/note.json")), COVERS: covered(plain),
            CODED: f"the `.gz` file has {'a tag of its own' if own else 'the same tag'}; the other has "
                   f"{'`Vary`' if plain['Vary'] else 'no `Vary`'}"}


def datasette(place, port, folder, version):
    file = place.root / "notes.db"
    if not file.exists():
        with sqlite3.connect(file) as database:
            database.execute("create table notes (id integer primary key, title text)")
            database.executemany("insert into notes (title) values (?)", [("One",), ("Two",), ("Three",)])
    place.start(port, place.pip, "-m", "datasette", "serve", "--host", "127.0.0.1", "--port", port, file, PYTHONPATH=str(folder))
    answer, again = revalidated(port, "/notes/notes.json?_size=1")
    where = ["`Link`"] * (answer["Link"] is not None) + ["`next` in the body"] * bool(json.loads(answer.body).get("next"))
    return {REVALIDATION: str(again.status), COVERS: covered(answer), LISTS: ", and ".join(where)}


def devpi(place, port, folder, version):
    data = place.root / "devpi"
    environment = {"PYTHONPATH": str(folder)}
    place.run(place.pip, "-c", "from devpi_server.init import init; init()", "--serverdir", data, "--no-root-pypi", **environment)
    place.start(port, place.pip, "-c", "from devpi_server.main import main; main()", "--serverdir", data, "--port", port,
                "--host", "127.0.0.1", **environment)
    take = {"Accept": "application/json"}
    answer, _ = revalidated(port, "/", **take)
    return {COVERS: covered(answer), WRITE: guarded(
        lambda tag: ask(port, "/reader", "PUT", b'{"password": "read"}', If_Match=tag, **take, **JSON))}


def django(place, port, folder, version):
    place.application(folder, "django_notes.py", port)
    plain, coded = ask(port, "/one/"), ask(port, "/one/", Accept_Encoding="gzip")
    unchanged = ask(port, "/one/", Accept_Encoding="gzip", If_None_Match=coded["ETag"])
    weakens = "weakens it" if tag_of_coded(plain, coded) == "weak" else f"gives {tag_of_coded(plain, coded)}"
    own = ", but not in its 304" if unchanged["ETag"] == plain["ETag"] else ", in its 304 too"
    return {REVALIDATION: status(revalidated(port, "/one/")), COVERS: covered(plain), CODED: f"`GZipMiddleware` {weakens}{own}"}


def django_rest_framework(place, port, folder, version):
    place.application(folder, "django_notes.py", port)
    ignoring = [method for method in ("PUT", "PATCH", "DELETE")
                if guarded(lambda tag, m=method: ask(port, "/one/", m, b'{"id": 1}', If_Match=tag, **JSON)) == "ignored"]
    named = [f"`{method}`" for method in ignoring]
    answer = ask(port, "/numbers/")
    inside = {"next", "count"} <= set(json.loads(answer.body)) and not answer["Link"]
    answers = [ask(port, "/slow/") for _ in range(2)] + [ask(port, "/none/"), ask(port, "/links/", "PUT", b"")]
    told = [answer.status for answer in answers if re.fullmatch(r"\d+", answer["Retry-After"] or "")]
    return {WRITE: f"ignored by {', '.join(named[:-1])} and {named[-1]}" if len(named) == 3 else f"ignored by {named}",
            LISTS: "in the body" if inside else "not in the body",
            "sentence": f"`Retry-After`: Django REST Framework sends seconds, only with a {' and '.join(map(str, told))}."}


def link_header_pagination(place, port, folder, version):
    place.application(folder, "django_notes.py", port)
    first, again = revalidated(port, "/links/")
    had = "in `Link`" if first["Link"] else "nowhere"
    return {LISTS: f"{had}, which its {again.status} {'has too' if again['Link'] else 'does not have'}"}


def eve(place, port, folder, version):
    place.application(folder, "eve_notes.py", port)
    for title in ("One", "Two", "Three"):
        made = ask(port, "/notes", "POST", json.dumps({"title": title}).encode(), **JSON)
    one = f"/notes/{json.loads(made.body)['_id']}"
    item, listed = revalidated(port, one), revalidated(port, "/notes")
    bare = ask(port, one, "PATCH", b'{"title": "Four"}', **JSON)
    links = json.loads(listed[0].body)["_links"]["next"]["href"]
    place_of_links = "relative to the root of the API" if not links.startswith(("/", "http")) else "absolute"
    return {REVALIDATION: f"{item[1].status} for an item; {listed[1].status} for a list",
            COVERS: f"the item, as {covered(item[0])}; a list has {covered(listed[0])}",
            WRITE: guarded(lambda tag: ask(port, one, "PATCH", b'{"title": "Four"}', If_Match=tag, **JSON))
            + f"; without it, {bare.status}",
            LISTS: f"`_links` in the body, {place_of_links}" + "; `X-Total-Count`" * (listed[0]["X-Total-Count"] is not None)}


def smorest(place, port, folder, version):
    place.application(folder, "smorest_notes.py", port)
    first, again = revalidated(port, "/note/")
    weak = ask(port, "/note/", If_None_Match=f"W/{first['ETag']}")
    bare = ask(port, "/note/", "PUT", b'{"title": "Two"}', **JSON)
    return {REVALIDATION: f"{again.status} {'with' if again['ETag'] else 'without'} `ETag`; {weak.status} to its tag with `W/`",
            WRITE: guarded(lambda tag: ask(port, "/note/", "PUT", b'{"title": "Two"}', If_Match=tag, **JSON))
            + f"; without it, {bare.status}"}


def jupyter(place, port, folder, version):
    notes = place.root / "jupyter"
    notes.mkdir()
    (notes / "note.txt").write_text("One")
    place.start(port, place.pip, "-m", "jupyter_server", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root",
                "--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", f"--ServerApp.root_dir={notes}",
                PYTHONPATH=str(folder), JUPYTER_RUNTIME_DIR=str(notes / ".run"), JUPYTER_CONFIG_DIR=str(notes / ".config"))
    target = "/api/contents/note.txt"
    first, again = revalidated(port, target)
    note = json.dumps({"type": "file", "format": "text", "content": "Two"}).encode()
    write = guarded(lambda tag: ask(port, target, "PUT", note, If_Match=tag, **JSON))
    changed = ask(port, target)["ETag"] != first["ETag"]
    return {REVALIDATION: str(again.status), COVERS: "the contents" if changed else "something else", WRITE: write}


def kinto(place, port, folder, version):
    place.application(folder, "kinto_notes.py", port)
    ask(port, "/v1/buckets/b", "PUT", b"{}", **JSON)
    ask(port, "/v1/buckets/b/collections/c", "PUT", b"{}", **JSON)
    records = "/v1/buckets/b/collections/c/records"
    twice = [json.loads(ask(port, records, "POST", b'{"data": {}}', Idempotency_Key='"k"', **JSON).body)["data"]["id"] for _ in "ab"]
    one = f"{records}/{twice[0]}"
    first, again = revalidated(port, one)
    weak = ask(port, one, If_None_Match=f"W/{first['ETag']}")
    refused = ask(port, one, "PUT", b'{"data": {}}', If_Match='"1"', **JSON)
    present = "existing" in json.loads(refused.body).get("details", {})
    pages = [ask(port, f"{records}?_limit=1")["Next-Page"] for _ in range(2)]
    alone = ask(port, records, "HEAD")["Total-Records"] and not ask(port, records)["Total-Records"]
    return {REVALIDATION: f"{again.status}; {weak.status} to its tag with `W/`", COVERS: covered(first),
            WRITE: f"{refused.status}" + ", with the present record" * present,
            LISTS: "`Next-Page`" + (", another one each time" if None not in pages and pages[0] != pages[1] else "")
            + ("; totals only in a `HEAD`" if alone else ""),
            "sentence": "`Idempotency-Key`: Kinto "
            + ("ignores it. Two POSTs under one key make two records." if twice[0] != twice[1] else "respects it.")}


def http_server(place, port, folder, version):
    place.start(port, sys.executable, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", folder_of_files(place))
    first, again = revalidated(port, "/note.json")
    return {REVALIDATION: str(again.status) + ", by date" * (first["ETag"] is None), COVERS: covered(first)}


def radicale(place, port, folder, version):
    place.start(port, place.pip, "-m", "radicale", "--server-hosts", f"127.0.0.1:{port}", "--auth-type", "none",
                "--storage-filesystem-folder", place.root / "radicale", "--config", "", PYTHONPATH=str(folder))
    user = {"Authorization": "Basic " + base64.b64encode(b"reader:").decode()}
    event = ("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:notes\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20261128T000000Z\r\n"
             f"DTSTART:20261128T000000Z\r\nSUMMARY:{'One ' * 200}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n").encode()
    ask(port, "/reader/", "MKCOL", **user)
    ask(port, "/reader/calendar/", "MKCALENDAR", **user)
    one = "/reader/calendar/1.ics"
    ask(port, one, "PUT", event, Content_Type="text/calendar", **user)
    first, again = revalidated(port, one, **user)
    coded, whole = ask(port, one, Accept_Encoding="gzip", **user), ask(port, "/reader/calendar/", **user)
    kinds = {covered(first), covered(whole)}
    return {REVALIDATION: str(again.status), COVERS: f"the item or the collection, as {' and '.join(kinds)}",
            CODED: tag_of_coded(first, coded),
            WRITE: guarded(lambda tag: ask(port, one, "PUT", event, If_Match=tag, Content_Type="text/calendar", **user))}


def starlette(place, port, folder, version):
    place.application(folder, "starlette_files.py", port, folder_of_files(place))
    plain, coded = ask(port, "/note.json"), ask(port, "/note.json", Accept_Encoding="gzip")
    return {REVALIDATION: status(revalidated(port, "/note.json")), COVERS: covered(plain), CODED: tag_of_coded(plain, coded)}


def werkzeug(place, port, folder, version):
    place.application(folder, "werkzeug_files.py", port, folder_of_files(place))
    answers = revalidated(port, "/note.json")
    return {REVALIDATION: status(answers), COVERS: covered(answers[0])}


def wsgidav(place, port, folder, version):
    place.application(folder, "wsgidav_files.py", port, folder_of_files(place))
    first, again = revalidated(port, "/note.json")
    dated = ask(port, "/note.json", If_Modified_Since=first["Last-Modified"])
    return {REVALIDATION: f"{again.status} by tag; {dated.status} by the `Last-Modified` that it gave"}


def litestar(place, port, folder, version):
    place.application(folder, "litestar_notes.py", port, folder_of_files(place))
    plain, coded = ask(port, "/note.json"), ask(port, "/note.json", Accept_Encoding="gzip")
    answer = ask(port, "/notes?limit=2&offset=0")
    page = json.loads(answer.body)
    totals = "the total in the body" if page.get("total") == 4 else "no total in the body"
    linked = answer["Link"] is not None or any("next" in name for name in page)
    return {REVALIDATION: status(revalidated(port, "/note.json")), COVERS: covered(plain), CODED: tag_of_coded(plain, coded),
            WRITE: guarded(lambda tag: ask(port, "/one", "PUT", b'{"title": "Two"}', If_Match=tag, **JSON)),
            LISTS: f"{totals}, {'links' if linked else 'no links'}"}


def sanic(place, port, folder, version):
    place.application(folder, "sanic_unchanged.py", port, folder_of_files(place))
    first, again = revalidated(port, "/note.json")
    return {REVALIDATION: str(again.status) + ", by date" * (first["ETag"] is None), COVERS: covered(first),
            CODED: tag_of_coded(first, ask(port, "/note.json", Accept_Encoding="gzip"))}


def pygeoapi(place, port, folder, version):
    data, settings, described = (place.root / f"pygeoapi.{end}" for end in ("geojson", "yml", "openapi.yml"))
    data.write_text(json.dumps({"type": "FeatureCollection", "features": [
        {"type": "Feature", "id": str(number), "properties": {}, "geometry": {"type": "Point", "coordinates": [0, number]}}
        for number in range(3)]}))
    settings.write_text(GEOGRAPHY % {"port": port, "data": data})
    environment = {"PYTHONPATH": str(folder), "PYGEOAPI_CONFIG": str(settings), "PYGEOAPI_OPENAPI": str(described)}
    command = (place.pip, "-c", "from pygeoapi import cli; cli()")
    place.run(*command, "openapi", "generate", settings, "--output-file", described, **environment)
    place.start(port, *command, "serve", wait=60, **environment)
    items = "/collections/points/items"
    answer = ask(port, f"{items}?limit=1&f=json&lang=fr-CA")
    kinds = {ask(port, items, Accept=kind)["Content-Type"] for kind in ("text/html", "application/json")}
    languages = {ask(port, items, Accept_Language=language)["Content-Language"] for language in ("en-US", "fr-CA")}
    negotiated = " and ".join(["language"] * (len(languages) == 2) + ["format"] * (len(kinds) == 2))
    following = next(link["href"] for link in json.loads(answer.body)["links"] if link["rel"] == "next")
    lost = " and ".join(f"`{name}=`" for name in ("f", "lang") if f"{name}=" not in following)
    return {COVERS: covered(answer) + (f"; no `Vary` either, though it negotiates {negotiated}" if not answer["Vary"] else "; `Vary`"),
            LISTS: f"a next link without the {lost} of the request" if lost else "a next link"}


def prefect(place, port, folder, version):
    place.start(port, place.pip, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", port, "--no-services", wait=90,
                PYTHONPATH=str(folder), PREFECT_HOME=str(place.root / "prefect"), PREFECT_SERVER_ANALYTICS_ENABLED="false")
    for name in ("One", "Two"):
        ask(port, "/api/flows/", "POST", json.dumps({"name": name}).encode(), **JSON)
    pages = [json.loads(ask(port, "/api/flows/filter", "POST", json.dumps({"limit": 1, "offset": offset}).encode(), **JSON).body)
             for offset in range(3)]
    turned = [len(page) for page in pages] == [1, 1, 0] and pages[0] != pages[1]
    return {LISTS: "an offset in the body of a `POST`" if turned else "no offset in the body of a `POST`"}


GEOGRAPHY = """
server:
  bind: {host: 127.0.0.1, port: %(port)d}
  url: http://127.0.0.1:%(port)d
  mimetype: application/json; charset=UTF-8
  encoding: utf-8
  languages: [en-US, fr-CA]
  limits: {default_items: 10, max_items: 10}
  map: {url: 'https://example.org/{z}/{x}/{y}.png', attribution: none}
logging: {level: ERROR}
metadata:
  identification: {title: Points, description: Points, keywords: [points], keywords_type: theme,
    terms_of_service: none, url: 'https://example.org'}
  license: {name: none, url: 'https://example.org'}
  provider: {name: none, url: 'https://example.org'}
  contact: {name: none}
resources:
  points:
    type: collection
    title: Points
    description: Points
    keywords: [points]
    extents: {spatial: {bbox: [-180, -90, 180, 90]}}
    providers: [{type: feature, name: GeoJSON, data: '%(data)s', id_field: id}]
"""


def without_body(place, port, folder, version):
    """FastAPI and Sanic, each of which the guide names in one sentence."""
    answer = ask(port, "/unchanged")
    return answer.status == 304 and not answer.body and answer["Content-Length"] in (None, "0")
