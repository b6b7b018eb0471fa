"""Requests that carry nothing but what they say, and the phrases of the guide for what comes back."""

import hashlib
import http.client
import re
import time


class Answer:
    def __init__(self, response):
        self.status, self.fields, self.body = response.status, response.getheaders(), response.read()

    def __getitem__(self, name):
        found = [value for field, value in self.fields if field.lower() == name.lower()]
        return ", ".join(found) if found else None


def ask(port, target, method="GET", body=None, host="127.0.0.1", **fields):
    """Sends one request on a connection of its own. `If_None_Match="…"` is that field."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", f"{host}:{port}")
        for name, value in fields.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def revalidated(port, target, **fields):
    """The answer to a request with the validators of the one before it."""
    first = ask(port, target, **fields)
    known = {"If_None_Match": first["ETag"], "If_Modified_Since": None if first["ETag"] else first["Last-Modified"]}
    return first, ask(port, target, **fields, **{name: value for name, value in known.items() if value})


def covered(answer):
    """What an ETag is made of, by its look and by the body that it came with."""
    tag = answer["ETag"]
    if tag is None:
        return "none"
    inner = tag.removeprefix("W/").strip('"')
    if inner == hashlib.md5(answer.body).hexdigest():
        return "only the body, as MD5"
    parts = re.split("-", inner)
    if len(parts) == 2 and all(re.fullmatch("[0-9a-f]+", part) for part in parts) and int(parts[1], 16) == len(answer.body):
        return "time and size"
    if len(parts) == 3 and re.fullmatch(r"[\d.]+", parts[0]) and parts[1] == str(len(answer.body)):
        return "time, size and a checksum"
    if re.fullmatch(r"\d{13}", inner) and abs(int(inner) / 1000 - time.time()) < 600:
        return "the time of the last change"
    lengths = {32: "MD5", 40: "SHA-1", 64: "SHA-256"}
    return lengths.get(len(inner), "something") if re.fullmatch("[0-9a-f]+", inner) else "something"


def tag_of_coded(plain, coded):
    """What compression does to a tag."""
    if coded["Content-Encoding"] != "gzip":
        return "not compressed"
    if coded["ETag"] == plain["ETag"]:
        return "the same tag" if coded["Vary"] else "the same tag, without `Vary`"
    return "weak" if coded["ETag"] == f"W/{plain['ETag']}" else f"another tag, {coded['ETag']}"


def guarded(write):
    """What becomes of a write with an If-Match that nothing has: `write` sends it."""
    answer = write('"never"')
    return "ignored" if answer.status < 300 else str(answer.status)
