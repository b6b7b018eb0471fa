"""Flask serves a folder of files: PORT FOLDER."""
import sys

from flask import Flask

Flask("files", static_folder=sys.argv[2], static_url_path="/").run(host="127.0.0.1", port=int(sys.argv[1]))
