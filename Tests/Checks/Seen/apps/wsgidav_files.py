"""WsgiDAV serves a folder: PORT FOLDER."""
import sys

from cheroot import wsgi
from wsgidav.wsgidav_app import WsgiDAVApp

app = WsgiDAVApp({
    "provider_mapping": {"/": sys.argv[2]}, "simple_dc": {"user_mapping": {"*": True}}, "verbose": 0,
    "logging": {"enable": False}})
wsgi.Server(("127.0.0.1", int(sys.argv[1])), app).safe_start()
