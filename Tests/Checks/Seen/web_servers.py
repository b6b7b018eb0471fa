"""What the guide says of web servers that compress: their tags, and what they do with them afterwards."""

import getpass

from api_servers import folder_of_files
from client import ask as send
from client import tag_of_coded
from workplace import free_port

HEADING = "Web servers"
TAG, REVALIDATION, MATCH = ((HEADING, name) for name in ("its tag", "a revalidation gives", "`If-Match`"))
GZIP = {"Accept_Encoding": "gzip"}
MODULES = ("mpm_event", "authz_core", "proxy", "proxy_http", "filter", "deflate", "mime", "dav", "dav_fs", "cgid", "headers",
           "cache", "cache_disk", "authz_host", "alias")


def tag(port, target="/note.json"):
    """What compression does to the tag, in the words of the table."""
    plain, coded = send(port, target), send(port, target, **GZIP)
    if coded["ETag"] == (plain["ETag"] or "")[:-1] + '-gzip"':
        return plain, coded, "with the suffix `-gzip`"
    word = tag_of_coded(plain, coded)
    return plain, coded, "unchanged" if word.startswith("the same") else word


def apache(place, port, text):
    """Starts Apache with lines of a configuration."""
    tree = place.root / "tree"
    folder = place.root / f"apache-{port}"
    (folder / "store").mkdir(parents=True)
    (folder / "types").write_text("application/json json\n")
    lines = [f"ServerRoot {folder}", "ServerName localhost", "PidFile pid", "DefaultRuntimeDir .", "ErrorLog error.log",
             f"Listen 127.0.0.1:{port}", f"Mutex file:{folder} default", f"TypesConfig {folder}/types"]
    lines += [f"LoadModule {name}_module {tree}/usr/lib/apache2/modules/mod_{name}.so" for name in MODULES]
    (folder / "httpd.conf").write_text("\n".join(lines + [text.replace("FOLDER", str(folder))]) + "\n")
    place.start(port, tree / "usr/sbin/apache2", "-f", folder / "httpd.conf", "-DFOREGROUND", **place.libraries())


def ask_apache(place):
    place.debian("apache2-bin")
    files, origin, port = folder_of_files(place), free_port(), free_port()
    place.application(place.root, "origin.py", origin)
    program = place.root / "cgi"
    program.mkdir(exist_ok=True)
    (program / "note").write_text("#!/bin/sh\ncat >/dev/null\nprintf 'Content-Type: text/plain\\r\\nETag: \"1\"\\r\\n\\r\\ncarried out'\n")
    (program / "note").chmod(0o755)
    drafts = place.root / "drafts"
    drafts.mkdir(exist_ok=True)
    (drafts / "note.json").write_bytes((files / "note.json").read_bytes())
    apache(place, port, f"""
DocumentRoot {files}
<Directory />
Require all granted
</Directory>
AddOutputFilterByType DEFLATE application/json
Alias /dav {drafts}
<Location /dav>
Dav On
</Location>
DavLockDB FOLDER/locks
ScriptSock FOLDER/socket
ScriptAlias /cgi {program}
ProxyPass /api http://127.0.0.1:{origin}/api""")
    _, coded, word = tag(port)
    again = [send(port, "/note.json", If_None_Match=coded["ETag"], **GZIP).status for _ in range(2)]
    writes = {}
    for name, target in (("proxy", "/api?tag=1"), ("DAV", "/dav/note.json"), ("CGI", "/cgi/note")):
        given = send(port, target, **GZIP)["ETag"] or '"1-gzip"'
        writes[name] = send(port, target, "PUT", b"{}", If_Match=given, **GZIP).status
    match = (f"{writes['proxy']} where Apache is a proxy or serves DAV" if writes["proxy"] == writes["DAV"]
             else f"{writes['proxy']} where Apache is a proxy, {writes['DAV']} where it serves DAV")
    match += "; ignored before a CGI program" if writes["CGI"] < 300 else f"; {writes['CGI']} before a CGI program"
    return {TAG: word, REVALIDATION: f"{again[0]}, always" if again == [200, 200] else f"{again[0]}", MATCH: match}


def ask_caddy(place):
    tree, port = place.debian("caddy"), free_port()
    file = place.root / "Caddyfile"
    file.write_text(f"{{\n admin off\n auto_https off\n}}\n:{port} {{\n bind 127.0.0.1\n root * {folder_of_files(place)}\n"
                    " encode gzip\n file_server\n}\n")
    place.start(port, tree / "usr/bin/caddy", "run", "--config", file, "--adapter", "caddyfile", XDG_DATA_HOME=str(place.root))
    _, coded, word = tag(port)
    return {TAG: word, REVALIDATION: str(send(port, "/note.json", If_None_Match=coded["ETag"], **GZIP).status)}


