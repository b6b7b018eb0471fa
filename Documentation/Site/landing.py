"""The landing page. Its words and code are those of README.md; the cards come from the reference."""

import html
import math
import re

from pages import Page, SiteError, rendered, template, write

PAGE = Page("README.md", "index.html")

# Each figure, and the words of README.md that it repeats.
FIGURES = (
    ("143 of 144", "required tests of the public HTTP caching suite", "| required | **143** |"),
    ("4 to 15 ×", "the speed of <code>JSONDecoder</code>, with FastJSON",
     "decodes 4 to 15 times as fast as `JSONDecoder`"),
    ("1.2 to 1.3 ×", "the time of a look-up in a locked dictionary, for a memory hit",
     "takes 1.2 to 1.3 times as long as a look-up in a locked dictionary"),
    ("1 request", "for a thousand concurrent callers", "a thousand concurrent callers make one request"),
)

# The products in their order, each with a word about its place. One that is not here comes last.
PRODUCTS = {
    "ReactorCore": "The model layer", "HTTPCaching": "On its own", "HTTPCachingProxy": "For proxies", "FastJSON": "On its own",
    "ReactorWrites": "For writes shown at once", "ReactorOutbox": "For writes", "ReactorLists": "For lists in pages", "ReactorOperators": "For screens", "ReactorMiddleware": "For signing in", "ReactorNetlink": "For Linux", "ReactorLive": "For changes of the server", "ReactorChangeFeed": "For servers", "ServerSentEvents": "For streams of events", "ReactorFlux": "For state of the app", "ReactorSQLite": "Trait SQLite",
    "ReactorAsyncHTTPClient": "Trait AsyncHTTPClient", "ReactorTesting": "For tests", "ReactorConformance": "For tests of your own parts",
    "ReactorInspector": "For debug builds",
}
HUES = (205, 28, 262, 300, 338, 48, 150, 185, 88, 8)

READING = (
    ("architecture.html", "Architecture", "The modules, the locks, and the path of a fetch. One page."),
    ("decisions/index.html", "Decisions", "Why the library is as it is, one choice a page."),
    ("testing.html", "Testing", "Simulation, races, crashes, fuzzing: how the library itself is tested."),
    ("speed.html", "Speed", "Each job beside the same work written by hand."),
    ("comparison.html", "Comparison", "Reactor and six libraries, row by row."),
    ("command.html", "The command", "Install <code>reactor</code>, fetch, send, and its exit codes."),
    ("stability.html", "Versions and stability", "What may change before 1.0, and the systems."),
    ("migrating-from-reactor-1.html", "From Reactor 1.x", "The names of 2016, and their names here."),
    ("migrating-from-jb-flux.html", "From JBFlux", "Dispatchers, stores and actions, in Swift 6."),
    ("contributing.html", "Contributing", "Build, test, and the rules of the house."),
    ("changelog.html", "Changes", "What is new, by product."),
)


class Readme:
    """The parts of README.md that the landing page shows."""

    def __init__(self):
        self.text = PAGE.text
        parts = re.split(r"^## (.+)$", self.text, flags=re.MULTILINE)
        self.opening = parts[0]
        self.sections = dict(zip(parts[1::2], parts[2::2]))
        try:
            self.claim, self.platforms = self.sentence()
            self.screen, self.tool, self.changes = self.code()
            self.fetching, self.observing = self.words()
            self.caches, self.results = self.rows()
        except ValueError as error:
            raise SiteError(
                "the landing page shows the first sentence of README.md, with a colon, its first three blocks of Swift, "
                f"the words before the last of these, and the results of the caching suite; one is missing ({error})")

    def section(self, name):
        if name not in self.sections:
            raise SiteError(f"README.md has no section {name!r}, which the landing page shows")
        return self.sections[name]

    def sentence(self):
        """The first paragraph: what it does, and where it runs."""
        return self.opening.split("\n\n")[1].rstrip(".").split(": ", 1)

    def code(self):
        return re.findall(r"^```swift\n.*?^```$", self.opening, re.MULTILINE | re.DOTALL)

    def words(self):
        """The sentences before the last code: the last one is about observing, those before it about fetching."""
        paragraph = " ".join(re.split(r"^```.*$", self.opening, flags=re.MULTILINE)[-3].split())
        *fetching, observing = re.split(r"(?<=\.) ", paragraph)
        return " ".join(fetching), observing.replace(":", ".")

    def totals(self):
        """The number of required and of optional tests of the caching suite."""
        found = re.search(r"has (\d+) required and (\d+) optional", self.text)
        if not found:
            raise SiteError("README.md does not say how many tests the caching suite has")
        return tuple(int(number) for number in found.groups())

    def rows(self):
        """The table of the caching suite: its names, then the rows of its figures."""
        lines = [line for line in self.section("Evidence").split("\n") if line.startswith("|")]
        cells = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
        names, _, required, optional = cells
        return names[1:], [[int(cell) for cell in row[1:]] for row in (required, optional)]


