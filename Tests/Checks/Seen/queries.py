"""What the guide Searches with a body says of servers that take a QUERY, and of caches before them, asked with our command.

The command is the one that REACTOR names, or the release build of Tools. Each server counts what arrives.
"""

import json
import os
import pathlib
import shutil
import subprocess
import time

from caches import CACHES
from client import ask as send
from guide import ROOT, Guide
from workplace import HERE, Skipped, free_port

PAGE = ROOT / "Sources/ReactorCore/ReactorCore.docc/SearchesWithABody.md"
HEADING = "Servers that were asked"
ALONE, FETCH, PROXY, STALE, REFUSED = ((HEADING, name) for name in (
    "sent twice", "`reactor fetch`", "`reactor proxy`", "a stale response", "a route for `GET` alone"))
KIND = "application/json"
BERN, BASEL = '{"city":"Bern"}', '{"city":"Basel"}'


def command():
    """Our command, or none."""
    named = os.environ.get("REACTOR")
    path = pathlib.Path(named).resolve() if named else ROOT / "Tools/.build/release/reactor"
    return path if os.access(path, os.X_OK) and path.is_file() else None


class Asker:
    """Sends the same questions by a function, and looks at what arrived at the origin."""

    def __init__(self, origin, ask):
        self.origin, self.ask = origin, ask
        self.arrived()

    def arrived(self):
        return json.loads(send(self.origin, "/arrived").body)

    def twice(self, target, body):
        """The number of requests that two equal questions cost, where both were answered alike."""
        answers = [self.ask(target, "QUERY", body) for _ in range(2)]
        requests = self.arrived()
        wrong = [answer for answer in answers if answer.get("method") != "QUERY"] + [each for each in requests if each["body"] != body]
        if wrong or (len(requests) == 1 and answers[0] != answers[1]):
            return f"the wrong answer: {wrong or answers}"
        return "2 requests" if len(requests) == 2 else "1 request" if len(requests) == 1 else f"{len(requests)} requests"

    def apart(self, target):
        """Whether another body and a GET are asked for, and leave the first response as it was."""
        stored = self.ask(target, "QUERY", BERN)
        others = [self.ask(target, "QUERY", BASEL), self.ask(target, "GET", None)]
        methods = [each["method"] for each in self.arrived()]
        same = [self.ask(target, "QUERY", BERN), self.ask(target, "QUERY", BASEL), self.ask(target, "GET", None)] == [stored, *others]
        kept = same and not self.arrived()
        return kept and methods == ["QUERY", "QUERY", "GET"] and [each.get("method") for each in (stored, *others)] == methods

    def after_its_life(self, target, stored):
        """What the origin gets for a stale response, and what comes of it."""
        answer, requests = self.ask(target, "QUERY", BERN), self.arrived()
        if len(requests) != 1 or not requests[0]["known"] or requests[0]["body"] != BERN:
            return f"not validated: {requests}"
        return "validated with its `ETag`" if answer == stored else f"validated, and not used: {answer} for {stored}"


def fetching(place, reactor, port):
    """Our command with a store of its own."""
    store = place.root / f"query-store-{port}"

    def ask(target, method, body):
        ended = fetched(place, reactor, port, target, method, body, "--store", store)
        return json.loads(ended.stdout) if ended.returncode == 0 else {"error": ended.stderr.strip()}
    return ask


def fetched(place, reactor, port, target, method, body, *options):
    sent = [] if body is None else ["--body", body, "--header", f"Content-Type: {KIND}"]
    words = [reactor, "fetch", "--method", method, *sent, *options, f"http://127.0.0.1:{port}{target}"]
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=20, env=place.environment())


def sending(port):
    """Plain requests, each on a connection of its own."""
    def ask(target, method, body):
        fields = {} if body is None else {"Content_Type": KIND}
        answer = send(port, target, method, None if body is None else body.encode(), **fields)
        return json.loads(answer.body) if answer.status == 200 else {"error": answer.status}
    return ask


