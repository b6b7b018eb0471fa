"""The newsroom in a real browser. Waits are for what is to be seen, never for time to pass."""

import json
import signal
import unittest
import urllib.error

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from newsroom import Newsroom, Window, chromium

LIST = ".card h2 a"


def setUpModule():
    global driver
    driver = chromium()


def tearDownModule():
    driver.quit()


class NewsroomTest(unittest.TestCase):
    """A program of its own for each test, in a browser that has seen nothing."""

    allowed_errors = ()
    options = {}

    def setUp(self):
        self.news = Newsroom(**self.options)
        self.addCleanup(self.news.close)
        self.windows = []
        self.addCleanup(self.end)

    def open(self, path="/"):
        self.windows.append(Window(driver, self.news.reader + path, is_new=bool(self.windows)))
        return self.windows[-1]

    def begin_live(self):
        """Opens a window, and returns once changes arrive. What is shown as they begin is asked for twice; later screens are not."""
        self.open("/articles/12").see("html[data-live]")

    def end(self):
        errors = [one for window in self.windows for one in window.errors()]
        for window in self.windows[1:]:
            window.here().close()
        if self.windows:
            self.windows[0].here().get("about:blank")
        self.assertEqual(self.news.stop(), 0, "exit status")
        self.assertEqual([one for one in errors if not any(text in one for text in self.allowed_errors)], [])


class Reading(NewsroomTest):
    def test_the_list_appears_and_leads_to_an_article_and_its_author(self):
        window = self.open()
        window.see(LIST, "The lighthouse that learned to listen")
        self.assertGreaterEqual(len(window.find(".card")), 12)
        window.press(LIST)
        window.see("main h1", "The lighthouse that learned to listen")
        self.assertTrue(driver.title.startswith("The lighthouse"))
        window.press(".story .meta a")
        window.see("main h1", "Mara Lindqvist")
        window.see(LIST, "The lighthouse")
        driver.back()
        window.see("main h1", "The lighthouse that learned to listen")
        driver.back()
        window.see(f"{LIST}[aria-current=true]", "The lighthouse")

    def test_search_finds_as_one_types(self):
        window = self.open()
        window.find("#search input")[0].send_keys("fog")
        window.see(".count", "2 stories")
        self.assertEqual(window.run("return location.search"), "?q=fog")
        window.find("#search input")[0].send_keys(" harbour")
        window.see(".count", "1 story")
        self.assertEqual(window.focused(), "Search the news")
        # A search has a body (RFC 10008).
        self.assertTrue(self.news.requests("QUERY", "/search"))
        self.assertEqual(self.news.requests("GET", "/search"), [])

    def test_what_the_address_holds_is_text(self):
        window = self.open("/search?q=%3Cimg%20src=x%20onerror=alert(1)%3E")
        window.see("main h1", "“<img src=x onerror=alert(1)>”")
        self.assertEqual(window.find("main img"), [])

    def test_progress_is_shown_while_an_article_comes(self):
        self.news.dials(latency=1000)
        window = self.open("/articles/4")
        window.see(".skeleton")
        window.wait("no fraction", lambda: 0.3 < window.run("return document.getElementById('progress').value") < 1)
        window.see("main h1", "The choir")
        window.miss("#progress")


    def test_pulling_the_list_down_asks_anew_and_a_short_pull_does_not(self):
        self.begin_live()
        window = self.open()
        window.see(LIST)
        asked = len(self.news.requests("GET", "/articles"))
        window.pull(80)
        window.miss("#pull.ready")
        window.pull(200)
        window.wait("not asked", lambda: len(self.news.requests("GET", "/articles")) == asked + 1)
        window.miss("#pull.ready")
        self.assertEqual(self.news.requests("GET", "/articles")[-1]["status"], 304)


