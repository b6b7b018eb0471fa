"""The site as a browser gets it: the files of the folder that `make site` builds, and a server of them."""

import functools
import html.parser
import http.server
import os
import pathlib
import sys
import tempfile
import threading

SITE = pathlib.Path(os.environ.get("SITE") or sys.exit("error: SITE does not say where it is; use make test-site"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server:
    """Serves the site on a free port, below a path that the site knows nothing of."""

    def __init__(self):
        self.root = tempfile.TemporaryDirectory()
        below = pathlib.Path(self.root.name, "some/where")
        below.parent.mkdir()
        below.symlink_to(SITE.resolve())
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=self.root.name))
        self.address = f"http://127.0.0.1:{self.server.server_port}/some/where/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.root.cleanup()


class Document(html.parser.HTMLParser):
    """What the checks ask of a page: its links, anchors, headings, pictures and paragraphs."""

    def __init__(self, file):
        super().__init__()
        self.address = file.relative_to(SITE).as_posix()
        self.links, self.anchors, self.headings, self.pictures, self.paragraphs = [], set(), [], [], []
        self.language = None
        self.is_paragraph = False
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[name] for name in ("href", "src", "srcset") if values.get(name)]
        if "id" in values:
            self.anchors.add(values["id"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))
        if tag == "img":
            self.pictures.append(values)
        if tag == "html":
            self.language = values.get("lang")
        if tag == "p":
            self.paragraphs.append("")
            self.is_paragraph = True

    def handle_endtag(self, tag):
        if tag == "p":
            self.is_paragraph = False

    def handle_data(self, data):
        if self.is_paragraph:
            self.paragraphs[-1] += data


def own_pages():
    """The pages that are not DocC's."""
    reference = SITE / "documentation"
    return [Document(file) for file in sorted(SITE.rglob("*.html")) if not file.is_relative_to(reference)]
