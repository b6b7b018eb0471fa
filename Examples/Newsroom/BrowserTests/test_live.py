"""Two readers of one API, each with a layer of its own, side by side in a real browser."""

from newsroom import Connection, Page, Window, chromium
from test_newsroom import LIST, NewsroomTest
import test_newsroom

TEXT = ".comment .text"


def setUpModule():
    test_newsroom.driver = chromium()


def tearDownModule():
    test_newsroom.driver.quit()


class Live(NewsroomTest):
    def open_in(self, reader, path):
        """A window that notes that nobody has loaded it again."""
        window = Window(test_newsroom.driver, reader + path, is_new=bool(self.windows))
        window.run("window.isFirst = true")
        self.windows.append(window)
        return window

    def assert_not_reloaded(self):
        for window in self.windows:
            self.assertTrue(window.run("return window.isFirst"))

    def test_what_one_reader_changes_is_seen_by_the_other(self):
        mine, theirs = self.news.reader, self.news.another_reader()
        first, second = self.open_in(mine, "/articles/1"), self.open_in(theirs, "/articles/1")
        for window, name in ((first, "ada"), (second, "grace")):
            window.see("main h1")
            window.sign_in(name)
            window.see(".comments .note", "None yet")
        first.write("The lamp hears better than I do.")
        second.see(TEXT, "The lamp hears better than I do.")
        second.write("And it never sleeps.")
        first.see(TEXT, "And it never sleeps.")
        first.press(".comment .delete")
        second.wait("not deleted", lambda: second.texts(TEXT) == ["And it never sleeps."])
        # Nothing polls an article.
        self.news.ask("PATCH", "/admin/articles/1", {"title": "The lighthouse that could hear"})
        for window in (first, second):
            window.see("main h1", "The lighthouse that could hear")
        self.assert_not_reloaded()

    def test_the_reading_list_of_a_user_is_the_same_in_two_readers(self):
        mine, theirs = self.news.reader, self.news.another_reader()
        first, second = self.open_in(mine, "/"), self.open_in(theirs, "/")
        for window in (first, second):
            window.see(LIST)
            window.sign_in("ada")
        second.press("header nav [href='/reading-list']")
        second.see(".count", "Nothing yet")
        first.press(".keep[data-keep='3']")
        second.see(LIST, "Small computers")
        second.press(".keep[data-keep='3']")
        first.see(".keep[data-keep='3'][aria-pressed=false]")
        self.assert_not_reloaded()

    def test_ten_corrections_during_an_interruption_are_seen_after_it_with_twelve_requests(self):
        connection = Connection(self.news.api)
        self.addCleanup(connection.close)
        reader = self.news.another_reader(connection.address)
        window = self.open_in(reader, "/")
        window.see(LIST)
        pages = {number: Page(reader, f"/articles/{number}") for number in range(1, 11)}
        window.wait("not shown", lambda: all(page.value for page in pages.values()))
        # Once a change has come by the stream, what its beginning has caused is on its way, or over.
        self.news.ask("PATCH", "/admin/articles/1", {"note": "Before"})
        window.wait("not shown", lambda: pages[1].value.get("note") == "Before")
        connection.cut()
        # The title is shared by all lists and pages, the note is only in the article.
        titles, notes = ({number: f"{what} {number}" for number in pages} for what in ("Corrected", "Note"))
        for number in pages:
            self.news.ask("PATCH", f"/admin/articles/{number}", {"title": titles[number], "note": notes[number]})
        self.news.ask("DELETE", "/admin/requests")
        connection.mend()
        window.wait(
            "not corrected", lambda: {number: page.value.get("note") for number, page in pages.items()} == notes)
        window.wait("not corrected", lambda: set(titles.values()) <= set(window.texts(LIST)))
        asked = [one for one in self.news.requests("GET") if not one["path"].endswith(("/comments", "/events"))]
        self.assertLessEqual(len(asked), 12, asked)
        self.assert_not_reloaded()
