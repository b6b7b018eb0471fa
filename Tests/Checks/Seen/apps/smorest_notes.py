"""A note behind flask-smorest, with its ETag."""
import sys

from flask import Flask
from flask.views import MethodView
from flask_smorest import Api, Blueprint
from marshmallow import Schema, fields

app = Flask("notes")
app.config.update(API_TITLE="Notes", API_VERSION="1", OPENAPI_VERSION="3.0.2")
api = Api(app)
blueprint = Blueprint("notes", "notes", url_prefix="/note")
note = {"title": "One"}


class NoteSchema(Schema):
    title = fields.String()


@blueprint.route("/")
class One(MethodView):
    @blueprint.etag
    @blueprint.response(200, NoteSchema)
    def get(self):
        return note

    @blueprint.etag
    @blueprint.arguments(NoteSchema)
    @blueprint.response(200, NoteSchema)
    def put(self, data):
        blueprint.check_etag(note, NoteSchema)
        note.update(data)
        return note


api.register_blueprint(blueprint)
app.run(host="127.0.0.1", port=int(sys.argv[1]))
