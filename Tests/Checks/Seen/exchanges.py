"""The exchanges of the table of caches in Rules.md: what the origin answers, and what a client sends, in this order.

A step is the fields of a request, the answer of the origin to it if it is asked, and seconds to wait before. The words for the
last step are those of the other tables of Rules.md.
"""

from dataclasses import dataclass, field
from email.utils import formatdate
import time

TAG = 'ETag: "a"'


def date(seconds):
    return formatdate(time.time() + seconds, usegmt=True)


@dataclass
class Step:
    answer: str = "200"
    request: str = "GET"
    wait: float = 0


@dataclass
class Exchange:
    name: str
    steps: list = field(default_factory=list)


def twice(answer, request="GET", wait=0.0, then=None):
    """An answer, and the same request again, or another one."""
    return [Step(answer), Step(then or answer, request, wait)]


def changed(method, status="200"):
    """A fresh answer, a change of the same URL, and a read."""
    return [Step("200; Cache-Control: max-age=60"), Step(status, method), Step("200; Cache-Control: max-age=60")]


def exchanges():
    """The first member of each is the first cell of its row."""
    fresh = "200; Cache-Control: max-age=60"
    stale = f"200; Cache-Control: max-age=1; {TAG}"
    return dict([
        ("`max-age=60`, at once", twice(fresh)),
        ("`max-age=1` and a tag, after 2 s", twice(stale, wait=2)),
        ("`Last-Modified` of ten days ago alone", twice(f"200; Last-Modified: {date(-864000)}")),
        ("`no-cache` and a tag", twice(f"200; Cache-Control: no-cache; {TAG}")),
        ("`max-age=60`, `Age: 70` and a tag", twice(f"200; Cache-Control: max-age=60; Age: 70; {TAG}")),
        ("`Expires: 0` and a tag", twice(f"200; Expires: 0; {TAG}")),
        ("`max-age=\"60\"`", twice('200; Cache-Control: max-age="60"')),
        ("`max-age=60, max-age=0`", twice("200; Cache-Control: max-age=60, max-age=0")),
        ("`max-age` of twenty nines", twice("200; Cache-Control: max-age=99999999999999999999")),
        ("`Expires` as *Thursday, 18-Aug-50 …*", twice(f"200; Expires: Thursday, 18-Aug-50 02:01:18 GMT")),
        ("`max-age=60` in one line, `no-store` in the next", twice("200; Cache-Control: max-age=60; Cache-Control: no-store")),
        ("`private, max-age=60`", twice("200; Cache-Control: private, max-age=60")),
        ("a 404 with `max-age=60`", twice("404; Cache-Control: max-age=60")),
        ("`Vary: Accept-Language`, then another language", [
            Step("200; Cache-Control: max-age=60; Vary: Accept-Language", "GET; Accept-Language: en"),
            Step("200; Cache-Control: max-age=60; Vary: Accept-Language", "GET; Accept-Language: de")]),
        ("`Vary: *`", twice("200; Cache-Control: max-age=60; Vary: *")),
        ("the request has `no-cache`, and a tag is stored", twice(f"{fresh}; {TAG}", "GET; Cache-Control: no-cache")),
        ("the request has `max-stale`, after 2 s of `max-age=1`", twice(stale, "GET; Cache-Control: max-stale", 2)),
        ("the request has `only-if-cached`, and nothing is stored", [Step(fresh, "GET; Cache-Control: only-if-cached")]),
        ("`stale-while-revalidate=60`, stale", twice(f"200; Cache-Control: max-age=1, stale-while-revalidate=60; {TAG}", wait=2)),
        ("`stale-if-error=60`, stale, then a 503", twice("200; Cache-Control: max-age=1, stale-if-error=60", wait=2, then="503")),
        ("a 304 with `max-age=60` for a stale one, then again", [
            Step(stale), Step(f"304; Cache-Control: max-age=60; {TAG}", wait=2), Step(fresh)]),
        ("a 304 with another tag", twice(stale, wait=2, then='304; ETag: "b"')),
        ("a read after `POST`, 200", changed("POST")),
        ("…after `PATCH`, 200", changed("PATCH")),
        ("…after `DELETE`, 204", changed("DELETE", "204")),
        ("…after `POST`, 500", changed("POST", "500")),
        ("`HEAD` of a fresh one", twice(fresh, "HEAD")),
        ("a part of a fresh one (`Range`)", twice(fresh, "GET; Range: bytes=0-1")),
    ])