def ask_h2o(place):
    tree, port = place.debian("h2o"), free_port()
    file = place.root / "h2o.conf"
    file.write_text(f"listen:\n  host: 127.0.0.1\n  port: {port}\nuser: {getpass.getuser()}\ncompress: ON\nfile.mime.addtypes:\n"
                    "  \"application/json\":\n    extensions: [\".json\"]\n    is_compressible: YES\nhosts:\n  default:\n    paths:\n"
                    f"      /:\n        file.dir: {folder_of_files(place)}\n")
    place.start(port, tree / "usr/bin/h2o", "-c", file, **place.libraries())
    plain, coded, word = tag(port)
    own = send(port, "/note.json", If_None_Match=coded["ETag"], **GZIP).status
    weak = send(port, "/note.json", If_None_Match=f"W/{plain['ETag']}").status
    return {TAG: word, REVALIDATION: f"{weak} to its tag with `W/`" if own == 304 else f"{own}; {weak} to its tag with `W/`"}


def ask_lighttpd(place):
    tree, port = place.debian("lighttpd", "lighttpd-mod-deflate"), free_port()
    file = place.root / "lighttpd.conf"
    file.write_text(f'server.document-root = "{folder_of_files(place)}"\nserver.port = {port}\nserver.bind = "127.0.0.1"\n'
                    'server.modules = ("mod_deflate")\nmimetype.assign = (".json" => "application/json")\n'
                    'deflate.mimetypes = ("application/json")\ndeflate.allowed-encodings = ("gzip")\n')
    place.start(port, tree / "usr/sbin/lighttpd", "-D", "-f", file, "-m", tree / "usr/lib/lighttpd", **place.libraries())
    _, coded, word = tag(port)
    return {TAG: word, REVALIDATION: str(send(port, "/note.json", If_None_Match=coded["ETag"], **GZIP).status)}


def nginx(place, port, text):
    """Starts nginx with lines for its http block."""
    tree, folder = place.debian("nginx"), place.root / f"nginx-{port}"
    folder.mkdir()
    paths = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}{text.replace('FOLDER', str(folder))}\n}}\n")
    place.start(port, tree / "usr/sbin/nginx", "-c", folder / "nginx.conf", "-e", folder / "error.log", **place.libraries())


def ask_nginx(place):
    port, files, drafts = free_port(), folder_of_files(place), place.root / "uploads"
    drafts.mkdir(exist_ok=True)
    (drafts / "note.json").write_text("{}")
    nginx(place, port, f"""
types {{ application/json json; }}
gzip on; gzip_types application/json;
server {{ listen 127.0.0.1:{port};
location / {{ root {files}; }}
location /uploads {{ root {place.root}; dav_methods PUT; }} }}""")
    plain, coded, word = tag(port)
    again = send(port, "/note.json", If_None_Match=coded["ETag"], **GZIP)
    strong = ", with the strong tag" if again["ETag"] == plain["ETag"] else ""
    match = send(port, "/note.json", If_Match=coded["ETag"], **GZIP).status
    put = send(port, "/uploads/note.json", "PUT", b"{}", If_Match='"never"').status
    return {TAG: word, REVALIDATION: f"{again.status}{strong}",
            MATCH: f"{match}; " + ("`dav_methods PUT` ignores it" if put < 300 else f"`dav_methods PUT` gives {put}")}


def varnish(place, port, origin, text=""):
    """Starts Varnish before an origin, with lines of VCL."""
    tree, folder = place.debian("varnish"), place.root / f"varnish-{port}"
    folder.mkdir()
    (folder / "default.vcl").write_text(f'vcl 4.1;\nbackend default {{ .host = "127.0.0.1"; .port = "{origin}"; }}\n{text}\n')
    place.start(port, tree / "usr/sbin/varnishd", "-F", "-a", f"127.0.0.1:{port}", "-f", folder / "default.vcl", "-n", folder / "run",
                "-s", "malloc,16m", "-j", "none", "-T", "none", "-p", f"vcl_path={tree}/usr/share/varnish/vcl", **place.libraries())


def ask_varnish(place):
    origin, port = free_port(), free_port()
    place.application(place.root, "origin.py", origin)
    varnish(place, port, origin, "sub vcl_backend_response { set beresp.do_gzip = true; }")
    send(port, "/note?tag=1")
    coded = send(port, "/note?tag=1", **GZIP)
    return {TAG: "weak" if coded["ETag"] == 'W/"1"' and coded["Content-Encoding"] == "gzip" else f"{coded['ETag']}"}


SERVERS = (("Apache", "apache2-bin", ask_apache), ("Caddy", "caddy", ask_caddy), ("h2o", "h2o", ask_h2o),
           ("lighttpd", "lighttpd", ask_lighttpd), ("nginx", "nginx", ask_nginx), ("Varnish", "varnish", ask_varnish))


def ask(report, wanted, ask_row):
    for name, package, asking in SERVERS:
        if wanted(name):
            ask_row(report, name, package, asking, HEADING)
