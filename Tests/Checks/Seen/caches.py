"""What the guide says of caches before the server: ages, stale answers, their own 304, and writes."""

import concurrent.futures
import json
import time

from client import ask as send
from web_servers import apache, nginx, varnish
from workplace import free_port

HEADING = "Caches before the server"
HIT, MISS, STALE, UNCHANGED, WRITTEN = ((HEADING, name) for name in (
    "`Age` of a hit", "`Age` of a miss", "stale, with its origin away", "a 304 of its own", "after a `PUT` or `PATCH`"))


def start_apache(place, port, origin):
    place.debian("apache2-bin")
    apache(place, port, f"CacheRoot FOLDER/store\nCacheEnable disk /\nProxyPass / http://127.0.0.1:{origin}/ retry=0")


def start_nginx(place, port, origin):
    nginx(place, port, f"""
proxy_cache_path FOLDER/store keys_zone=notes:1m;
server {{ listen 127.0.0.1:{port}; location / {{ proxy_cache notes; proxy_pass http://127.0.0.1:{origin}; }} }}""")


def start_haproxy(place, port, origin):
    tree, file = place.debian("haproxy"), place.root / f"haproxy-{port}.cfg"
    file.write_text(f"""defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
cache notes
  total-max-size 4
frontend clients
  bind 127.0.0.1:{port}
  default_backend origin
backend origin
  http-request cache-use notes
  http-response cache-store notes
  server only 127.0.0.1:{origin}
""")
    place.start(port, tree / "usr/sbin/haproxy", "-db", "-f", file, **place.libraries())


def start_squid(place, port, origin):
    tree, folder = place.debian("squid"), place.root / f"squid-{port}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    place.root.chmod(0o755)
    (folder / "squid.conf").write_text(f"""http_port 127.0.0.1:{port} accel defaultsite=127.0.0.1
cache_peer 127.0.0.1 parent {origin} 0 no-query originserver name=only
http_access allow all
cache_peer_access only allow all
cache_mem 8 MB
pid_filename none
access_log none
cache_log {folder}/cache.log
cache_store_log none
coredump_dir {folder}
netdb_filename none
pinger_enable off
mime_table {tree}/usr/share/squid/mime.conf
icon_directory {tree}/usr/share/squid/icons
error_directory {tree}/usr/share/squid/errors/templates
unlinkd_program /bin/true
shutdown_lifetime 1 seconds
""")
    place.start(port, tree / "usr/sbin/squid", "-N", "-f", folder / "squid.conf", **place.libraries())


def start_traffic_server(place, port, origin):
    tree, folder = place.debian("trafficserver"), place.root / f"ats-{port}"
    settings, package = folder / "etc", tree / "etc/trafficserver"
    for name in ("var", "log", "run", "cache"):
        (folder / name).mkdir(parents=True)
    place.run("cp", "-r", package, settings)
    (settings / "storage.config").write_text(f"{folder}/cache 32M\n")
    (settings / "remap.config").write_text(f"map / http://127.0.0.1:{origin}/\n")
    with (settings / "records.config").open("a") as file:
        for name, kind, value in (("http.server_ports", "STRING", f"{port}:ip-in=127.0.0.1"), ("admin.user_id", "STRING", "#-1"),
                                  ("body_factory.template_sets_dir", "STRING", settings / "body_factory"),
                                  ("exec_thread.autoconfig", "INT", 0), ("exec_thread.limit", "INT", 2)):
            file.write(f"CONFIG proxy.config.{name} {kind} {value}\n")
    root = folder / "runroot.yaml"
    root.write_text("".join(f"{name}: {value}\n" for name, value in {
        "prefix": folder, "exec_prefix": tree / "usr", "bindir": tree / "usr/bin", "sbindir": tree / "usr/bin", "sysconfdir": settings,
        "datadir": tree / "usr/share/trafficserver", "libexecdir": tree / "usr/lib/trafficserver/modules", "localstatedir": folder / "var",
        "runtimedir": folder / "run", "logdir": folder / "log", "cachedir": folder / "cache"}.items()))
    place.start(port, tree / "usr/bin/traffic_server", f"--run-root={root}", **place.libraries())


def count(origin, path):
    return int(send(origin, f"/count?of={path}").body)


def number(answer):
    return json.loads(answer.body)["number"]


def ages(port):
    """The Age of a hit and of a miss, in the words of the table."""
    send(port, "/plain")
    given, slow = send(port, "/given?age=5"), send(port, "/slow?slow=2")
    time.sleep(2.1)
    # Traffic Server can take the time from when it last had something to do, so it is asked once before.
    for _ in range(2):
        plain, hit = send(port, "/plain")["Age"], send(port, "/given?age=5")["Age"]
        time.sleep(0.5)
    none = send(port, "/new")["Age"]
    counted = plain is not None and int(plain) >= 2 and hit is not None and int(hit) >= 7
    words = "none, or the origin's, unchanged" if (plain, hit) == (None, "5") else "counted" if counted else f"{plain}, or {hit} for 5"
    if given["Age"] is None:
        missed = "without the origin's"
    elif slow["Age"] and int(slow["Age"]) >= 1:
        missed = "counts the delay"
    else:
        missed = "the origin's" if none is None else none
    return {HIT: words, MISS: missed}


