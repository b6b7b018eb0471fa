"""The guides of the repository, and the index of its decisions."""

import html
import re

from pages import DECISIONS, SiteError, contents, relative, rendered, write

SUPERSEDED = re.compile(r"^\*Superseded by \[(\d{4})\]", re.MULTILINE)


def write_articles(output, pages, links):
    for page in pages:
        result = rendered(page.text, page, links)
        headings = result.headings
        if len(headings) != 1 or headings[0]["level"] != 1:
            raise SiteError(f"{page.source} needs one heading of the first level, above all others")
        body = article(page, result, neighbours(page, pages) if is_decision(page) else "")
        write(output, page.address, f"{page.title} · Reactor", summary(result.content), body)
    write_decisions(output, [page for page in pages if is_decision(page)])


def is_decision(page):
    return page.address.startswith("decisions/")


def article(page, result, below):
    content = result.content
    if is_decision(page):
        number, title = page.title.split(" ", 1)
        start = content.index("</h1>")
        heading = f'<p class="kicker">Decision {number}</p>\n' + content[:start].replace(f"{number} ", "", 1)
        content = heading + content[start:]
    headings = result.headings[0]["children"]
    if len(headings) + sum(len(one["children"]) for one in headings) < 2:
        return f'  <main id="main" class="article" tabindex="-1">\n{content}\n{below}</main>'
    listed = contents(headings)
    # Beside the text where there is room, else folded up below the title.
    folded = f'<details class="contents"><summary>On this page</summary>{listed}</details>'
    content = content.replace("</h1>", f"</h1>\n{folded}", 1)
    return f"""  <div class="page">
    <nav class="contents" aria-label="On this page"><p>On this page</p>{listed}</nav>
    <main id="main" class="article" tabindex="-1">
{content}
{below}</main>
  </div>"""


def summary(content):
    """The first paragraph as plain text, for search engines and previews."""
    found = re.search(r"<p>(.*?)</p>", content, re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", "", found[1])) if found else ""
    return " ".join(text.split())


def neighbours(page, pages):
    """Links to the decisions before and after one."""
    decisions = [one for one in pages if is_decision(one)]
    index = decisions.index(page)

    def link(other, rel, arrow):
        target = relative(other.address, page.address)
        return f'<a href="{target}" rel="{rel}"><span>{arrow}</span> {html.escape(other.title[5:])}</a>'

    before = link(decisions[index - 1], "prev", "Before") if index else ""
    after = link(decisions[index + 1], "next", "After") if index + 1 < len(decisions) else ""
    return f'<nav class="neighbours" aria-label="Decisions">{before}{after}</nav>\n'


def write_decisions(output, decisions):
    items = "\n".join(decision(one) for one in reversed(decisions))
    body = f"""  <main id="main" class="article" tabindex="-1">
<h1>Decisions</h1>
<p>Why the library is as it is: {len(decisions)} choices, each with its context and its consequences. The newest is
first.</p>
<ol class="decisions" reversed>
{items}
</ol>
  </main>"""
    write(output, DECISIONS, "Decisions · Reactor", "Why the library is as it is, one choice a page.", body)


def decision(page):
    number, title = page.title.split(" ", 1)
    later = SUPERSEDED.search(page.text)
    state = f' <span class="state">superseded by {later[1]}</span>' if later else ""
    target = relative(page.address, DECISIONS)
    return (f'<li{" class=superseded" if later else ""}><span class="number">{number}</span>'
            f'<a href="{target}">{html.escape(title)}</a>{state}</li>')
