"""What the guide A change feed on your server says of proxies before it, asked with the feed of our command.

The command is the one that REACTOR names, or the release build of Tools. Its changes are made by requests past the proxy.
And what the page Event streams says of servers of events that others have written, asked with EventReader beside it.
"""

import contextlib
import json
import http.client
import socket
import subprocess
import time
import zlib
from urllib.parse import quote

from client import ask as send
from guide import ROOT, Guide
from queries import command
from web_servers import apache, nginx, varnish
from workplace import free_port

PAGE = ROOT / "Sources/ReactorChangeFeed/ReactorChangeFeed.docc/AChangeFeedOnYourServer.md"
HEADING = "What proxies need"
BARE, CODED, SECOND, RESUMED = ((HEADING, name) for name in (
    "a change, with bare settings", "where it compresses events", "a second client", "after a reconnection"))
CLIENT_PAGE = ROOT / "Sources/ServerSentEvents/ServerSentEvents.docc/EventStreams.md"
CLIENT_HEADING = "Servers that were followed"
TOLD, MISSED = ((CLIENT_HEADING, name) for name in ("an event of two lines", "what was missed meanwhile"))
# A change that has not arrived by then counts as held back.
SECONDS = 5


class Stream:
    """A client of /events, which reads what has come, whatever its coding."""

    def __init__(self, port, **fields):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self.connection.request("GET", "/events", headers={name.replace("_", "-"): value for name, value in fields.items()})
        self.text, self.response = "", None
        self.decoder = None

    def head(self):
        if self.response is None:
            self.response = self.connection.getresponse()
            if self.response.getheader("Content-Encoding") == "gzip":
                self.decoder = zlib.decompressobj(31)
        return self.response

    def seconds_until(self, text):
        """The time until the text has come, or None if it is held back."""
        start = time.monotonic()
        with contextlib.suppress(TimeoutError, socket.timeout):
            while text not in self.text:
                if time.monotonic() - start > SECONDS:
                    return None
                piece = self.head().read1(65536)
                if not piece:
                    return None
                self.text += (self.decoder.decompress(piece) if self.decoder else piece).decode()
            return time.monotonic() - start
        return None

    def position(self):
        return [line[4:] for line in self.text.splitlines() if line.startswith("id: ")][-1]

    def close(self):
        self.connection.close()


def word(stream, seconds):
    if seconds is None:
        return "held back"
    coding = ", compressed" if stream.decoder else ""
    return ("at once" if seconds < 1 else f"after {seconds:.1f} s") + coding


def change(feed, number):
    answer = send(feed, f"/note/{number}", "PUT", b"{}")
    if answer.status >= 300:
        raise AssertionError(f"the change is refused with {answer.status}")


def first_change(port, feed, number, **fields):
    """What becomes of a change whose client is greeted first, if it is."""
    stream = Stream(port, **fields)
    greeted = stream.seconds_until("event: hello")
    change(feed, number)
    return stream, word(stream, None if greeted is None else stream.seconds_until(f"/note/{number}\""))


def ask_proxy(place, reactor, start):
    origin, feed, bare, coding = (free_port() for _ in range(4))
    place.application(place.root, "origin.py", origin)
    place.start(feed, reactor, "proxy", "--listen", f"127.0.0.1:{feed}", "--upstream", f"http://127.0.0.1:{origin}",
                "--live", "/events")
    start(place, bare, feed, False)
    start(place, coding, feed, True)
    first, bare_word = first_change(bare, feed, 1)
    second, second_word = first_change(bare, feed, 2)
    coded, coded_word = first_change(coding, feed, 3, Accept_Encoding="gzip")
    position = first.position() if "\nid: " in first.text else ""
    for stream in (first, second, coded):
        stream.close()
    change(feed, 4)
    third = Stream(bare, Last_Event_ID=position)
    resumed = third.seconds_until("/note/4\"")
    both = resumed is not None and '"resumed":true' in third.text and "/note/1\"" not in third.text
    third.close()
    return {BARE: bare_word, CODED: coded_word, SECOND: second_word,
            RESUMED: "what was missed" if both else "not what was missed"}


def start_nginx(place, port, feed, codes):
    coding = "gzip on; gzip_types text/event-stream; gzip_min_length 0; gzip_proxied any;" if codes else ""
    nginx(place, port, f"{coding}\nserver {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{feed}; }} }}")


