"""Runs the exchanges of the table of caches in Rules.md through the libraries of PyPI that it names, and compares the cells."""

import json
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from exchanges import exchanges
from guide import ROOT
from workplace import HERE, Skipped

PAGE = ROOT / "Sources/HTTPCachingProxy/HTTPCachingProxy.docc/Rules.md"
HEADING = "Other caches beside this one"
# Beside the version that the table names, what a library sends with.
BESIDE = {"hishel": ["httpx==0.28.1"], "CacheControl": ["requests==2.34.2"], "requests-cache": ["requests==2.34.2"],
          "aiohttp-client-cache": ["aiohttp==3.14.5"], "httplib2": [], "httpx-cache": ["httpx==0.27.2"]}
# What the decisions of the other tables are called in this one.
OWN = {"yes": "use", "no": "ask"}


def parts(text):
    first, *fields = text.split("; ")
    return first, [tuple(field.split(": ", 1)) for field in fields]


class Origin(ThreadingHTTPServer):
    """Answers as the step under way says, and notes what arrives."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.arrived, self.number = "200", [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def any_method(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self.server
        server.arrived.append(self.headers)
        status, fields = parts(server.answer)
        conditional = "If-None-Match" in self.headers or "If-Modified-Since" in self.headers
        # A 304 for the validator of the answer itself: what the last step of most exchanges asks for.
        tag = dict(fields).get("ETag")
        if status == "200" and tag and self.headers.get("If-None-Match") == tag:
            status = "304"
        if status == "304" and not conditional:
            status = "200"
        server.number += 1
        body = b"" if status in ("204", "304") else b"body %d" % server.number
        self.send_response_only(int(status))
        for name, value in fields if "Date" in dict(fields) else [*fields, ("Date", self.date_time_string())]:
            self.send_header(name, value)
        if status not in ("204", "304"):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = any_method

    def log_message(self, *_):
        pass


class Library:
    """One library in a process of its own."""

    def __init__(self, place, name, version):
        folder = place.python(f"{name}-{version}", f"{name}=={version}", *BESIDE[name])
        scratch = place.root / f"cache-{name}"
        scratch.mkdir()
        self.process = subprocess.Popen(
            [place.pip, "-W", "ignore", HERE / "apps/cache_client.py", name, scratch], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, cwd=scratch, env=place.environment(PYTHONPATH=str(folder)), start_new_session=True)
        place.processes.append(self.process)

    def send(self, method, url, headers, body):
        line = json.dumps({"method": method, "url": url, "headers": headers, "body": body})
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            raise Skipped("the library does not start here") from None


def outcome(library, origin, url, steps):
    """The word for what the last step of an exchange gets."""
    stored = None
    for step in steps:
        time.sleep(step.wait)
        origin.answer, origin.arrived = step.answer, []
        method, fields = parts(step.request)
        answer = library.send(method, url, dict(fields), None if method in ("GET", "HEAD") else "change")
        if step is not steps[-1] and method == "GET" and "body" in answer:
            stored = answer["body"]
    if "error" in answer:
        return "error"
    return word(answer, stored, origin)


def word(answer, stored, origin):
    asked = list(origin.arrived)
    if len(asked) > 1:
        return "asked again"
    if not asked:
        time.sleep(0.3)
        if origin.arrived:
            return "revalidate"
        return str(answer["status"]) if answer["status"] in (206, 304, 504) else "use"
    conditional = "If-None-Match" in asked[0] or "If-Modified-Since" in asked[0]
    if answer["body"] == stored and origin.answer.startswith("503"):
        return "use"
    if conditional and answer["body"] == stored and 'ETag: "b"' in origin.answer:
        return "confirmed"
    return "validate" if conditional else "ask"


def table(text):
    """The rows of the table by their first cell, and the versions of its libraries by their column."""
    lines = text.split(f"## {HEADING}\n")[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    versions = dict(column.rsplit(" ", 1) for column in rows[0][3:])
    return versions, {row[0]: row[1:] for row in rows[2:]}


def own_rules(text):
    """The decisions of the other tables, which run as tests, by section and rule, in the words of this one."""
    found, columns = {}, []
    for line in text.split(f"## {HEADING}\n")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif len(cells) == len(columns) > 2:
            found.setdefault(f"{cells[0]}: {cells[1]}", []).append(own_decision(columns, cells))
    return found


def own_decision(columns, cells):
    """What a row decides, by the last column of its table."""
    last, value = columns[-1], cells[-1]
    if last == "Stale":
        return "ask" if value else "use"
    if last == "Then":
        return value if value == "asked again" else "use"
    if last == "Body":
        return cells[-2].strip("`")[:3]
    return OWN.get(cells[-2] if last == "Always" else value, value)


def ask_library(report, name, version, rows):
    library, origin, index = Library(report.place, name, version), Origin(), list(rows)
    print(f"{name} {version}")
    try:
        for number, (exchange, steps) in enumerate(exchanges().items()):
            if exchange not in rows:
                report.compare(f"{exchange}: ", "no row of Rules.md", "an exchange")
                continue
            url = f"http://127.0.0.1:{origin.server_port}/{number}"
            cell = rows[exchange][2 + list(report.columns).index(name)]
            report.compare(f"{exchange}: ", cell, outcome(library, origin, url, steps))
        for exchange in set(index) - set(exchanges()):
            report.compare(f"{exchange}: ", "an exchange", "no exchange of exchanges.py")
    finally:
        origin.shutdown()
        origin.server_close()
        report.place.end(library.process)


def ask(report, wanted):
    text = PAGE.read_text()
    report.columns, rows = table(text)
    rules = own_rules(text)
    print("This library, whose tests run the rows that are named")
    for exchange, (rule, decision, *_) in rows.items():
        report.compare(f"{exchange}: ", decision, decision if decision in rules.get(rule, []) else f"not so by {rule}: {rules.get(rule)}")
    for name, version in report.columns.items():
        if not wanted(name):
            continue
        try:
            ask_library(report, name, version, rows)
        except Skipped as reason:
            report.skip(name, reason)
