"""django-eventstream has /events, and tells what is said to /say?text=…, also to a client that was away: PORT FOLDER."""
import sys

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="feed", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", INSTALLED_APPS=["django_eventstream"],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField", EVENTSTREAM_STORAGE_CLASS="django_eventstream.storage.DjangoModelStorage",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{sys.argv[2]}/feed-{sys.argv[1]}.sqlite"}})
django.setup()

import uvicorn  # noqa: E402
from asgiref.sync import sync_to_async  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django_eventstream import send_event  # noqa: E402


async def say(request):
    await sync_to_async(send_event)("said", "said", request.GET["text"], json_encode=False)
    return HttpResponse()

urlpatterns = [path("say", say), path("events", include("django_eventstream.urls"), {"channels": ["said"]})]
call_command("migrate", verbosity=0)
uvicorn.run(get_asgi_application(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error", lifespan="off")
