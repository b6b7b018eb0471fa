"""The files of the site, without a browser."""

import json
import posixpath
import re
import unittest
from urllib.parse import unquote

from site_files import SITE, own_pages


def is_external(link):
    return re.match(r"[a-z]+:", link)


class OwnPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {page.address: page for page in own_pages()}

    def test_every_link_leads_to_a_file_and_to_a_heading_of_it(self):
        self.assertGreater(len(self.pages), 35)
        for page in self.pages.values():
            for link in filter(lambda link: not is_external(link), page.links):
                with self.subTest(page=page.address, link=link):
                    path, _, anchor = link.partition("#")
                    target = self.target(path, page)
                    self.assertTrue((SITE / target).is_file(), f"there is no {target}")
                    if anchor and target in self.pages:
                        self.assertIn(unquote(anchor), self.pages[target].anchors)

    def test_every_page_is_reached_from_the_landing_page(self):
        reached, waiting = set(), ["index.html"]
        while waiting:
            address = waiting.pop()
            if address in self.pages and address not in reached:
                reached.add(address)
                page = self.pages[address]
                waiting += [self.target(link.partition("#")[0], page) for link in page.links if not is_external(link)]
        self.assertEqual(set(self.pages) - reached, set())

    def test_every_page_has_a_language_one_title_headings_in_order_and_pictures_with_texts(self):
        for page in self.pages.values():
            with self.subTest(page=page.address):
                self.assertEqual(page.language, "en")
                self.assertEqual(page.headings[0], 1)
                self.assertEqual(page.headings.count(1), 1)
                for above, below in zip(page.headings, page.headings[1:]):
                    self.assertLessEqual(below, above + 1)
                self.assertTrue(all(picture.get("alt") for picture in page.pictures))

    def test_no_paragraph_is_a_list_or_a_table_that_was_not_understood(self):
        for page in self.pages.values():
            for paragraph in page.paragraphs:
                with self.subTest(page=page.address):
                    self.assertNotRegex(paragraph, re.compile(r"^\s*(- |\d+\. |\||```)", re.MULTILINE))

    @staticmethod
    def target(path, page):
        if not path:
            return page.address
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.address), unquote(path)))
        return f"{target}/index.html" if path.endswith("/") else target


class Reference(unittest.TestCase):
    def test_every_page_loads_what_it_needs_from_its_own_site(self):
        files = list((SITE / "documentation").rglob("index.html"))
        self.assertGreater(len(files), 1000)
        for file in files:
            # The links of the masthead are made absolute in the browser.
            head = file.read_text(encoding="utf-8").split("<template", 1)[0]
            for link in re.findall(r'(?:href|src)="([^"]*)"', head):
                with self.subTest(page=file, link=link):
                    self.assertTrue(link.startswith("../"))
                    self.assertTrue((file.parent / link).is_file())

    def test_every_link_leads_to_a_page(self):
        known = {}
        for file in (SITE / "data/documentation").rglob("*.json"):
            node = json.loads(file.read_text(encoding="utf-8"))
            for one in node["references"].values():
                address = one.get("url", "").partition("#")[0]
                if address.startswith("/") and address not in known:
                    known[address] = (SITE / address[1:] / "index.html").is_file()
                    self.assertTrue(known[address], f"{file} leads to {address}")
        self.assertGreater(len(known), 1000)


if __name__ == "__main__":
    unittest.main()
