"""DocC's archives, one for each product, as one reference below any path of a server."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from pages import HERE, SiteError, navigation, template

# What DocC's page of every symbol says of the path of the server where it is.
BASE = re.compile(r'<script>var baseUrl = "/"</script>')
LOADED = re.compile(r'(?<==")/(?!/)')
ICON = re.compile(r'<link rel="(?:mask-)?icon"[^>]*>')
TITLE = re.compile(r"<title>.*?</title>")

# The icon's address is absolute, since browsers ask for it again when DocC has changed the page's.
HEAD = """<script>
var baseUrl = new URL("$root", location.href).pathname
document.head.append(Object.assign(document.createElement("link"), { rel: "icon", href: baseUrl + "favicon.svg" }))
</script>"""


def merge(documentation, output, docc):
    """Merges the archives into the output."""
    archives = sorted(path.parent for path in documentation.glob("*/metadata.json"))
    if not archives:
        raise SiteError(f"{documentation} has no documentation; run: make doc")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as temporary:
        # DocC wants this extension. It would write through a symbolic link to a folder, so each file is linked.
        copies = [
            shutil.copytree(one, pathlib.Path(temporary, f"{one.name}.doccarchive"), copy_function=os.link)
            for one in archives
        ]
        merging = subprocess.run(
            [docc, "merge", *copies, "--output-path", output, "--synthesized-landing-page-name", "Reactor",
             "--synthesized-landing-page-topics-style", "list"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if merging.returncode:
        raise SiteError(f"docc merge failed:\n{merging.stdout}")


def prepare(output):
    """Makes every page of the reference work below any path, and puts the site's masthead on it."""
    masthead = template("masthead.html", navigation=navigation("", "documentation/"))
    # The landing page takes the place of DocC's.
    (output / "index.html").unlink()
    (output / "favicon.ico").unlink()
    shutil.copy(HERE / "theme-settings.json", output)
    for file in (output / "documentation").rglob("index.html"):
        address = file.parent.relative_to(output)
        file.write_text(page(file.read_text(encoding="utf-8"), address, masthead, output), encoding="utf-8")
    for file in (output / "data/documentation").rglob("*.json"):
        remove_dead_ancestors(file, output)


def remove_dead_ancestors(file, output):
    """Removes links to missing pages from the path above a page's title.

    DocC writes no page for an extended module, such as `_Concurrency`, if the catalogue lists all of its symbols.
    """
    node = json.loads(file.read_text(encoding="utf-8"))
    ancestors = {one for path in node["hierarchy"].get("paths", []) for one in path}
    dead = {one for one in ancestors if not (output / node["references"][one]["url"][1:] / "index.html").exists()}
    if dead:
        node["hierarchy"]["paths"] = [[one for one in path if one not in dead] for path in node["hierarchy"]["paths"]]
        node["references"] = {name: one for name, one in node["references"].items() if name not in dead}
        file.write_text(json.dumps(node, ensure_ascii=False), encoding="utf-8")


def page(text, address, masthead, output):
    """One page of the reference. It computes where the site is from its own address."""
    root = "../" * len(address.parts)
    text, icons = ICON.subn("", text)
    text, bases = BASE.subn(lambda _: HEAD.replace("$root", root), text)
    text, loaded = LOADED.subn(root, text)
    if (bases, icons) != (1, 2) or loaded < 3:
        raise SiteError(f"{address}: this DocC writes its pages in another way; see Documentation/Site/reference.py")
    node = json.loads((output / "data" / f"{address}.json").read_text(encoding="utf-8"))
    title = html.escape(node["metadata"]["title"])
    description = html.escape(plain(node.get("abstract", []), node), quote=True)
    text = TITLE.sub(lambda _: f'<title>{title}</title><meta name="description" content="{description}">', text)
    text = text.replace("</head>", f'<link href="{root}reference.css" rel="stylesheet"></head>')
    return text.replace('<div id="app">', f'{masthead}<div id="app">')


def plain(inline, node):
    """The text of DocC's inline content."""
    parts = []
    for one in inline:
        reference = node.get("references", {}).get(one.get("identifier"), {})
        parts.append(one.get("text") or one.get("code") or one.get("overridingTitle") or reference.get("title", ""))
        parts.append(plain(one.get("inlineContent", []), node))
    return "".join(parts)


def modules(output):
    """The catalogues of the reference, which the landing page leads to."""
    files = sorted((output / "data/documentation").glob("*.json"))
    return [Module(json.loads(file.read_text(encoding="utf-8"))) for file in files]


class Module:
    """A catalogue: its summary, its address, and the titles, summaries and addresses of its articles."""

    def __init__(self, node):
        self.name = node["metadata"]["title"]
        self.summary = plain(node["abstract"], node)
        self.address = f"documentation/{self.name.lower()}/"
        self.articles = [
            (article["title"], plain(article["abstract"], node), article["url"].lstrip("/") + "/")
            for topic in node["topicSections"]
            for article in (node["references"][one] for one in topic["identifiers"])
            if article["kind"] == "article"
        ]
