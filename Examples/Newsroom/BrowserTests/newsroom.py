"""The newsroom as a program, and Chromium to look at it."""

import functools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    sys.exit("error: Python's selenium is missing; on Debian: apt-get install python3-selenium")

PATIENCE = 60  # seconds that a condition may take; an outbox gives up a dead process's lease after 30


class Program:
    """A process of the newsroom, on ports that it keeps when it is started again."""

    def __init__(self, *arguments, temporary):
        self.binary = os.environ.get("NEWSROOM") or sys.exit("error: NEWSROOM does not say where the program is; use make test-browser")
        self.arguments, self.temporary = arguments, temporary
        self.start()

    def start(self, *ports):
        self.process = subprocess.Popen(
            [self.binary, *(ports or ("--port", "0", "--api-port", "0")), *self.arguments],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": self.temporary})

    def address(self, what):
        line = self.process.stdout.readline()
        found = re.match(rf"{what}: +(http://\S+)", line)
        if not found:
            raise RuntimeError(f"{what} did not start: {line!r}")
        return found[1]

    def stop(self, number=signal.SIGTERM):
        """Ends the program; gives its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.stdout.close()


class Newsroom:
    """API and web reader on free ports, with a store in a directory of their own; in one process, or in two."""

    def __init__(self, *arguments, keeps_store=True, is_apart=False):
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = pathlib.Path(self.temporary.name)
        store = ["--store", self.temporary.name] if keeps_store else []
        self.others = []
        make = functools.partial(Program, temporary=self.temporary.name)
        if is_apart:
            self.server = make("api", *store, *arguments)
            self.api = self.address_of_api()
            self.program = make("reader", "--api", self.api, *store)
        else:
            self.server = self.program = make(*store, *arguments)
            self.api = self.address_of_api()
        self.reader = self.program.address("The news reader")

    def address_of_api(self):
        address = self.server.address("The news API")
        self.server.address("The news desk")
        return address

    @property
    def ports(self):
        return ("--port", self.reader.rsplit(":", 1)[1], "--api-port", self.api.rsplit(":", 1)[1])

    def another_reader(self, api=None):
        """Starts a reader with a layer of its own; returns its address."""
        program = Program("reader", "--api", api or self.api, temporary=self.temporary.name)
        self.others.append(program)
        return program.address("The news reader")

    def start_server(self):
        self.server.start(*self.ports)
        self.address_of_api()

    def start_reader(self):
        self.program.start(*self.ports)
        self.program.address("The news reader")

    def stop(self, number=signal.SIGTERM):
        """Ends what runs; gives the worst exit status."""
        return max(abs(one.stop(number)) for one in dict.fromkeys((*self.others, self.program, self.server)))

    def close(self):
        status = self.stop()
        self.temporary.cleanup()
        return status

    def ask(self, method, path, body=None, base=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            (base or self.api) + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    def dials(self, outage=False, latency=0):
        self.ask("PATCH", "/admin/dials", {"outage": outage, "latency": latency})

    def requests(self, method=None, path=None):
        """What the API was asked, but for its own administration."""
        return [
            one for one in self.ask("GET", "/admin/requests")
            if method in (None, one["method"]) and path in (None, one["path"])
        ]

    def store_holds(self, text):
        """Whether a file of the reader does. The API's are its own."""
        return any(text.encode() in file.read_bytes() for file in (self.directory / "reader").rglob("*") if file.is_file())


class Connection:
    """Passes connections on to a server until it is cut. It keeps its port."""

    def __init__(self, address):
        host, port = address.removeprefix("http://").split(":")
        self.target, self.is_cut, self.sockets, self.lock = (host, int(port)), False, set(), threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if self.is_cut:
                    client.close()
                    continue
                server = socket.create_connection(self.target)
                self.sockets |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
        except OSError:
            pass
        self.end({source, sink})

    def end(self, sockets):
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        with self.lock:
            self.sockets -= sockets

    def cut(self):
        with self.lock:
            self.is_cut = True
            sockets = set(self.sockets)
        self.end(sockets)

    def mend(self):
        self.is_cut = False

    def close(self):
        self.listener.close()
        self.cut()


class Page:
    """A page of a reader without a browser: it follows the states of its screen."""

    def __init__(self, reader, screen):
        self.value, self.answer = None, urllib.request.urlopen(f"{reader}/events?screen={screen}&window={screen}", timeout=PATIENCE)
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        name = None
        try:
            for line in self.answer:
                name = line[7:-1].decode() if line.startswith(b"event: ") else name
                if name == "state" and line.startswith(b"data: "):
                    self.value = json.loads(line[6:]).get("value")
        except (OSError, ValueError, AttributeError):
            pass


def chromium():
    binary, driver = "/usr/bin/chromium", "/usr/bin/chromedriver"
    for path, package in ((binary, "chromium"), (driver, "chromium-driver")):
        if not os.path.exists(path):
            sys.exit(f"error: {path} is missing; on Debian: apt-get install {package}")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--hide-scrollbars", "--disable-dev-shm-usage", "--no-first-run", "--lang=en", "--force-color-profile=srgb"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


class Window:
    """One window of the browser; whatever is asked of it is asked in it."""

    def __init__(self, driver, address, is_new=False):
        self.driver = driver
        if is_new:
            driver.switch_to.new_window("window")
        self.handle = driver.current_window_handle
        driver.get(address)

    def here(self):
        self.driver.switch_to.window(self.handle)
        return self.driver

    def find(self, selector):
        return self.here().find_elements(By.CSS_SELECTOR, selector)

    def wait(self, what, condition):
        return WebDriverWait(self.here(), PATIENCE, 0.05).until(lambda _: condition(), what)

    def see(self, selector, text=""):
        """Waits until an element is displayed that holds the text."""
        script = """return [...document.querySelectorAll(arguments[0])]
          .find((one) => one.checkVisibility() && one.textContent.includes(arguments[1]))"""
        return self.wait(f"no {selector} with {text!r}", lambda: self.here().execute_script(script, selector, text))

    def miss(self, selector):
        """Waits until no such element is displayed."""
        script = "return ![...document.querySelectorAll(arguments[0])].some((one) => one.checkVisibility())"
        return self.wait(f"{selector} is still there", lambda: self.here().execute_script(script, selector))

    def press(self, selector):
        self.see(selector)
        self.here().execute_script("document.querySelector(arguments[0]).click()", selector)

    def pull(self, pixels):
        """One finger down the page."""
        self.here()
        for kind, points in [
            ("touchStart", [{"x": 200, "y": 300}]),
            ("touchMove", [{"x": 200, "y": 300 + pixels}]),
            ("touchEnd", []),
        ]:
            self.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def run(self, script, *arguments):
        return self.here().execute_script(script, *arguments)

    def focused(self):
        """Role or tag, and name, of what has the focus."""
        return self.run(
            "const one = document.activeElement; return (one.ariaLabel || one.textContent || one.name || one.id).trim()")

    def sign_in(self, name):
        self.press("#account")
        self.see("#sign-in")
        for field, text in (("name", name), ("password", "reactor")):
            self.find(f"#sign-in [name={field}]")[0].send_keys(text)
        self.press("#sign-in [type=submit]")
        self.see("#account", "Sign out")

    def write(self, text):
        """Comments on the article that is shown."""
        self.wait("an earlier comment is still there", lambda: self.run("return document.querySelector('#comment-text')?.value") == "")
        self.see("#comment-text")
        self.find("#comment-text")[0].send_keys(text)
        self.press(".write [type=submit]")

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector)

    def turn(self, name):
        """Turns a switch of the settings."""
        self.press("#settings")
        self.press(f"#switches [name={name}]")
        self.press("#switches .close")

    def errors(self):
        return [one["message"] for one in self.here().get_log("browser") if one["level"] == "SEVERE"]