def unchanged(port):
    """What a 304 of the cache's own lacks or has, in the words of the table."""
    first = send(port, "/own?tag=1")
    time.sleep(1.1)
    again = send(port, "/own?tag=1", If_None_Match='"1"')
    if again.status != 304:
        return str(again.status)
    if not again["Age"] and first["Age"]:
        return "without `Age`, with a new `Date`" if again["Date"] != first["Date"] else "without `Age`"
    if not again["ETag"]:
        return "without `ETag`"
    return "with `Age`" if again["Age"] else "with `Cache-Control`" if again["Cache-Control"] else "with neither `Age` nor `Cache-Control`"


def after_write(port):
    keeping = []
    for method in ("PUT", "PATCH"):
        target = f"/written-by-{method}"
        first = send(port, target)
        send(port, target, method, b"{}")
        if number(send(port, target)) == number(first):
            keeping.append(f"`{method}`")
    return "asks" if not keeping else "keeps its copy" if len(keeping) == 2 else f"asks; keeps its copy after {keeping[0]}"


def stale(place, start):
    """The answers to what is stored and stale, when nothing listens where the origin was."""
    origin, port = free_port(), free_port()
    process = place.application(place.root, "origin.py", origin)
    start(place, port, origin)
    targets = ("/a?life=1&tag=1", "/b?life=1&tag=1&sie=60")
    for target in targets:
        send(port, target)
    place.end(process)
    time.sleep(2.1)
    answers = [send(port, target) for target in targets]
    statuses = sorted({answer.status for answer in answers})
    if min(statuses) >= 500:
        return statuses, "503 or 504, also within `stale-if-error`" if set(statuses) <= {503, 504} else f"{statuses}"
    tagged = send(port, targets[0], If_None_Match='"1"').status
    if answers[0].status == 200 and answers[0]["Age"] is None:
        return statuses, "200 without `Age`" + ("; no 304" if tagged == 200 else "")
    return statuses, f"{answers[0].status} with `Age` {answers[0]['Age']}"


def collapsed(port, origin, slow):
    """How many requests five clients at a cold page cost, where the origin takes so many seconds."""
    path = f"/cold-{slow}"
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda _: send(port, f"{path}?slow={slow}"), range(5)))
    return count(origin, path)


class Findings:
    """What the sentences below the table name several caches in."""

    def __init__(self):
        self.kept, self.shared = [], []

    def note(self, name, port):
        first = number(send(port, "/kept"))
        if number(send(port, "/kept", Cache_Control="no-cache")) == first:
            self.kept.append(name)
        send(port, "/private", Authorization="Basic YTpi")
        if number(send(port, "/private", Authorization="Basic Yzpk")) == 1:
            self.shared.append(name)

    def sentences(self):
        yield f"A request with `no-cache` gets the stored copy from {listing(self.kept)}."
        one = len(self.shared) == 1
        yield (f"{listing(self.shared)} {'stores' if one else 'store'} what answers a request with `Authorization`, "
               f"and {'gives' if one else 'give'} it to everybody.")


def listing(names):
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names) or "nobody"


def ask_cache(place, name, start, findings):
    origin, port = free_port(), free_port()
    place.application(place.root, "origin.py", origin)
    start(place, port, origin)
    seen = ages(port) | {UNCHANGED: unchanged(port), WRITTEN: after_write(port)}
    findings.note(name, port)
    if name == "Varnish":
        requests = collapsed(port, origin, 2)
        seen["sentence"] = "Varnish sends equal requests once." if requests == 1 else f"Varnish sends five equal requests {requests} times."
        seen[STALE] = varnish_grace(place, start)
    elif name == "Traffic Server":
        short, long = collapsed(port, origin, 0.4), collapsed(port, origin, 3)
        seen["sentence"] = ("Traffic Server lets them wait for the first, for a second." if short == 1 < long
                            else f"Traffic Server sends five equal requests {short} times, and slow ones {long} times.")
    elif name == "Squid":
        send(port, "/again?life=1&tag=1")
        time.sleep(2.1)
        whole = send(port, "/again?life=1&tag=1", If_None_Match='"1"').status
        seen["sentence"] = f"Squid sends the whole {whole} where a conditional request makes it ask the origin."
    if name in ("Apache", "Squid"):
        seen[STALE] = stale(place, start)[1]
    return seen


def varnish_grace(place, start):
    """Within the grace of ten seconds, and after it."""
    origin, port = free_port(), free_port()
    process = place.application(place.root, "origin.py", origin)
    start(place, port, origin)
    send(port, "/a?life=1")
    place.end(process)
    time.sleep(3)
    within = send(port, "/a?life=1")
    time.sleep(9)
    after = send(port, "/a?life=1").status
    if within.status == 200 and after >= 500:
        return "within its grace, `Age` counted" if int(within["Age"] or 0) >= 2 else "within its grace"
    return f"{within.status}, and {after} after the grace"


CACHES = (("Apache", "apache2-bin", start_apache), ("HAProxy", "haproxy", start_haproxy), ("nginx", "nginx", start_nginx),
          ("Squid", "squid", start_squid), ("Traffic Server", "trafficserver", start_traffic_server),
          ("Varnish", "varnish", varnish))


def ask(report, wanted, ask_row):
    findings, asked = Findings(), 0
    for name, package, start in CACHES:
        if wanted(name):
            skipped = report.skipped
            ask_row(report, name, package, lambda place: ask_cache(place, name, start, findings), HEADING)
            asked += skipped == report.skipped
    if asked == len(CACHES):
        print("The caches together")
        for sentence in findings.sentences():
            report.sentence(sentence)
