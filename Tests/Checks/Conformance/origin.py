"""The server behind the cache: it answers the requests of each test as the test says."""

import asyncio
import time

from exchange import date, read_body, read_head

DATES = {"date", "expires", "last-modified", "if-modified-since", "if-unmodified-since"}


def fixed(field, request, base, now):
    """A field of a test, with dates and locations in place of what stands for them."""
    name, value = field[0], field[1]
    if name.lower() in DATES and isinstance(value, int):
        return name, date(now + value, name.lower() in request.get("rfc850date", []))
    if name.lower() in ("location", "content-location") and request.get("magic_locations"):
        return name, f"{base}/{value}" if value else base
    return name, str(value)


class Origin:
    """The tests by the number in their URL, and the requests that have arrived for each."""

    def __init__(self):
        self.tests, self.seen = {}, {}

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=2048)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            request = await read_head(reader)
            request.body = await read_body(reader, request, False)
            await self.answer(request, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, request, writer):
        method, target, _ = request.line.split(" ")
        name = target.split("?")[0].split("/")[2] if target.startswith("/test/") else None
        number = request.number("req-num")
        if name not in self.tests or not number or number > len(self.tests[name]["requests"]):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        requests = self.tests[name]["requests"]
        told = requests[number - 1]
        await asyncio.sleep(told.get("response_pause", 0))
        for status, *fields in told.get("interim_responses", []):
            lines = [f"HTTP/1.1 {status} Interim"] + [f"{key}: {value}" for key, value in (fields or [[]])[0]]
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        seen = self.seen.setdefault(name, [])
        now = int(time.time() * 1000)
        fields = [("Server-Base-Url", target), ("Server-Request-Count", len(seen) + 1),
                  ("Client-Request-Count", number), ("Server-Now", now)]
        own = [(fixed(field, told, target, now / 1000), field) for field in told.get("response_headers", [])]
        fields += [field for field, _ in own]
        kept = {}
        for (key, _), field in own:
            if len(field) < 3 or field[2] is True:
                kept[key] = ", ".join(value for other, value in fields if other.lower() == key.lower())
        told["sent"] = [field for field, _ in own]
        seen.append({"number": number, "method": method, "request": request, "kept": kept})
        if told.get("disconnect"):
            return
        status, words = self.status(told, requests[number - 2] if number > 1 else {}, request)
        names = {key.lower() for key, _ in fields}
        if "content-type" not in names:
            fields.append(("Content-Type", "text/plain"))
        fields.append(("Request-Numbers", " ".join(str(each["number"]) for each in seen)))
        if "date" not in names:
            fields.append(("Date", date(now / 1000)))
        body = b""
        if status not in (204, 304) and method != "HEAD":
            body = (told.get("response_body") or name).encode()
            if not names & {"content-length", "transfer-encoding"}:
                fields.append(("Content-Length", len(body)))
        if "connection" not in names:
            fields.append(("Connection", "close"))
        lines = [f"HTTP/1.1 {status} {words}"] + [f"{key}: {value}" for key, value in fields]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)

    @staticmethod
    def status(told, before, request):
        """The status that is told, or 304 where the test wants a condition; 999 where that is not there."""
        if not told.get("expected_type", "").endswith("validated"):
            return told.get("response_status") or [200, "OK"]
        # The request before may have been answered from the cache.
        sent = {name.lower(): value for name, value, *_ in before.get("sent") or before.get("response_headers", [])}
        for name, condition in {"last-modified": "if-modified-since", "etag": "if-none-match"}.items():
            if name in sent and request.get(condition) == sent[name]:
                return [304, "Not Modified"]
        return [999, "304 Not Generated"]