def start_apache(place, port, feed, codes):
    place.debian("apache2-bin")
    coding = "AddOutputFilterByType DEFLATE text/event-stream\n" if codes else ""
    apache(place, port, f"{coding}ProxyPass / http://127.0.0.1:{feed}/")


def start_caddy(place, port, feed, codes):
    tree, file = place.debian("caddy"), place.root / f"Caddyfile-{port}"
    coding = " encode {\n gzip\n minimum_length 0\n match {\n header Content-Type text/*\n }\n }\n" if codes else ""
    file.write_text(f"{{\n admin off\n auto_https off\n}}\nhttp://127.0.0.1:{port} {{\n{coding} reverse_proxy 127.0.0.1:{feed}\n}}\n")
    place.start(port, tree / "usr/bin/caddy", "run", "--config", file, "--adapter", "caddyfile", XDG_DATA_HOME=str(place.root))


def start_haproxy(place, port, feed, codes):
    tree, file = place.debian("haproxy"), place.root / f"haproxy-{port}.cfg"
    coding = "  compression algo gzip\n  compression type text/event-stream\n" if codes else ""
    file.write_text(f"""defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend clients
  bind 127.0.0.1:{port}
{coding}  default_backend feed
backend feed
  server only 127.0.0.1:{feed}
""")
    place.start(port, tree / "usr/sbin/haproxy", "-db", "-f", file, **place.libraries())


def start_varnish(place, port, feed, codes):
    varnish(place, port, feed, "sub vcl_backend_response { set beresp.do_gzip = true; }" if codes else "")


PROXIES = (("Apache", "apache2-bin", start_apache), ("Caddy", "caddy", start_caddy), ("HAProxy", "haproxy", start_haproxy),
           ("nginx", "nginx", start_nginx), ("Varnish", "varnish", start_varnish))


class Reader:
    """EventReader in a process of its own."""

    def __init__(self, place, reactor, port, last=""):
        words = [reactor.parent / "EventReader", f"http://127.0.0.1:{port}", "events", last]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                        env=place.environment(), start_new_session=True)
        place.processes.append(self.process)

    def said(self):
        """The next event that the server was asked to tell."""
        for line in self.process.stdout:
            event = json.loads(line)
            if event["type"] == "said":
                return event
        raise AssertionError("EventReader has ended")


def ask_server(place, reactor, port):
    """An event while the client listens, and one while it is away. A new client misses what is said before it is there."""
    texts, reader = ("\u00e9 \"1\"\nand more", "two"), Reader(place, reactor, port)
    time.sleep(1)
    start = time.monotonic()
    send(port, f"/say?text={quote(texts[0])}")
    first = reader.said()
    seconds = time.monotonic() - start
    place.end(reader.process)
    send(port, f"/say?text={texts[1]}")
    second = Reader(place, reactor, port, first["id"]).said() if first["id"] else {"data": None}
    told = ("at once" if seconds < 1 else f"after {seconds:.1f} s") if first["data"] == texts[0] else f"changed: {first['data']!r}"
    return {TOLD: told, MISSED: "repeated" if second["data"] == texts[1] else "not repeated"}


SERVERS = (("aiohttp-sse", "feed_aiohttp.py", ()), ("django-eventstream", "feed_django.py", ("uvicorn==0.54.0",)),
           ("sse-starlette", "feed_starlette.py", ("uvicorn==0.54.0",)))


def ask_servers(report, reactor, ask_row):
    report.guide = Guide(CLIENT_PAGE.read_text())
    for name, program, others in SERVERS:
        version = (report.guide.versions(name) or [""])[0]
        needed = (f"{name}=={version}" if version else name, *others)

        def asked(place):
            port = free_port()
            place.application(place.python("".join(needed).replace("=", ""), *needed), program, port, place.root)
            return ask_server(place, reactor, port)
        ask_row(report, name, version, asked, CLIENT_HEADING)


def ask(report, wanted, ask_row):
    if not wanted("Live"):
        return
    reactor = command()
    if reactor is None:
        return report.skip("Live", "there is no command: name it in REACTOR, or build the release of Tools")
    others, report.guide = report.guide, Guide(PAGE.read_text())
    print("Live, with the command that says", subprocess.run([reactor, "--version"], capture_output=True, text=True).stdout.strip())
    for name, package, start in PROXIES:
        ask_row(report, name, package, lambda place: ask_proxy(place, reactor, start), HEADING)
    if (reactor.parent / "EventReader").is_file():
        ask_servers(report, reactor, ask_row)
    else:
        report.skip("Live resources", "there is no EventReader beside the command")
    report.guide = others
