#!/usr/bin/env bash
# tuspyserver, resumable uploads (tus 1.0.0) for FastAPI, and tuspy, the client of the protocol's own project: an upload without metadata, as
# tuspy sends it unless it is told otherwise, stops after its first chunk and goes on later.
#
# Most would guess: it goes on. Upload-Metadata is optional (tus 1.0.0, Creation: "The Client MAY supply"), and the server has taken the
#   upload without it: 201 for the creation, 204 for the first chunk.
# What is so: the creation and the chunks are taken, but the HEAD that asks how far the upload has come is a 400, always, so tuspy fails to
#   resume it. With `filename` and `filetype` in the metadata, the same goes on. An upload that is never interrupted needs no HEAD, and
#   passes each test.
# Source: core_head_route (tuspyserver/routes/core.py) wants both of them, or their other names `name` and `type`, from each upload that is
#   not a part of another; the route of the creation does not.
# Bites: uploads from phones, which are the reason to resume: they begin anew or fail for good.
set -euo pipefail
tuspyserver="4.4.3" tuspy="1.1.0" uvicorn="0.54.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "tuspyserver==$tuspyserver" "tuspy==$tuspy" "uvicorn==$uvicorn"
mkdir "$work/files"
cat >"$work/uploads.py" <<'PYTHON'
import socket, sys
import uvicorn
from fastapi import FastAPI
from tuspyserver import create_tus_router

app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=sys.argv[1]))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run([listener])
PYTHON
cat >"$work/client.py" <<'PYTHON'
import io, logging, sys
from tusclient.client import TusClient
from tusclient.exceptions import TusCommunicationError

logging.disable()
client = TusClient(f"http://127.0.0.1:{sys.argv[1]}/files")
for metadata in ({}, {"filename": "notes.txt", "filetype": "text/plain"}):
    uploader = client.uploader(file_stream=io.BytesIO(b"0123456789"), chunk_size=4, metadata=metadata)
    uploader.upload_chunk()
    try:
        later = client.uploader(file_stream=io.BytesIO(b"0123456789"), chunk_size=4, metadata=metadata, url=uploader.url)
        begin = later.offset
        later.upload()
        outcome = f"goes on at {begin}, ends at {later.offset}"
    except TusCommunicationError as error:
        outcome = f"fails with {error.status_code}"
    print(f"metadata {list(metadata)}: after 4 of 10 bytes at {uploader.offset}, later {outcome}")
PYTHON
"$work/venv/bin/python" "$work/uploads.py" "$work/files" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 "$work/venv/bin/python" "$work/client.py" "$(cat "$work/port")")"
echo "tuspyserver $tuspyserver, tuspy $tuspy"
echo "$seen"
[ "$seen" = "metadata []: after 4 of 10 bytes at 4, later fails with 400
metadata ['filename', 'filetype']: after 4 of 10 bytes at 4, later goes on at 4, ends at 10" ]
