"""The tables of the guide Servers as they are, which is the only place that says what is expected."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "Sources/ReactorCore/ReactorCore.docc/ServersAsTheyAre.md"
# The last two columns of use to a reader alone: names, and rows of another table.
UNASKED = ("server", "cache", "see")


def key(cell):
    """The name in the first cell of a row, without versions and modules: `Apache 2.4.71, mod_deflate` is Apache."""
    return re.split(r"[ ,]+(?=\d)|,", cell.replace("`", ""))[0].strip()


def versions(cell):
    """The versions in the first cell of a row: 0.65.5 and 1.0a41 of Datasette's."""
    return re.findall(r"(?<![\w.])\d+\.\d[\w.]*", cell)


class Guide:
    def __init__(self, text=None):
        self.text = text if text is not None else PAGE.read_text()
        self.rows = {}
        self.names = {}
        heading, columns = "", []
        for line in self.text.splitlines():
            if line.startswith("## "):
                heading, columns = line[3:], []
            if not line.startswith("|"):
                continue
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not columns:
                columns = cells
            elif cells[0].strip("- "):
                self.names[heading, key(cells[0])] = cells[0]
                self.rows[heading, key(cells[0])] = dict(zip(columns[1:], cells[1:]))
        # A paragraph or an item of a list, in one line, is what a sentence is looked for in.
        self.prose = " ".join(self.text.split())

    def versions(self, name):
        return [version for (_, row), cell in self.names.items() if row == name for version in versions(cell)]

    def cells(self, name):
        """What the guide says of a server: its cells by heading and column, without the empty ones."""
        return {(heading, column): text for (heading, row), cells in self.rows.items() if row == name
                for column, text in cells.items() if text and column not in UNASKED}
