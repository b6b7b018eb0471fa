"""The Markdown of the repository as pages: which file is which page, and where its links lead."""

import html
import pathlib
import posixpath
import re
import shutil
import string
from dataclasses import dataclass
from xml.etree import ElementTree

import markdown
from markdown.extensions.codehilite import CodeHiliteExtension
from markdown.extensions.toc import TocExtension
from markdown.treeprocessors import Treeprocessor

HERE = pathlib.Path(__file__).parent
REPOSITORY = HERE.parent.parent
DECISIONS = "decisions/index.html"


class SiteError(Exception):
    """A mistake in the sources of the site, in words for whoever builds it."""


@dataclass(frozen=True)
class Page:
    """A file of the repository, and its address below the root of the site."""

    source: str
    address: str

    @property
    def text(self):
        return (REPOSITORY / self.source).read_text(encoding="utf-8")

    @property
    def title(self):
        return self.text.split("\n", 1)[0].lstrip("# ")


def all_pages():
    """Every page but the landing page and the index of the decisions, in the order of the sources."""
    documents = [path.name for path in sorted((REPOSITORY / "Documentation").glob("*.md"))]
    decisions = [path.name for path in sorted((REPOSITORY / "Documentation/Decisions").glob("*.md"))]
    return [
        *(Page(f"Documentation/{name}", f"{hyphenated(name[:-3])}.html") for name in documents),
        Page("CHANGELOG.md", "changelog.html"),
        Page("CONTRIBUTING.md", "contributing.html"),
        *(Page(f"Documentation/Decisions/{name}", f"decisions/{name[:-3]}.html") for name in decisions),
    ]


def hyphenated(name):
    """`MigratingFromJBFlux` is `migrating-from-jb-flux`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def relative(address, page):
    """The address of a file of the site as a page writes it, so that the site works below any path."""
    below = posixpath.relpath(address, posixpath.dirname(page) or ".")
    return below + "/" if address.endswith("/") else below


def anchor(text, separator="-"):
    """The anchor of a heading, as code hosts make it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


class Links:
    """Where a link of the repository leads in the site."""

    def __init__(self, pages, output, source):
        self.addresses = {page.source: page.address for page in pages}
        self.addresses |= {"README.md": "index.html", "Documentation/Decisions": DECISIONS}
        self.output = output
        self.source = source.rstrip("/")

    def resolved(self, target, page):
        """The target as the page writes it; `None` for a source that is nowhere to be seen."""
        if "://" in target or target.startswith(("#", "mailto:")):
            return target
        path, hash_mark, fragment = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        if not (REPOSITORY / path).exists():
            raise SiteError(f"{page.source} links to {target}, which does not exist")
        address = self.address(path)
        if address:
            return relative(address, page.address) + hash_mark + fragment
        return f"{self.source}/{path}" if self.source else None

    def address(self, path):
        if path in self.addresses:
            return self.addresses[path]
        article = re.fullmatch(r"Sources/\w+/(\w+)\.docc/(\w+)\.md", path)
        if article:
            module, name = (part.lower() for part in article.groups())
            return f"documentation/{module}/" + ("" if name == module else f"{name}/")
        if path.startswith("Documentation/Images/"):
            return self.picture(posixpath.basename(path))
        return None

    def picture(self, name):
        """The address of a picture, which is copied into the site."""
        (self.output / "pictures").mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / "Documentation/Images" / name, self.output / "pictures")
        return f"pictures/{name}"


class LinksOfPage(Treeprocessor):
    """Rewrites the links of one page, and makes wide tables scroll by themselves."""

    def __init__(self, md, links, page):
        super().__init__(md)
        self.links, self.page = links, page

    def run(self, root):
        for one in root.iter("img"):
            one.set("src", self.links.resolved(one.get("src"), self.page))
        for one in root.iter("a"):
            target = self.links.resolved(one.get("href"), self.page)
            if target:
                one.set("href", target)
            else:
                one.tag = "span"
                one.attrib.pop("href")
        for parent in list(root.iter()):
            for index, child in enumerate(list(parent)):
                if child.tag == "table":
                    self.frame(parent, index, child)

    @staticmethod
    def frame(parent, index, table):
        frame = ElementTree.Element("div", {"class": "table", "tabindex": "0", "role": "region", "aria-label": "Table"})
        frame.tail, table.tail = table.tail, None
        parent[index] = frame
        frame.append(table)


@dataclass
class Rendered:
    content: str
    headings: list


def rendered(text, page, links):
    """The HTML of Markdown that stands in the source of the page, with its headings."""
    md = markdown.Markdown(
        extensions=[
            "tables", "fenced_code", "sane_lists", TocExtension(slugify=anchor, toc_depth="1-4"),
            CodeHiliteExtension(guess_lang=False, css_class="code"),
        ],
        # Lists within lists are indented by two columns here.
        tab_length=2, output_format="html")
    md.treeprocessors.register(LinksOfPage(md, links, page), "links", 0)
    return Rendered(md.convert(text), md.toc_tokens)


def template(name, **slots):
    return string.Template((HERE / name).read_text(encoding="utf-8")).substitute(slots)


def contents(headings):
    """The list of a page's headings."""
    if not headings:
        return ""
    items = (f'<li><a href="#{one["id"]}">{one["name"]}</a>{contents(one["children"])}</li>' for one in headings)
    return f"<ul>{''.join(items)}</ul>"


NAVIGATION = (
    ("index.html#guides", "Guides"), ("documentation/", "Reference"), ("architecture.html", "Architecture"),
    (DECISIONS, "Decisions"), ("speed.html", "Speed"), ("testing.html", "Testing"), ("changelog.html", "Changes"),
)


def navigation(address, current=None):
    """The links of the masthead, for a page at the address."""
    current = current or (DECISIONS if address.startswith("decisions/") else address)

    def link(target, name):
        here = ' aria-current="page"' if target == current else ""
        return f'<a href="{relative(target, address)}"{here}>{name}</a>'

    return "\n      ".join(link(*one) for one in NAVIGATION)


def write(output, address, title, description, body):
    """Writes a page of the site with its masthead and its foot."""
    text = template(
        "page.html", title=html.escape(title), description=html.escape(description, quote=True), body=body,
        root=relative("index.html", address).removesuffix("index.html"), navigation=navigation(address))
    file = output / address
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
