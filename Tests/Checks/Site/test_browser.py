"""The site in a headless Chromium: wide and narrow, light and dark."""

import json
import unittest

from newsroom import Window, chromium
from site_files import SITE, Server, own_pages

SIZES = {"wide": (1280, 860, False), "narrow": (390, 844, True)}
SCHEMES = ("light", "dark")
# Text and what it stands on, by the names of the style.
CONTRASTS = (
    ("ink", "paper"), ("ink", "card"), ("ink", "code"), ("soft", "paper"), ("soft", "card"),
    ("accent", "paper"), ("accent", "card"), ("on-accent", "accent"),
    ("keyword", "card"), ("type", "card"), ("string", "card"), ("number", "card"), ("comment", "card"),
)
CONTRAST = """
  const luminance = (name) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--${name})`;
    const channels = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
      .map((one) => (one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4));
    probe.remove();
    return .2126 * channels[0] + .7152 * channels[1] + .0722 * channels[2];
  };
  const [darker, lighter] = [luminance(arguments[0]), luminance(arguments[1])].sort((a, b) => a - b);
  return (lighter + .05) / (darker + .05);
"""


def setUpModule():
    global server, driver
    server, driver = Server(), chromium()


def tearDownModule():
    driver.quit()
    server.close()


def nodes(pattern):
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted((SITE / "data").glob(pattern))]


class SiteTest(unittest.TestCase):
    def open(self, address):
        return Window(driver, server.address + address)

    def show(self, size, scheme):
        width, height, is_mobile = SIZES[size]
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_mobile})
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": name, "value": value} for name, value in features.items()]})

    def assert_fits(self, window, address):
        """In each size and scheme, no part is wider than the window, and the page is as light as it was asked to be."""
        for size, (width, _, _) in SIZES.items():
            for scheme in SCHEMES:
                self.show(size, scheme)
                widths = window.run("return [innerWidth, document.documentElement.scrollWidth]")
                self.assertEqual(widths, [width, width], f"{address}, {size}, {scheme}")
                window.wait(f"{address} is not {scheme}", lambda: self.is_light(window) == (scheme == "light"))

    @staticmethod
    def is_light(window):
        """A Boolean value that indicates whether the title is dark, and so what it stands on light."""
        return window.run("""
          const mean = (color) => color.match(/[\\d.]+/g).slice(0, 3).reduce((sum, one) => sum + one / 3, 0);
          return mean(getComputedStyle(document.querySelector("h1")).color) < 128""")


class OwnPages(SiteTest):
    def test_every_page_fits_each_size_and_scheme_and_reports_no_error(self):
        for page in own_pages():
            window = self.open(page.address)
            window.see("main h1")
            self.assert_fits(window, page.address)
            self.assertEqual(window.errors(), [], page.address)

    def test_every_picture_of_the_landing_page_is_shown(self):
        for size in SIZES:
            for scheme in SCHEMES:
                self.show(size, scheme)
                window = self.open("index.html")
                pictures = window.run("return [...document.images].map((one) => [one.currentSrc, one.naturalWidth])")
                self.assertEqual(len(pictures), 2)
                for address, width in pictures:
                    self.assertGreater(width, 0, address)
                    self.assertIn(f"-{size}-{scheme}.", address)

    def test_every_text_stands_out(self):
        window = self.open("index.html")
        for scheme in SCHEMES:
            self.show("wide", scheme)
            for text, ground in CONTRASTS:
                with self.subTest(scheme=scheme, text=text, ground=ground):
                    self.assertGreaterEqual(window.run(CONTRAST, text, ground), 4.5)

    def test_the_first_key_leads_past_the_navigation(self):
        self.show("wide", "light")
        window = self.open("architecture.html")
        self.assertEqual(window.run("return document.querySelector('a').textContent"), "Skip to the text")
        window.press("a.skip")
        self.assertEqual(window.run("return document.activeElement.id"), "main")


class Reference(SiteTest):
    def test_the_front_page_of_every_catalogue_shows_its_title_in_each_size_and_scheme(self):
        modules = [node["metadata"]["title"] for node in nodes("documentation/*.json")]
        self.assertIn("ReactorCore", modules)
        for name in modules:
            window = self.open(f"documentation/{name.lower()}/")
            window.see("main h1", name)
            self.assert_fits(window, name)
            self.assertEqual(window.errors(), [], name)

    def test_every_guide_shows_its_title(self):
        self.show("narrow", "light")
        guides = [node for node in nodes("documentation/*/*.json") if node["kind"] == "article"]
        self.assertGreater(len(guides), 15)
        for node in guides:
            address = node["variants"][0]["paths"][0].lstrip("/") + "/"
            window = self.open(address)
            window.see("main h1", node["metadata"]["title"])
            self.assertEqual(window.errors(), [], address)

    def test_a_link_of_the_reference_opens_the_page_and_the_masthead_still_leads_back(self):
        self.show("wide", "light")
        window = self.open("documentation/reactorcore/")
        window.press("main a[href$='/documentation/reactorcore/reactor']")
        window.see("main h1", "Reactor")
        window.press("main a[href*='/documentation/reactorcore/reactor/fetch(_:)']")
        window.see("main h1", "fetch(_:)")
        window.run("document.querySelector('custom-header').shadowRoot.querySelector('a[href*=decisions]').click()")
        window.see("main h1", "Decisions")
        self.assertEqual(window.errors(), [])

    def test_a_page_of_the_reference_can_be_loaded_again(self):
        self.show("wide", "light")
        window = self.open("documentation/reactorcore/reactor/fetch(_:)")
        window.see("main h1", "fetch(_:)")
        window.see("nav a", "ReactorCore")
        self.assertEqual(window.errors(), [])


if __name__ == "__main__":
    unittest.main()
