"""Kinto in memory, open to everyone."""
import sys

from kinto import main
from waitress import serve

everyone = "system.Everyone"
serve(main({}, **{
    "kinto.storage_backend": "kinto.core.storage.memory", "kinto.cache_backend": "kinto.core.cache.memory",
    "kinto.permission_backend": "kinto.core.permission.memory", "kinto.userid_hmac_secret": "notes",
    "kinto.bucket_create_principals": everyone, "kinto.bucket_write_principals": everyone}),
    host="127.0.0.1", port=int(sys.argv[1]))
