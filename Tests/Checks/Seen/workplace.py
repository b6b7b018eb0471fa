"""A temporary folder with what PyPI and Debian have, and the programs that run from it, each ended by its own id."""

import contextlib
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


class Skipped(Exception):
    """A server that cannot be installed or started here; its text is one line."""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Workplace:
    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="reactor-seen-"))
        self.processes, self.debian_versions = [], {}
        self.pip = None

    def close(self):
        # Nothing stops it halfway: a gigabyte of small files takes its time.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for process in reversed(self.processes):
            self.end(process)
        shutil.rmtree(self.root, ignore_errors=True)

    def environment(self, **variables):
        """Without a HOME or settings of the user's, so that a server finds its defaults."""
        kept = {name: os.environ[name] for name in os.environ if name.startswith("PIP_") or name in ("PATH", "TMPDIR", "LANG")}
        return kept | {"HOME": str(self.root), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"} | variables

    def run(self, *command, limit=180, **variables):
        ended = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                               timeout=limit, env=self.environment(**variables))
        if ended.returncode:
            lines = (ended.stderr.strip() or ended.stdout.strip() or "nothing was printed").splitlines()
            raise Skipped(f"{pathlib.Path(str(command[0])).name} has ended with {ended.returncode}: {lines[-1]}")
        return ended.stdout

    def python(self, name, *packages):
        """Packages of PyPI in a folder of their own, which is what PYTHONPATH needs."""
        if self.pip is None:
            self.run(sys.executable, "-m", "venv", self.root / "pip")
            self.pip = self.root / "pip/bin/python"
        folder = self.root / "python" / name
        if packages and not folder.exists():
            self.run(self.pip, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder, *packages)
        return folder

    def debian(self, *packages):
        """Packages of Debian and what they need beyond this machine, unpacked and not installed. Their versions, by name."""
        folder, tree = self.root / "debian", self.root / "tree"
        archives = folder / packages[0]
        if not archives.exists():
            (archives / "partial").mkdir(parents=True)
            if not shutil.which("apt-get"):
                raise Skipped("there is no apt-get here")
            self.run("apt-get", "-qq", "-y", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", "-o",
                     f"Dir::Cache::archives={archives}", "--no-install-recommends", "--download-only", "--reinstall",
                     "install", *packages)
            for archive in archives.glob("*.deb"):
                self.run("dpkg-deb", "-x", archive, tree)
                name, version = archive.name.split("_")[:2]
                self.debian_versions[name] = version.split("%3a")[-1]
        return tree

    def libraries(self):
        """What programs of the tree need to find their libraries, which are not where the linker looks."""
        folders = [name for pattern in ("usr/lib/*-linux-gnu", "lib/*-linux-gnu", "usr/lib/trafficserver", "usr/lib/*-linux-gnu/varnish")
                   for name in glob.glob(str(self.root / "tree" / pattern))]
        return {"LD_LIBRARY_PATH": ":".join(folders)}

    def start(self, port, *command, wait=30, **variables):
        """Starts a program, and waits until it takes connections."""
        log = open(self.root / f"log-{port}", "wb")
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   cwd=self.root, env=self.environment(**variables), start_new_session=True)
        self.processes.append(process)
        until = time.monotonic() + wait
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                return process
            time.sleep(0.05)
        lines = (self.root / f"log-{port}").read_text(errors="replace").strip().splitlines()
        raise Skipped(f"{pathlib.Path(str(command[0])).name} does not listen: {lines[-1] if lines else 'it says nothing'}")

    def application(self, folder, name, port, *arguments, **variables):
        """Starts one of our small programs in apps, with the packages of a folder."""
        return self.start(port, self.pip or sys.executable, "-W", "ignore", HERE / "apps" / name, port, *arguments,
                          PYTHONPATH=str(folder), **variables)

    def end(self, process):
        if process not in self.processes:
            return
        self.processes.remove(process)
        # The group of the process is its own: what it has started ends with it.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=3)
