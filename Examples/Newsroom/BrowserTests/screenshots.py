"""Pictures of the newsroom, light and dark, wide and narrow, into the directory that is named."""

import base64
import pathlib
import sys

from newsroom import Newsroom, Window, chromium

SIZES = {"wide": (1280, 860, False), "narrow": (390, 844, True)}


def take(window, directory, name):
    picture = window.here().execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    (directory / f"newsroom-{name}.png").write_bytes(base64.b64decode(picture))


def prepare(driver, scheme, size):
    width, height, is_mobile = SIZES[size]
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_mobile})
    features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def main(directory):
    news, driver = Newsroom(), chromium()
    try:
        for scheme in ("light", "dark"):
            for size in SIZES:
                prepare(driver, scheme, size)
                window = Window(driver, news.reader + "/")
                window.see(".card h2 a")
                take(window, directory, f"list-{size}-{scheme}")
                window = Window(driver, news.reader + "/articles/1")
                window.see("main h1")
                take(window, directory, f"article-{size}-{scheme}")
        prepare(driver, "light", "wide")
        window = Window(driver, news.reader + "/authors/2")
        window.see("main h1")
        take(window, directory, "author-wide-light")
        window = Window(driver, news.reader + "/")
        window.see(".card h2 a")
        window.press("#settings")
        window.press("#switches [name=outage]")
        window.wait("no outage", lambda: news.ask("GET", "/admin/dials")["outage"])
        window.press("#switches .close")
        window.press("#refresh")
        window.see(".badge.offline")
        take(window, directory, "outage-wide-light")
        prepare(driver, "dark", "narrow")
        window.press("#settings")
        window.see("#switches")
        take(window, directory, "settings-narrow-dark")
        news.dials()
        inspector = Window(driver, news.reader + "/inspector", is_new=True)
        for scheme in ("light", "dark"):
            for size in SIZES:
                prepare(driver, scheme, size)
                inspector = Window(driver, news.reader + "/inspector")
                inspector.see("#body [role=row]", "/articles/1")
                inspector.wait("no counts", lambda: inspector.find("#requests")[0].text not in ("", "0"))
                if size == "wide":
                    inspector.run(
                        """[...document.querySelectorAll("#body [role=row]")]
                          .find((one) => one.textContent.includes("/articles/1")).click()""")
                    inspector.see("#d-runs", "network")
                take(inspector, directory, f"inspector-{size}-{scheme}")
    finally:
        driver.quit()
        news.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
