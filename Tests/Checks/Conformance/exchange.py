"""HTTP/1.1 messages over asyncio, as they stand on the wire."""

import asyncio
from email.utils import formatdate
import time

PATIENCE = 20


class Message:
    """A request or a response: its first line, its fields in order, and its body."""

    def __init__(self, line, fields, body=b""):
        self.line, self.fields, self.body = line, fields, body

    @property
    def status(self):
        return int(self.line.split(" ", 2)[1])

    def get(self, name):
        """The values of a field as one, joined as a cache may join them; None without the field."""
        values = [value for field, value in self.fields if field.lower() == name.lower()]
        return ", ".join(values) if values else None

    def number(self, name):
        """The number that a field is, or None."""
        text = (self.get(name) or "").split(",")[0].strip()
        return int(text) if text.isdigit() else None


async def read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = [line.split(":", 1) for line in head[1:] if ":" in line]
    return Message(head[0], [(name, value.strip()) for name, value in fields])


async def read_body(reader, message, without_length):
    """Reads a body: in chunks, of a length, or else to the end if `without_length` says so."""
    if (message.get("transfer-encoding") or "").lower() == "chunked":
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await reader.readexactly(size + 2))[:-2]
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return body
    length = message.number("content-length")
    if length is not None:
        return await reader.readexactly(length)
    return await reader.read() if without_length else b""


async def send(port, method, path, fields, body=None):
    """Sends one request on a connection of its own. Returns the interim responses and the final one."""
    return await asyncio.wait_for(exchange(port, method, path, fields, body), PATIENCE)


async def exchange(port, method, path, fields, body):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in fields]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b""))
        await writer.drain()
        interim = []
        while (head := await read_head(reader)).status < 200:
            interim.append(head)
        if method != "HEAD" and head.status not in (204, 304):
            head.body = await read_body(reader, head, True)
        return interim, head
    finally:
        writer.close()


def date(seconds, rfc850=False):
    """A time as a field says it, or in the obsolete form of RFC 850."""
    if not rfc850:
        return formatdate(seconds, usegmt=True)
    parts = time.gmtime(seconds)
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    return (f"{days[parts.tm_wday]}, {parts.tm_mday:02}-{months[parts.tm_mon - 1]}-{parts.tm_year % 100:02} "
            f"{parts.tm_hour:02}:{parts.tm_min:02}:{parts.tm_sec:02} GMT")
