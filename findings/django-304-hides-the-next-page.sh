#!/usr/bin/env bash
# Django REST Framework with drf-link-header-pagination and Django's ConditionalGetMiddleware: a list that is an array, two elements a page,
# the next page in `Link`. A client has both pages of four notes; somebody adds a fifth note.
#
# Most would guess: the page that was the last has changed, since it has a next page now, so its validation is a 200 with the new `Link`;
#   or, if it is a 304, that it carries `Link`, as it carries the other fields that have changed.
# What is so: a 304 without `Link`. The new `Link` is in the answer to whoever asks without a validator, under the same ETag, so a client that
#   validates never learns that there is a third page. Notes 3 and 4 removed: page 1 is a 304, whose stored `Link` leads to a page that is a 404.
# Source: ConditionalGetMiddleware makes the ETag of the body alone (django.utils.cache.set_response_etag), and its 304 copies seven fields
#   and the cookies (_not_modified). RFC 9110 §8.8.1 and §15.4.5 allow both. The pagination is right, and so is the middleware; not together.
# Bites: every cache of such a list, on a device or before the server. Lists whose body has `next` or `count` are not concerned.
set -euo pipefail
django="5.2.19" framework="3.18.3" pagination="0.2.0"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check \
  "Django==$django" "djangorestframework==$framework" "drf-link-header-pagination==$pagination"
cat >"$work/notes.py" <<'PYTHON'
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server
import django
from django.conf import settings

settings.configure(
    SECRET_KEY="notes", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", DATABASES={}, INSTALLED_APPS=["rest_framework"],
    MIDDLEWARE=["django.middleware.http.ConditionalGetMiddleware"],
    REST_FRAMEWORK={
        "DEFAULT_PAGINATION_CLASS": "drf_link_header_pagination.LinkHeaderPagination", "PAGE_SIZE": 2,
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": [], "UNAUTHENTICATED_USER": None})
django.setup()

from django.core.wsgi import get_wsgi_application
from django.urls import path
from rest_framework import generics, serializers

class Note:
    def __init__(self, id): self.id = id

class NoteSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    def create(self, data):
        notes.append(Note(data["id"]))
        return notes[-1]

notes = [Note(id) for id in range(1, 5)]

class Notes(generics.ListCreateAPIView):
    serializer_class = NoteSerializer
    def get_queryset(self): return list(notes)
    def delete(self, request):
        from rest_framework.response import Response
        del notes[2:]
        return Response(status=204)

urlpatterns = [path("notes/", Notes.as_view())]

class Quiet(WSGIRequestHandler):
    def log_message(self, *_): pass

server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$work/client.py" <<'PYTHON'
import http.client, re, sys

def ask(method, target, body=None, **fields):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
    connection.request(method, target, body, {name.replace("_", "-"): value for name, value in fields.items()})
    response = connection.getresponse()
    response.read()
    return response

def next_page(response):
    found = re.search(r'page=(\d+)[^>]*>;\s*rel="next"', response.headers.get("Link") or "")
    return found.group(1) if found else "none"

def shown(response):
    return f"{response.status}, Link {'there' if response.headers.get('Link') else 'missing'}, next page {next_page(response)}"

first, last = ask("GET", "/notes/"), ask("GET", "/notes/?page=2")
tag = last.headers["ETag"]
print("the last page:", shown(last))
ask("POST", "/notes/", '{"id": 5}', Content_Type="application/json")
print("after a fifth note, validated:", shown(ask("GET", "/notes/?page=2", If_None_Match=tag)))
again = ask("GET", "/notes/?page=2")
print("after a fifth note, asked anew:", shown(again) + (", the same ETag" if again.headers["ETag"] == tag else ", another ETag"))
ask("DELETE", "/notes/")
print("notes 3 to 5 removed, page 1 validated:", shown(ask("GET", "/notes/", If_None_Match=first.headers["ETag"])))
print("…and page 2:", ask("GET", "/notes/?page=2").status)
PYTHON
"$work/venv/bin/python" "$work/notes.py" >"$work/port" 2>"$work/log" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
seen="$(timeout 30 python3 "$work/client.py" "$(cat "$work/port")")"
echo "Django $django, Django REST Framework $framework, drf-link-header-pagination $pagination"
echo "$seen"
[ "$seen" = "the last page: 200, Link there, next page none
after a fifth note, validated: 304, Link missing, next page none
after a fifth note, asked anew: 200, Link there, next page 3, the same ETag
notes 3 to 5 removed, page 1 validated: 304, Link missing, next page none
…and page 2: 404" ]
