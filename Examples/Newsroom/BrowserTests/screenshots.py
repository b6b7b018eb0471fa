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


def comment(news, driver, directory):
    """Comments that are published, wait and were refused; what waits; and the question before all is lost."""
    window = Window(driver, news.reader + "/articles/1")
    for name, text in (("grace", "I have heard it. It hums back."), ("ada", "Forty whales in one night! Who counts the counters?")):
        window.see("main h1")
        window.sign_in(name)
        window.write(text)
        window.see(".comment .text", text)
        window.wait("not published", lambda: len(news.ask("GET", "/articles/1/comments")) == (1 if name == "grace" else 2))
        if name == "grace":
            window.press("#account")
            window.see("#account", "Sign in")
    window.write("The lamp was lit in 1871, and the keeper wrote a line each night. " * 8)
    window.see(".comment.refused")
    window.turn("offline")
    for text in ("I shall visit it in spring.", "With a good coat."):
        window.write(text)
        window.see(".comment .text", text)
    for scheme in ("light", "dark"):
        for size in SIZES:
            prepare(driver, scheme, size)
            window.see("button.badge")
            window.run("document.activeElement.blur(); document.querySelector('.comments').scrollIntoView({behavior: 'instant'})")
            take(window, directory, f"comments-{size}-{scheme}")
    prepare(driver, "light", "narrow")
    window.press(".story .keep")
    window.run("scrollTo({top: 0, behavior: 'instant'})")
    window.press("button.badge")
    window.see("#changes", "Keep")
    take(window, directory, "changes-narrow-light")
    window.press("#changes .close")
    window.press("#account")
    window.see("#sign-out")
    window.press("#sign-out [type=submit]")
    window.see("#account", "Sign in")
    window.turn("offline")


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
        comment(news, driver, directory)
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
