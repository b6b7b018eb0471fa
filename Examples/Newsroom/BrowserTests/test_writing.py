"""What readers write, in a real browser: comments and the reading list, online, offline, refused, and across kill -9."""

import shutil
import signal

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from newsroom import chromium
from test_newsroom import LIST, NewsroomTest
import test_newsroom

THREE = ["The lamp hears better than I do.", "And it never sleeps.", "I shall visit it."]
TEXT = ".comment .text"


def setUpModule():
    test_newsroom.driver = chromium()


def tearDownModule():
    test_newsroom.driver.quit()


class WritingTest(NewsroomTest):
    def open_signed_in(self, path, see, name="ada"):
        window = self.open(path)
        window.see(see)
        window.sign_in(name)
        window.see(see)
        window.see(".keep[aria-pressed=false]")
        return window

    def on_server(self, article=1):
        return [one["text"] for one in self.news.ask("GET", f"/articles/{article}/comments")]

    def wait_for_server(self, window, texts, article=1):
        window.wait(f"the server has {self.on_server(article)}", lambda: self.on_server(article) == texts)


class Commenting(WritingTest):
    allowed_errors = ("commands/discard",)

    def test_a_comment_is_seen_at_once_everywhere_and_by_the_api(self):
        reader = self.open("/articles/1")
        reader.see(".comments .note", "None yet")
        reader.see(".invitation", "Sign in to comment")
        reader.miss(".write")
        reader.sign_in("ada")
        other = self.open("/articles/1")
        other.see(".write")
        self.news.dials(latency=2000)
        reader.write("A lamp with ears!")
        for window in (reader, other):
            window.see(".comment .meta", "Ada Lovelace")
            window.see(".comment .pending", "Sending")
        self.assertEqual(self.news.requests("POST", "/articles/1/comments"), [])
        self.news.dials()
        for window in (reader, other):
            window.miss(".comment .pending")
            window.see(TEXT, "A lamp with ears!")
        self.assertEqual(self.on_server(), ["A lamp with ears!"])
        reader.see("#announcement", "Comment published")
        reader.press(".comment .delete")
        other.miss(".comment")
        self.wait_for_server(reader, [])
        other.see(".comments .note", "None yet")

    def test_what_is_typed_stays_while_comments_come_and_go(self):
        first = self.open_signed_in("/articles/2", "main h1")
        second = self.open("/articles/2")
        second.see("#comment-text")
        second.find("#comment-text")[0].send_keys("Half a tho")
        first.write("First!")
        second.see(TEXT, "First!")
        second.press("#refresh")
        self.assertEqual(second.run("return document.activeElement.id"), "comment-text")
        ActionChains(test_newsroom.driver).send_keys("ught").perform()
        self.assertEqual(second.run("return document.querySelector('#comment-text').value"), "Half a thought")
        self.assertEqual(first.run("return document.querySelector('#comment-text').value"), "")

    def test_a_comment_is_text(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.write("<img src=x onerror=alert(1)>")
        window.see(TEXT, "<img src=x onerror=alert(1)>")
        self.assertEqual(window.find(".comments img"), [])

    def test_nobody_deletes_another_ones_comment(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.write("Mine")
        window.see(".comment .delete")
        window.press("#account")
        window.see("#account", "Sign in")
        window.see(TEXT, "Mine")
        window.miss(".comment .delete")
        window.sign_in("grace")
        window.see(TEXT, "Mine")
        window.miss(".comment .delete")

    def test_a_refused_comment_says_why_and_waits_for_a_decision(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.write("x" * 501)
        window.see(".comment.refused .reason", "Your text: A comment has at most 500 characters. This one has 501.")
        window.see("#announcement", "Refused. A comment has at most 500")
        window.see("button.badge", "1 change refused")
        window.press(".refused [data-focus^=retry]")
        window.wait("not sent again", lambda: len(self.news.requests("POST", "/articles/1/comments")) == 2)
        window.see(".comment.refused .reason", "Your text: A comment has at most 500 characters")
        window.press(".refused [data-focus^=discard]")
        window.miss(".comment.refused")
        window.miss(".badge")
        self.assertEqual(self.on_server(), [])

    def test_a_refused_comment_can_be_edited(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.write("y" * 501)
        window.press(".refused [data-focus^=edit]")
        window.miss(".comment.refused")
        self.assertEqual(window.run("return document.activeElement.id"), "comment-text")
        ActionChains(test_newsroom.driver).send_keys(Keys.BACKSPACE).perform()
        window.see("#comment-hint", "500 of 500 characters")
        window.press(".write [type=submit]")
        self.wait_for_server(window, ["y" * 500])

    def test_everything_is_named_and_reached_by_keyboard(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.turn("offline")
        window.see("#comment-text")
        window.run("document.querySelector('#comment-text').focus()")
        ActionChains(test_newsroom.driver).send_keys("By hand", Keys.TAB, Keys.ENTER).perform()
        window.see(".comment .pending", "Waiting for a connection")
        window.see("button.badge", "1 change waiting")
        window.see("#announcement", "Saved. Waiting for a connection")
        tree = window.here().execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = [
            (node["role"]["value"], node.get("name", {}).get("value", "").strip()) for node in tree if not node["ignored"]]
        for node in (
            ("region", "Comments 1"), ("textbox", "Add a comment"), ("button", "Post"), ("button", "1 change waiting"),
            ("button", "Delete your comment “By hand”"),
        ):
            self.assertIn(node, named)
        window.run("document.querySelector('button.badge').focus()")
        ActionChains(test_newsroom.driver).send_keys(Keys.ENTER).perform()
        window.see("#changes .waiting", "Comment “By hand”")
        # An attempt that is under way refuses it, and then the button is there still.
        discard = """
          if (document.querySelector("#changes").innerText.includes("Everything has been sent.")) return true
          document.querySelector("#changes [data-focus^=discard]")?.click()
          return false"""
        window.wait("not discarded", lambda: window.here().execute_script(discard))
        window.miss(".comment")
        ActionChains(test_newsroom.driver).send_keys(Keys.ESCAPE).perform()
        window.miss("#changes")


class Keeping(WritingTest):
    allowed_errors = ("commands/sign-out", "commands/refresh")

    def test_in_an_outage_a_change_waits_and_is_sent_afterwards(self):
        window = self.open_signed_in("/", LIST)
        self.news.dials(outage=True)
        window.press(".keep[data-keep='1']")
        window.see(".keep[data-keep='1'][aria-pressed=true][data-pending]")
        window.see("[data-pending-of='1']", "The news is out of order")
        self.news.dials()
        window.wait("not kept", lambda: self.news.requests("PUT", "/reading-list/1"))
        window.miss(".keep[data-pending]")
        window.see(".keep[data-keep='1'][aria-pressed=true]")

    def test_the_badge_keeps_the_focus_while_a_change_is_tried_again(self):
        window = self.open_signed_in("/", LIST)
        self.news.dials(outage=True, latency=300)
        window.press(".keep[data-keep='1']")
        window.see("button.badge", "1 change waiting")
        window.run("""
          document.querySelector("button.badge").focus()
          window.lost = 0
          new MutationObserver(() => { if (document.activeElement !== document.querySelector("button.badge")) window.lost += 1 })
            .observe(document.querySelector("#badges"), { childList: true })""")
        tries = len(self.news.requests("PUT", "/reading-list/1"))
        window.wait("not tried again", lambda: len(self.news.requests("PUT", "/reading-list/1")) >= tries + 2)
        self.assertEqual(window.run("return window.lost"), 0)
        self.news.dials()
        window.miss("button.badge")

    def test_the_reading_list_changes_offline_and_is_sent_afterwards(self):
        window = self.open_signed_in("/", LIST)
        for article in (1, 3):
            window.press(f".keep[data-keep='{article}']")
            window.wait("not kept", lambda: self.news.requests("PUT", f"/reading-list/{article}"))
        window.turn("offline")
        window.press(".keep[data-keep='1']")
        window.press(".keep[data-keep='2']")
        window.see("button.badge", "2 changes waiting")
        window.press("header nav [href='/reading-list']")
        window.see(LIST, "A river comes back")
        self.assertEqual(window.texts(LIST), ["Small computers, long memories", "A river comes back to the old town"])
        window.see(".card [data-pending-of='2']", "Waiting for a connection")
        self.assertEqual(self.news.requests("DELETE"), [])
        window.turn("offline")
        window.miss("button.badge")
        window.wait("not sent", lambda: self.news.requests("PUT", "/reading-list/2"))
        self.assertEqual(len(self.news.requests("DELETE", "/reading-list/1")), 1)
        window.miss("[data-pending-of='2']")
        self.assertEqual(window.texts(LIST), ["Small computers, long memories", "A river comes back to the old town"])

    def test_what_was_not_sent_is_taken_back_without_a_request(self):
        window = self.open_signed_in("/", LIST)
        window.turn("offline")
        window.press(".keep[data-keep='4']")
        window.see("button.badge", "1 change waiting")
        # The badge and the list are two streams: before the list has the article, the button would keep it again.
        window.see(".keep[data-keep='4'][aria-pressed=true]")
        window.press(".keep[data-keep='4']")
        window.miss("button.badge")
        window.see(".keep[data-keep='4'][aria-pressed=false]")
        window.turn("offline")
        window.press(".keep[data-keep='5']")
        window.wait("not kept", lambda: self.news.requests("PUT", "/reading-list/5"))
        self.assertEqual([one["path"] for one in self.news.requests("PUT") + self.news.requests("DELETE")], ["/reading-list/5"])

    def test_signing_out_warns_and_discards_only_when_told_to(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.turn("offline")
        window.write("Never sent")
        window.see(".comment .pending", "Waiting for a connection")
        window.press("#account")
        window.see("#sign-out", "One change has not been sent")
        window.press("#sign-out .close")
        window.miss("#sign-out")
        window.see(TEXT, "Never sent")
        window.press("#account")
        window.press("#sign-out [type=submit]")
        window.see("#account", "Sign in")
        window.miss(".comment")
        window.wait("still on disk", lambda: not self.news.store_holds("Never sent"))
        window.turn("offline")
        window.sign_in("ada")
        window.see("#comment-text")
        self.assertEqual(self.news.requests("POST", "/articles/1/comments"), [])


class Surviving(WritingTest):
    """Two processes, which are killed and started again."""

    allowed_errors = ("events?", "commands/")
    options = {"is_apart": True}

    def see_three(self, window):
        """Each once, in order, and none that waits."""
        window.wait(f"seen are {window.texts(TEXT)}", lambda: window.texts(TEXT) == THREE)
        window.miss(".comment .pending")
        window.miss("button.badge")
        self.assertEqual(window.texts(TEXT), THREE)

    def test_three_comments_offline_outlive_both_processes(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.turn("offline")
        for text in THREE:
            window.write(text)
            window.see(TEXT, text)
        window.see("button.badge", "3 changes waiting")
        self.assertEqual(self.on_server(), [])
        self.news.server.stop(signal.SIGKILL)
        self.news.program.stop(signal.SIGKILL)
        window.see(".badge", "The reader has stopped")
        # Without the API, the reader knows who is signed in, and what is to be sent.
        self.news.start_reader()
        again = self.open("/articles/1")
        again.see("#account", "Sign out")
        again.see("button.badge", "3 changes waiting")
        self.assertEqual(again.texts(TEXT), THREE)
        self.news.start_server()
        self.wait_for_server(again, THREE)
        for each in (window, again):
            self.see_three(each)
        self.assertEqual(len(self.news.requests("POST", "/articles/1/comments")), 3)
        fresh = self.open("/articles/1")
        self.see_three(fresh)

    def test_a_server_that_is_killed_under_way_gets_each_comment_once(self):
        window = self.open_signed_in("/articles/1", "main h1")
        window.see(".comments .note", "None yet")
        self.news.dials(latency=3000)
        for text in THREE:
            window.write(text)
            window.see(TEXT, text)
        window.see(".comment .pending", "Sending")
        self.news.server.stop(signal.SIGKILL)
        window.see(".comment .pending", "Not confirmed yet")
        self.news.program.stop(signal.SIGKILL)
        self.news.start_server()
        self.news.start_reader()
        self.wait_for_server(window, THREE)
        self.see_three(window)

    def test_the_reading_list_outlives_both_processes(self):
        window = self.open_signed_in("/", LIST)
        self.news.server.stop(signal.SIGKILL)
        window.press(".keep[data-keep='2']")
        window.see(".keep[data-keep='2'][aria-pressed=true][data-pending]")
        self.news.program.stop(signal.SIGKILL)
        self.news.start_reader()
        self.news.start_server()
        window.wait("not kept", lambda: self.news.requests("PUT", "/reading-list/2"))
        window.miss(".keep[data-pending]")
        window.see(".keep[data-keep='2'][aria-pressed=true]")

    def test_a_session_that_is_over_keeps_what_was_written_until_the_next(self):
        window = self.open_signed_in("/articles/1", "main h1")
        self.news.server.stop(signal.SIGKILL)
        window.write("Wait for me")
        window.see(".comment .pending", "The news is out of order")
        # A server that has forgotten everybody.
        shutil.rmtree(self.news.directory / "api")
        self.news.start_server()
        window.see(".comment .pending", "Waiting for you to sign in")
        window.press("button.badge")
        window.see("#sign-in")
        window.find("#sign-in [name=name]")[0].send_keys("grace")
        window.find("#sign-in [name=password]")[0].send_keys("reactor", Keys.ENTER)
        window.see("#sign-in .failure", "Ada Lovelace is signed in")
        window.find("#sign-in [name=name]")[0].clear()
        window.find("#sign-in [name=name]")[0].send_keys("ada", Keys.ENTER)
        window.miss("#sign-in")
        self.wait_for_server(window, ["Wait for me"])
        window.miss(".comment .pending")


if __name__ == "__main__":
    import unittest
    unittest.main(verbosity=2)