def write_landing(output, modules, links):
    readme = Readme()

    def text(markdown):
        return rendered(markdown, PAGE, links).content

    evidence = readme.section("Evidence").strip().split("\n\n")
    body = template(
        "landing.html",
        claim=html.escape(readme.claim),
        platforms=html.escape(readme.platforms),
        hills=horizon(1),
        screen=text(readme.screen),
        figures=figures(readme),
        pictures=pictures(links),
        fetching=text(readme.fetching),
        tool=text(readme.tool),
        observing=text(readme.observing),
        changes=text(readme.changes),
        products=products(modules),
        guides=guides(modules),
        chart=chart(readme.caches, *readme.results, *readme.totals()),
        suite=text(evidence[0]),
        proofs=text(evidence[-1]),
        why=text(readme.section("Why not URLCache, or a dictionary?")),
        install=text(readme.section("Install")),
        reading=reading())
    write(output, PAGE.address, "Reactor", f"{readme.claim}: {readme.platforms}.", body)


def pictures(links):
    """The Newsroom, light or dark as the page is, and narrow where the page is."""
    for shown in ("list", "inspector"):
        for width in ("wide", "narrow"):
            for scheme in ("light", "dark"):
                links.picture(f"newsroom-{shown}-{width}-{scheme}.png")
    return "\n".join(picture(*one) for one in (
        ("list", "The front page of the Newsroom, a news reader with pictures, sections and a search field"),
        ("inspector", "The inspector: each key with its state, origin and age, and the timeline of one fetch")))


def picture(shown, description):
    def source(width, scheme, condition):
        return f'<source srcset="pictures/newsroom-{shown}-{width}-{scheme}.png" media="{condition}">'

    return f"""<picture>
        {source("narrow", "dark", "(max-width: 44rem) and (prefers-color-scheme: dark)")}
        {source("narrow", "light", "(max-width: 44rem)")}
        {source("wide", "dark", "(prefers-color-scheme: dark)")}
        <img src="pictures/newsroom-{shown}-wide-light.png" width="1280" height="860" alt="{description}">
      </picture>"""


def figures(readme):
    words = " ".join(readme.text.split())
    for figure, _, source in FIGURES:
        if source not in words:
            raise SiteError(f"the landing page shows {figure!r}, but README.md no longer says {source!r}")
    return "\n".join(f"<li><strong>{figure}</strong> {meaning}</li>" for figure, meaning, _ in FIGURES)


def chart(names, required, optional, total, more):
    """The results of the caching suite as bars, in a table that can be read without them."""
    lines = "\n".join(
        f'<tr{" class=ours" if index == 0 else ""}><th scope="row">{name}</th>'
        f'<td><span class="bar" style="--share: {100 * required[index] / total:.1f}%">{required[index]}</span></td>'
        f'<td><span class="bar" style="--share: {100 * optional[index] / more:.1f}%">{optional[index]}</span></td></tr>'
        for index, name in enumerate(names))
    return f"""<table class="chart">
      <thead><tr><th scope="col">Cache</th><th scope="col">Required, of {total}</th>
        <th scope="col">Optional, of {more}</th></tr></thead>
      <tbody>{lines}</tbody>
    </table>"""


def hills(seed, hue):
    """A picture of its own for each card: a sun and three ranges of hills, as the Newsroom draws them."""
    number = numbers(seed)
    x, y, radius = 25 + number(1) * 110, 22 + number(2) * 30, 9 + number(3) * 12
    sun = f'<circle class="sun" cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}"/>'
    return (f'<svg class="art" viewBox="0 0 160 100" preserveAspectRatio="xMidYMid slice" aria-hidden="true" '
            f'style="--hue: {hue}"><rect class="sky" width="160" height="100"/>{sun}{ranges(number, 160)}</svg>')


def horizon(seed):
    """The hills at the foot of the page's opening, whose sky and sun are the style's."""
    return (f'<svg class="art" viewBox="0 40 320 60" preserveAspectRatio="xMidYMax slice" aria-hidden="true">'
            f'{ranges(numbers(seed), 320)}</svg>')


def numbers(seed):
    return lambda salt: abs(math.sin(seed * 12.9898 + salt * 78.233) * 43758.5453) % 1


def ranges(number, width):
    def points(rank):
        base = 40 + rank * 14
        return [f"{index * width // 4} {base + (number(rank * 10 + index) - .5) * 26:.1f}" for index in range(5)]

    return "".join(
        f'<path class="range-{rank}" d="M{wave[0]} Q{wave[1]} {wave[2]} T{wave[4]} V100 H0 Z"/>'
        for rank, wave in ((rank, points(rank)) for rank in (1, 2, 3)))


def in_order(modules):
    order = list(PRODUCTS)
    return sorted(modules, key=lambda one: (order.index(one.name) if one.name in order else len(order), one.name))


def products(modules):
    return "\n".join(product(module, index) for index, module in enumerate(in_order(modules)))


def product(module, index):
    # A long name may break where its next word begins.
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", module.name)
    return f"""<article class="card{" lead" if index == 0 else ""}">{hills(index + 1, HUES[index % len(HUES)])}
        <div><p class="kicker">{PRODUCTS.get(module.name, "Product")}</p>
          <h3><a href="{module.address}">{name}</a></h3>
          <p>{html.escape(module.summary)}</p></div></article>"""


def guides(modules):
    return "\n".join(
        f'<li><a href="{address}">{html.escape(title)}</a><p>{html.escape(summary)}</p></li>'
        for module in in_order(modules) for title, summary, address in module.articles)


def reading():
    return "\n".join(f'<li><a href="{address}">{title}</a><p>{summary}</p></li>' for address, title, summary in READING)
