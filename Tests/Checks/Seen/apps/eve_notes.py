"""Notes behind Eve, with mongomock for its database."""
import sys

import mongomock
import pymongo

pymongo.MongoClient = mongomock.MongoClient
import eve.io.mongo.flask_pymongo as flask_pymongo  # noqa: E402

flask_pymongo.MongoClient = mongomock.MongoClient
from eve import Eve  # noqa: E402

app = Eve(settings={
    "MONGO_DBNAME": "notes", "RESOURCE_METHODS": ["GET", "POST"], "ITEM_METHODS": ["GET", "PATCH", "PUT", "DELETE"],
    "PAGINATION_DEFAULT": 2, "DOMAIN": {"notes": {"schema": {"title": {"type": "string"}}}}})
app.run(host="127.0.0.1", port=int(sys.argv[1]))
