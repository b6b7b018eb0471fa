"""The inspector of the newsroom, in a real browser: it shows what the reader does while it does it."""

from test_newsroom import LIST, NewsroomTest
import test_newsroom
from newsroom import Connection, Window, chromium

ROW = "#body [role=row]:not([hidden])"


def setUpModule():
    test_newsroom.driver = chromium()


def tearDownModule():
    test_newsroom.driver.quit()


class Inspecting(NewsroomTest):
    allowed_errors = ("commands/",)

    def setUp(self):
        super().setUp()
        self.inspector = self.open("/inspector")

    def cell(self, path, column):
        """What the row of a key says in a column."""
        return self.inspector.run(
            """const row = [...document.querySelectorAll(arguments[0])].find((one) =>
                 one.querySelector('.key').title.endsWith(arguments[1]))
               return row && row.querySelector('.' + arguments[2]).textContent""", ROW, path, column)

    def says(self, path, column, text):
        self.inspector.wait(
            f"{column} of {path} is {self.cell(path, column)!r}, not {text!r}",
            lambda: text in (self.cell(path, column) or ""))

    def happened(self, text):
        self.inspector.press("#tab-events")
        self.inspector.see("#log li", text)
        self.inspector.press("#tab-keys")

    def choose(self, path):
        self.inspector.run(
            """[...document.querySelectorAll(arguments[0])].find((one) =>
                 one.querySelector('.key').title.endsWith(arguments[1])).click()""", ROW, path)
        self.inspector.see("#d-key", path)

    def test_two_windows_on_one_article_are_two_observers_and_one_request(self):
        self.begin_live()
        for _ in range(2):
            self.open("/articles/7").see("main h1", "Mapping the quiet parts of the sky")
        self.says("/articles/7", "state", "fresh")
        self.says("/articles/7", "observers", "2")
        self.says("/articles/7", "origin", "network")
        self.choose("/articles/7")
        self.inspector.see("#d-runs", "network")
        self.inspector.see("#d-runs", "parsing")
        self.inspector.see("#d-runs", "save")
        self.assertEqual(len(self.news.requests("GET", "/articles/7")), 1)

    def test_an_outage_and_the_recovery_are_seen(self):
        window = self.open("/articles/2")
        window.see("main h1", "A river comes back")
        self.news.dials(outage=True)
        window.press("#refresh")
        window.see(".badge.offline")
        self.inspector.wait("no failure", lambda: self.inspector.find("#failures")[0].text not in ("", "0"))
        self.happened("503")
        self.news.dials()
        window.press("#refresh")
        window.miss(".badge")
        self.says("/articles/2", "state", "fresh")

    def test_going_offline_is_felt_by_the_reader(self):
        self.begin_live()
        window = self.open("/articles/2")
        window.see("main h1", "A river comes back")
        self.inspector.press("#offline")
        self.inspector.see("#offline[aria-checked=true]")
        before = len(self.news.requests("GET", "/articles/2"))
        window.press("#refresh")
        window.see(".badge.offline")
        self.assertEqual(len(self.news.requests("GET", "/articles/2")), before)
        self.inspector.press("#offline")
        self.inspector.see("#offline[aria-checked=false]")
        window.press("#refresh")
        window.miss(".badge.offline")

    def test_what_one_invalidates_there_is_asked_for_anew(self):
        self.begin_live()
        window = self.open("/articles/2")
        window.see("main h1", "A river comes back")
        self.says("/articles/2", "state", "fresh")
        self.choose("/articles/2")
        self.inspector.see("#detail button", "Invalidate")
        self.inspector.run(
            "[...document.querySelectorAll('#detail button')].find((one) => one.textContent === 'Invalidate').click()")
        window.wait("not asked", lambda: len(self.news.requests("GET", "/articles/2")) == 2)
        self.says("/articles/2", "state", "fresh")
        self.happened("invalidated")

    def test_the_stream_of_changes_is_seen_with_what_it_tells_and_its_interruption(self):
        connection = Connection(self.news.api)
        self.addCleanup(connection.close)
        reader = self.news.another_reader(connection.address)
        for path in ("/articles/7", "/inspector"):
            self.windows.append(Window(test_newsroom.driver, reader + path, is_new=True))
        window, inspector = self.windows[-2:]
        window.see("main h1")
        inspector.press("#tab-streams")
        inspector.see(".stream h2", "live")
        self.news.ask("PATCH", "/admin/articles/7", {"note": "Corrected"})
        inspector.see(".stream .log li", "/articles/7")
        inspector.see(".stream .facts", "mark")
        inspector.see(".stream .facts", "Last byte")
        connection.cut()
        inspector.see(".stream h2", "waiting")
        inspector.see(".stream .facts", "Next attempt")
        connection.mend()
        inspector.see(".stream h2", "live")
        inspector.see(".stream .log li", "connects, behind its position")

    def test_an_action_shows_the_fields_that_it_changed_and_the_values_that_may_be_seen(self):
        for article in (2, 7):
            self.open(f"/articles/{article}").see("main h1")
        self.inspector.press("#tab-flux")
        self.inspector.see("#actions .fields li", "SelectionStore.article: + 2")
        self.inspector.see("#actions .fields li", "SelectionStore.article: 2 → 7")

    def test_signing_in_a_local_change_one_refresh_and_signing_out_are_seen_without_a_secret(self):
        window = self.open()
        window.see(LIST)
        window.sign_in("ada")
        self.inspector.press("#tab-flux")
        self.inspector.see("#actions li", "SessionStore")
        self.inspector.see("#actions .fields li", "SessionStore.user.name added")
        self.inspector.press("#tab-keys")
        window.press(".keep[data-keep='1']")
        self.happened("outbox")
        window.wait("not kept", lambda: self.news.requests("PUT", "/reading-list/1"))
        self.news.ask("DELETE", "/admin/tokens")
        self.news.ask("DELETE", "/admin/requests")
        window.press("#refresh")
        window.wait("no refresh", lambda: self.news.requests("POST", "/session/refresh"))
        self.assertEqual([one["status"] for one in self.news.requests("POST", "/session/refresh")], [200])
        window.press("#account")
        window.see("#account", "Sign in")
        self.happened("removed")
        self.inspector.wait("the list is still there", lambda: not self.cell("/reading-list", "state"))
        left = self.inspector.run("return document.documentElement.outerHTML")
        for secret in ("ada-1815", "Lovelace", "Bearer"):
            self.assertNotIn(secret, left)

    def test_every_control_has_a_role_and_a_name(self):
        self.open("/articles/2").see("main h1")
        self.says("/articles/2", "state", "fresh")
        self.choose("/articles/2")
        tree = self.inspector.here().execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        controls = [
            (node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in tree
            if not node["ignored"] and node["role"]["value"] in
            ("button", "tab", "switch", "searchbox", "combobox", "grid", "columnheader", "tabpanel")]
        self.assertEqual([role for role, name in controls if not name], [])
        rows = self.inspector.run("return [...document.querySelectorAll(arguments[0])].map((one) => one.ariaLabel)", ROW)
        self.assertTrue(any(name.endswith("/articles/2, fresh") for name in rows), rows)
        for one in (("switch", "Go offline"), ("tab", "Keys"), ("searchbox", "Filter keys"), ("grid", "Keys"),
                    ("button", "Refetch"), ("button", "Invalidate"), ("button", "Remove"), ("button", "Close details")):
            self.assertIn(one, controls)
