"""The parts of the load test: the server behind the proxies, its clients, and the processes."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def read_head(reader):
    """Returns the first line and the fields of a message; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name:
            fields[name.strip().lower()] = value.strip()
    return lines[0], fields


class Origin:
    """A server whose resources have versions. It notes each request with its time."""

    def __init__(self):
        self.versions = {}
        self.requests = []  # (time, method, path, port of the client)
        self.is_down = False
        self.delay = 0.0
        self.arrivals = asyncio.Condition()

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]

    def count(self, path, since=0.0):
        return sum(1 for at, _, asked, _ in self.requests if asked == path and at >= since)

    async def serve(self, reader, writer):
        peer = writer.get_extra_info("peername")[1]
        try:
            while (head := await read_head(reader)) is not None:
                line, fields = head
                method, path, _ = line.split(" ")
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                self.requests.append((time.monotonic(), method, path, peer))
                async with self.arrivals:
                    self.arrivals.notify_all()
                status, own, answer = await self.answer(method, path, fields, body)
                text = f"HTTP/1.1 {status}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in own.items())
                if status[:3] not in ("204", "304"):
                    text += f"Content-Length: {len(answer)}\r\n"
                writer.write(text.encode() + b"\r\n" + answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, method, path, fields, body):
        if self.is_down:
            return "503 Service Unavailable", {}, b""
        kind = path.split("/")[1]
        if kind == "secret":
            return "200 OK", {"Cache-Control": "max-age=600"}, b"SECRET-OF-ONE-USER"
        if method == "PUT":
            self.versions[path] = self.versions.get(path, 0) + 1
            return "200 OK", {}, str(self.versions[path]).encode()
        # The version when the request arrives: an answer from before a change may come after it.
        version = self.versions.get(path, 0)
        if self.delay or kind == "slow":
            await asyncio.sleep(self.delay or 0.5)
        lasts = "max-age=1, stale-if-error=60" if kind == "short" else "max-age=600"
        own = {"ETag": f'"{version}"', "Cache-Control": lasts, "Content-Type": "text/plain"}
        if fields.get("if-none-match") == own["ETag"]:
            return "304 Not Modified", own, b""
        return "200 OK", own, str(version).encode() + b" " + b"x" * 1000


class Answer:
    def __init__(self, status, fields, body, start):
        self.status, self.fields, self.body = status, fields, body
        self.start, self.end = start, time.monotonic()

    @property
    def seconds(self):
        return self.end - self.start

    @property
    def version(self):
        return int(self.body.split(b" ")[0]) if self.status == 200 else None

    @property
    def is_stand_in(self):
        """A stale response that stands in for one that the server did not give."""
        return "ttl=-" in self.fields.get("cache-status", "")


class Client:
    """A client with one connection."""

    def __init__(self, port):
        self.port, self.connection = port, None

    async def send(self, method, path, limit=30, **fields):
        start = time.monotonic()
        try:
            return await asyncio.wait_for(self.exchange(method, path, fields, start), limit)
        except (ConnectionError, OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, EOFError):
            self.close()
            return Answer(0, {}, b"", start)

    async def exchange(self, method, path, fields, start):
        if self.connection is None:
            self.connection = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.connection
        fields = {"Host": f"127.0.0.1:{self.port}", **fields}
        if method != "GET":
            fields["Content-Length"] = "0"
        text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())
        writer.write(text.encode() + b"\r\n")
        head = await read_head(reader)
        if head is None:
            raise EOFError
        line, answer = head
        if not line.startswith("HTTP/1.1 "):
            raise SystemExit(f"error: an answer to {method} {path} begins with {line!r}")
        if answer.get("transfer-encoding") == "chunked":
            body = b""
            while length := int((await reader.readline()).split(b";")[0], 16):
                body += (await reader.readexactly(length + 2))[:-2]
            await reader.readline()
        else:
            body = await reader.readexactly(int(answer.get("content-length", 0)))
        return Answer(int(line.split(" ")[1]), answer, body, start)

    def close(self):
        if self.connection:
            self.connection[1].close()
        self.connection = None


class Relay:
    """A connection to a server that can be cut: nothing arrives any more, and nobody is told. Its target may move."""

    def __init__(self, port):
        self.target, self.is_cut = port, False
        self.feeds, self.silent = set(), set()

    async def start(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    def silence(self):
        """Lets the present connections for messages carry nothing any more."""
        self.silent |= self.feeds

    async def serve(self, reader, writer):
        try:
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return writer.close()
        name = object()
        await asyncio.gather(self.copy(reader, other_writer, name), self.copy(other_reader, writer, name))
        self.feeds.discard(name)

    async def copy(self, reader, writer, name):
        try:
            while data := await reader.read(65536):
                if b"SUBSCRIBE" in data:
                    self.feeds.add(name)
                if not self.is_cut and name not in self.silent:
                    writer.write(data)
                    await writer.drain()
        except ConnectionError:
            pass
        writer.close()


class Redis:
    def __init__(self, save=False):
        self.port, self.save = free_port(), save
        self.directory = tempfile.mkdtemp(prefix="load-")
        self.start()

    def start(self):
        words = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", ""]
        words += ["--appendonly", "yes" if self.save else "no"]
        self.process = subprocess.Popen(words + ["--dir", self.directory], stdout=subprocess.DEVNULL)

    def call(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, timeout=20)
        return done.stdout

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        self.signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def end(self):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class Proxy:
    def __init__(self, program, origin, redis_port=None):
        self.program, self.origin, self.redis_port = program, origin, redis_port
        self.port = free_port()
        self.start()

    def start(self):
        words = [self.program, "proxy", "--listen", f"127.0.0.1:{self.port}", "--cache-status", "load", "--no-stale-on-disconnect"]
        words += ["--upstream", f"http://127.0.0.1:{self.origin.port}"]
        if self.redis_port:
            words += ["--fleet", f"redis://127.0.0.1:{self.redis_port}", "--namespace", "load"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stderr.fileno(), False)
        self.said = b""

    async def is_ready(self, limit=20):
        """Waits until it listens, and follows the others if it has any."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            self.said += self.process.stderr.read() or b""
            if (await Client(self.port).send("GET", "/value/ready", limit=2)).status == 200:
                if not self.redis_port or b"fleet: following" in self.said:
                    return True
            await asyncio.sleep(0.05)
        return False

    async def says(self, words, limit=20):
        """Waits until it says something on standard error from now on; returns the seconds, or None."""
        start, said = time.monotonic(), b""
        while time.monotonic() - start < limit:
            said += self.process.stderr.read() or b""
            if words.encode() in said:
                return time.monotonic() - start
            await asyncio.sleep(0.02)
        return None

    def owns(self, port):
        """Returns True if a connection from this local port is this process's."""
        wanted = {
            line.split()[9]
            for line in open("/proc/net/tcp").read().splitlines()[1:]
            if int(line.split()[1].split(":")[1], 16) == port
        }
        for name in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                link = os.readlink(f"/proc/{self.process.pid}/fd/{name}")
            except OSError:
                continue
            if link.startswith("socket:[") and link[8:-1] in wanted:
                return True
        return False

    def memory(self):
        """Returns the megabytes that the process has."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()