def ask_server(place, reactor, port, origin):
    """The cells of the server that listens on a port, whose origin counts: often the server itself."""
    through = free_port()
    place.start(through, reactor, "proxy", "--listen", f"127.0.0.1:{through}", "--upstream", f"http://127.0.0.1:{port}")
    alone, ours = Asker(origin, sending(port)), [Asker(origin, fetching(place, reactor, port)), Asker(origin, sending(through))]
    # A cache that has the GET must not answer the QUERY with it.
    alone.ask("/search?by=itself", "GET", None)
    alone.arrived()
    seen = {ALONE: alone.twice("/search?by=itself", BERN)}
    for place_of_cell, asker in zip((FETCH, PROXY), ours):
        seen[place_of_cell] = asker.twice("/search", BERN)
    # Each has a URL of its own, since a cache before the origin may have the GET of the other.
    apart = all([asker.apart(f"/search?of={number}") for number, asker in enumerate(ours)])
    stored = [asker.ask("/search?life=1", "QUERY", BERN) for asker in ours]
    ours[0].arrived()
    time.sleep(2.1)
    words = {asker.after_its_life("/search?life=1", first) for asker, first in zip(ours, stored)}
    plain = send(port, "/plain", "QUERY", BERN.encode(), Content_Type=KIND)
    through_proxy = send(through, "/plain", "QUERY", BERN.encode(), Content_Type=KIND)
    same = (plain.status, plain["Allow"]) == (through_proxy.status, through_proxy["Allow"])
    failed = fetched(place, reactor, port, "/plain", "QUERY", BERN)
    said = failed.stderr.partition("\n")[0].split(": ")[-1]
    return seen | {
        STALE: " or ".join(sorted(words)),
        REFUSED: f"{plain.status}, `Allow: {plain['Allow']}`" + ("" if same else f"; {through_proxy.status} through the proxy"),
        "apart": f"Another body and a `GET` of the same URL {'are asked for, and stored apart' if apart else 'are mixed up'}.",
        "failed": f"There, `reactor fetch` exits with {failed.returncode}: *{said}*."}


def start_fastapi(place, port, guide):
    needed = (f"fastapi=={guide.versions('FastAPI')[0]}", "uvicorn==0.54.0")
    place.application(place.python("".join(needed).replace("=", ""), *needed), "query_fastapi.py", port)


def start_aiohttp(place, port, guide):
    needed = f"aiohttp=={guide.versions('aiohttp')[0]}"
    place.application(place.python(needed.replace("=", ""), needed), "query_aiohttp.py", port)


def node(place):
    """The one of this machine, or Debian's."""
    return shutil.which("node") or place.debian("nodejs") / "usr/bin/node"


def start_node(place, port, _):
    place.start(port, node(place), HERE / "apps/query_node.mjs", port, **place.libraries())


SERVERS = (("aiohttp", start_aiohttp), ("FastAPI", start_fastapi), ("Node", start_node))


def ask(report, wanted, ask_row):
    if not wanted("QUERY"):
        return
    reactor = command()
    if reactor is None:
        return report.skip("QUERY", "there is no command: name it in REACTOR, or build the release of Tools")
    others, report.guide = report.guide, Guide(PAGE.read_text())
    guide = report.guide
    print("QUERY, with the command that says", subprocess.run([reactor, "--version"], capture_output=True, text=True).stdout.strip())

    def behind(place, start):
        origin, port = free_port(), free_port()
        start_fastapi(place, origin, guide)
        start(place, port, origin)
        return ask_server(place, reactor, port, origin)

    def itself(place, start):
        port = free_port()
        start(place, port, guide)
        return ask_server(place, reactor, port, port)

    for name, start in SERVERS:
        version = (guide.versions(name) or [""])[0] if name != "Node" else node_version(report.place)
        ask_row(report, name, version, lambda place: itself(place, start), HEADING)
    for name, package, start in CACHES:
        # Behind Traffic Server, one in eight of the 405 is a 400 of uvicorn's instead, which no cell can say.
        if name != "Traffic Server":
            ask_row(report, name, package, lambda place: behind(place, start), HEADING)
    report.guide = others


def node_version(place):
    try:
        return place.run(node(place), "--version", **place.libraries()).strip().removeprefix("v")
    except Skipped:
        return ""