class FrontPage(NewsroomTest):
    """In a wide window; see below."""

    width = 1280

    def open(self, path="/"):
        window = super().open(path)
        metrics = {"width": self.width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
        window.here().execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        return window

    def end(self):
        for window in self.windows:
            window.here().execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        super().end()

    def test_the_front_page_goes_on_to_its_end_and_back_each_story_once(self):
        window = self.open()
        window.see(LIST)
        first = window.run("return document.querySelector('[data-article]').dataset.article")
        seen = {}

        def scrolled(direction):
            ids = window.run("return [...document.querySelectorAll('[data-article]')].map((one) => one.dataset.article)")
            self.assertEqual(len(ids), len(set(ids)))
            seen.update(dict.fromkeys(ids))
            window.run("scrollBy({ top: arguments[0], behavior: 'instant' })", direction * 2000)
            return ids

        window.wait("no end", lambda: scrolled(1) and "That is all." in window.texts(".end")[0])
        scrolled(1)
        self.assertEqual(len(seen), 84)
        # The limit has dropped the newest pages, which come back from the disk.
        window.wait("no beginning", lambda: scrolled(-1)[0] == first)

    def test_new_stories_come_in_above_without_a_jump(self):
        window = self.open()
        window.see("html[data-live]")
        window.see(LIST)
        for top in (0, 900, 3000):
            window.run("scrollTo({ top: arguments[0], behavior: 'instant' })", top)
            # The first story that is not above the window, and where it is.
            first = """return [...document.querySelectorAll('[data-article]')].find((one) => one.getBoundingClientRect().top >= 0).dataset.article"""
            place = "const box = document.querySelector(`[data-article='${arguments[0]}']`).getBoundingClientRect(); return [box.left, box.top]"
            story = window.run(first)
            before = window.run(place, story)
            self.news.ask("POST", "/admin/articles", {"title": f"News at {top}"})
            window.press("#refresh")
            window.see(".arrivals", "1 new story")
            for one, other in zip(window.run(place, story), before):
                self.assertAlmostEqual(one, other, delta=3)
            window.press(".arrivals")
            window.see(LIST, f"News at {top}")
            window.miss(".arrivals")

    def test_a_correction_is_seen_in_every_list(self):
        front, search, story = self.open(), self.open("/search?q=lighthouse"), self.open("/articles/1")
        front.see(LIST, "The lighthouse")
        search.see(LIST, "The lighthouse")
        story.see("main h1", "The lighthouse")
        self.news.ask("PATCH", "/admin/articles/1", {"title": "The lighthouse that could hear", "note": "It had always listened."})
        story.press("#refresh")
        story.see(".note", "It had always listened.")
        for window in (front, search):
            window.see(LIST, "The lighthouse that could hear")
            window.see(".corrected")

    def test_search_keeps_what_it_has_while_one_types_on(self):
        window = self.open()
        window.find("#search input")[0].send_keys("fog")
        window.see(".count", "2 stories")
        self.news.dials(latency=1500)
        window.find("#search input")[0].send_keys(" harbour")
        window.see("main.previous .count", "2 stories")
        self.assertEqual(window.find(".skeleton"), [])
        window.see(".count", "1 story")
        window.miss("main.previous .count")
        self.news.dials()


class NarrowFrontPage(FrontPage):
    width = 390


class Failing(NewsroomTest):
    allowed_errors = ("commands/refresh",)

    def test_in_an_outage_the_last_good_news_stays_and_recovers(self):
        window = self.open()
        window.see(LIST)
        window.press("#settings")
        window.press("#switches [name=outage]")
        window.press("#switches .close")
        window.wait("no outage", lambda: self.news.ask("GET", "/admin/dials")["outage"])
        window.press("#refresh")
        window.see(".badge.offline", "Offline")
        window.see(LIST, "The lighthouse")
        window.see("#announcement", "Offline")
        window.press("#settings")
        window.wait("the switch is off", lambda: window.run("return document.querySelector('[name=outage]').checked"))
        window.press("#switches [name=outage]")
        window.press("#switches .close")
        window.wait("an outage", lambda: not self.news.ask("GET", "/admin/dials")["outage"])
        window.press("#refresh")
        window.miss(".badge")
        self.assertGreaterEqual(len(window.find(".card")), 12)

    def test_what_was_never_seen_fails_with_a_way_to_try_again(self):
        self.news.dials(outage=True)
        window = self.open("/articles/2")
        window.see(".failed", "The news is out of order.")
        self.news.dials()
        window.press(".failed button")
        window.see("main h1", "A river comes back")


class Sharing(NewsroomTest):
    def test_two_pages_that_look_at_one_article_make_one_request(self):
        self.begin_live()
        self.news.dials(latency=1000)
        windows = [self.open("/articles/7"), self.open("/articles/7")]
        for window in windows:
            window.see("main h1", "Mapping the quiet parts of the sky")
        self.assertEqual(len(self.news.requests("GET", "/articles/7")), 1)
        self.news.dials()
        for number, window in enumerate(windows):
            window.press("#refresh")
            window.wait("not asked", lambda: len(self.news.requests("GET", "/articles/7")) == 2 + number)
        self.assertEqual(self.news.requests("GET", "/articles/7")[1]["status"], 304)

    def test_a_local_change_is_seen_in_every_window_before_the_api_knows(self):
        first = self.open()
        first.see(LIST)
        first.sign_in("ada")
        second = self.open("/articles/1")
        second.see("#account", "Sign out")
        second.see(".story .keep[aria-pressed=false]")
        third = self.open("/reading-list")
        third.see(".count", "Nothing yet")
        self.news.dials(latency=3000)
        first.press(".keep[data-keep='1']")
        second.see(".story .keep[aria-pressed=true]")
        third.see(LIST, "The lighthouse")
        self.assertEqual(self.news.requests("PUT"), [])
        self.news.dials()
        first.wait("the API does not know", lambda: self.news.requests("PUT", "/reading-list/1"))
        second.press(".story .keep")
        third.see(".count", "Nothing yet")
        first.see(".keep[data-keep='1'][aria-pressed=false]")

    def test_a_switch_is_seen_in_every_window(self):
        first, second = self.open(), self.open()
        for window in (first, second):
            window.press("#settings")
        first.press("#switches [name=power]")
        second.wait("not seen", lambda: second.run("return document.querySelector('[name=power]').checked"))
        first.press("#switches [name=outage]")
        second.wait("not seen", lambda: second.run("return document.querySelector('[name=outage]').checked"))


class SigningIn(NewsroomTest):
    allowed_errors = ("commands/sign-in",)

    def test_a_wrong_password_is_told(self):
        window = self.open()
        window.press("#account")
        window.find("#sign-in [name=name]")[0].send_keys("ada")
        window.find("#sign-in [name=password]")[0].send_keys("1815", Keys.ENTER)
        window.see("#sign-in .failure", "do not belong together")

    def test_an_expired_token_is_refreshed_once(self):
        first = self.open()
        first.see(LIST)
        first.sign_in("ada")
        second = self.open("/articles/5")
        second.see("main h1", "What the peat remembers")
        self.news.dials(latency=300)
        self.news.ask("DELETE", "/admin/tokens")
        self.news.ask("DELETE", "/admin/requests")
        for window in (first, second):
            window.press("#refresh")
        for path in ("/articles", "/articles/5"):
            first.wait(
                f"{path} was not answered",
                lambda: any(one["status"] in (200, 304) for one in self.news.requests("GET", path)))
        self.assertTrue([one for one in self.news.requests() if one["status"] == 401])
        self.assertEqual([one["status"] for one in self.news.requests("POST", "/session/refresh")], [200])
        first.miss(".badge")

    def test_signing_out_leaves_no_trace(self):
        first = self.open()
        first.see(LIST)
        first.sign_in("ada")
        second = self.open("/reading-list")
        second.see(".count", "Nothing yet")
        first.press(".keep[data-keep='3']")
        second.see(LIST, "Small computers")
        first.wait("nothing on disk", lambda: self.news.store_holds("ada-1815"))
        second.press("#account")
        for window in (first, second):
            window.see("#account", "Sign in")
        second.see(".failed", "Sign in to see this.")
        first.wait("still on disk", lambda: not self.news.store_holds("ada-1815"))
        for window in (first, second):
            window.miss(".keep[aria-pressed=true]")
            left = window.run(
                """return document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((one) => one.value)
                + JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])""")
            for trace in ("Lovelace", "ada-1815"):
                self.assertNotIn(trace, left)
        self.assertNotIn("Small computers", second.run("return document.querySelector('main').textContent"))

    def test_the_next_user_sees_nothing_of_the_last(self):
        window = self.open()
        window.see(LIST)
        window.sign_in("ada")
        window.press(".keep[data-keep='1']")
        window.wait("not kept", lambda: self.news.requests("PUT", "/reading-list/1"))
        window.press("#account")
        window.see("#account", "Sign in")
        window.sign_in("grace")
        window.see(".keep[data-keep='1'][aria-pressed=false]")
        window.press("header nav [href='/reading-list']")
        window.see(".count", "Nothing yet")


class Access(NewsroomTest):
    allowed_errors = ("",)

    def keys(self, *keys):
        for key in keys:
            ActionChains(driver).send_keys(key).perform()

    def tab_to(self, window, name):
        seen = []
        for _ in range(60):
            self.keys(Keys.TAB)
            seen.append(window.focused())
            if seen[-1].startswith(name):
                return
        self.fail(f"{name} is not reached: {seen}")

    def test_everything_is_reached_by_keyboard(self):
        window = self.open()
        window.see(LIST)
        self.keys(Keys.TAB)
        self.assertEqual(window.focused(), "Skip to the news")
        self.keys(Keys.ENTER)
        self.tab_to(window, "The lighthouse")
        self.keys(Keys.ENTER)
        window.see("main h1", "The lighthouse")
        window.wait("the heading has no focus", lambda: window.focused() == "The lighthouse that learned to listen")
        self.tab_to(window, "Mara Lindqvist")
        self.keys(Keys.ENTER)
        window.wait("the heading has no focus", lambda: window.focused() == "Mara Lindqvist")
        window.here().back()
        window.see("main .story")
        window.run("document.activeElement.blur()")
        self.tab_to(window, "Settings")
        self.keys(Keys.ENTER)
        window.see("#switches")
        self.assertEqual(window.focused(), "outage")
        self.keys(Keys.SPACE)
        window.wait("no outage", lambda: self.news.ask("GET", "/admin/dials")["outage"])
        self.keys(Keys.SPACE)
        window.wait("still an outage", lambda: not self.news.ask("GET", "/admin/dials")["outage"])
        self.keys(Keys.TAB, Keys.TAB, Keys.TAB, Keys.RIGHT)
        window.wait("no latency", lambda: self.news.ask("GET", "/admin/dials")["latency"] == 100)
        self.keys(Keys.ESCAPE)
        window.miss("#switches")
        self.assertEqual(window.focused(), "Settings")
        self.tab_to(window, "Sign in")
        self.keys(Keys.ENTER)
        window.see("#sign-in")
        self.keys("grace", Keys.TAB, "reactor", Keys.ENTER)
        window.see("#account", "Sign out")
        self.assertTrue(window.focused().startswith("Sign out"))

    def test_a_value_that_arrives_does_not_move_the_focus(self):
        first = self.open()
        first.see(LIST)
        first.sign_in("ada")
        for article in (3, 4):
            first.press(f".keep[data-keep='{article}']")
            first.see(f".keep[data-keep='{article}'][aria-pressed=true]")
            first.wait("not kept", lambda: self.news.requests("PUT", f"/reading-list/{article}"))
        second = self.open("/reading-list")
        second.see("[data-keep='4']")
        second.run("document.querySelector(\"[data-focus='keep-4']\").focus()")
        first.press(".keep[data-keep='3']")
        second.miss("[data-keep='3']")
        self.assertEqual(second.focused(), "Keep “The choir that rehearses on night trains”")

    def tree(self):
        driver.execute_cdp_cmd("Accessibility.enable", {})
        nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [
            (one["role"]["value"], one.get("name", {}).get("value", "").strip()) for one in nodes if not one.get("ignored")
        ]

    def test_roles_and_names_are_in_the_accessibility_tree(self):
        window = self.open()
        window.see(LIST)
        tree = self.tree()
        for node in (
            ("banner", ""), ("main", ""), ("contentinfo", ""), ("navigation", "Sections"), ("search", ""),
            ("searchbox", "Search the news"), ("button", "Refresh"), ("button", "Settings"), ("button", "Sign in"),
            ("link", "The Reactor, front page"), ("link", "Front page"), ("heading", "Front page"),
            ("heading", "The lighthouse that learned to listen"), ("button", "Keep “The lighthouse that learned to listen”"),
        ):
            self.assertIn(node, tree)
        self.assertGreaterEqual(len([one for one in tree if one[0] == "article"]), 12)
        self.assert_named(tree)
        window.press("#settings")
        window.see("#switches")
        tree = self.tree()
        for node in (
            ("dialog", "Settings"), ("switch", "Outage of the news API"), ("switch", "Offline"), ("switch", "Low-power mode"), ("slider", "Latency"),
            ("button", "Done"),
        ):
            self.assertIn(node, tree)
        self.assert_named(tree)
        window.press("#switches .close")
        window.press("#account")
        window.see("#sign-in")
        tree = self.tree()
        for node in (("dialog", "Sign in"), ("textbox", "Name"), ("textbox", "Password"), ("button", "Cancel")):
            self.assertIn(node, tree)
        self.assert_named(tree)

    def assert_named(self, tree):
        controls = {"button", "link", "searchbox", "textbox", "switch", "slider", "checkbox", "progressbar", "heading"}
        self.assertEqual([node for node in tree if node[0] in controls and not node[1]], [])


class Guarding(NewsroomTest):
    def test_pages_of_others_cannot_command(self):
        for path, headers, status in (
            ("/commands/sign-out", {"Origin": "http://elsewhere.example"}, 403), ("/commands/sign-out", {}, 403),
            ("/commands/sign-out", {"Host": "elsewhere.example", "Origin": "http://elsewhere.example"}, 421),
        ):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.news.ask("POST", path, {}, self.news.reader, headers)
            self.assertEqual(refused.exception.code, status)
            refused.exception.close()
        self.news.ask("POST", "/commands/sign-out", {}, self.news.reader, {"Origin": self.news.reader})


class Ending(unittest.TestCase):
    def test_a_signal_ends_it_with_pages_open_and_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            news = Newsroom(keeps_store=False)
            self.addCleanup(news.close)
            window = Window(driver, news.reader)
            window.see(LIST)
            self.assertTrue(list(news.directory.iterdir()))
            self.assertEqual(news.stop(number), 0)
            self.assertEqual(list(news.directory.iterdir()), [])
            window.see(".badge", "The reader has stopped")
            driver.get("about:blank")


if __name__ == "__main__":
    unittest.main(verbosity=2)
