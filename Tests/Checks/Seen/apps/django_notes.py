"""Notes behind Django REST Framework: /numbers/ with pages in the body, /links/ with pages in Link, /slow/ with a throttle."""
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="notes", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", DATABASES={}, INSTALLED_APPS=["rest_framework"],
    MIDDLEWARE=["django.middleware.gzip.GZipMiddleware", "django.middleware.http.ConditionalGetMiddleware"],
    REST_FRAMEWORK={
        "PAGE_SIZE": 2, "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_AUTHENTICATION_CLASSES": [], "DEFAULT_PERMISSION_CLASSES": [], "UNAUTHENTICATED_USER": None})
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from drf_link_header_pagination import LinkHeaderPagination  # noqa: E402
from rest_framework import generics, pagination, response, serializers, throttling, views  # noqa: E402


class Note:
    def __init__(self, number):
        self.id, self.title = number, "note " * 100


class NoteSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    title = serializers.CharField(required=False)

    def update(self, note, data):
        return note


class Numbers(generics.ListAPIView):
    serializer_class, pagination_class = NoteSerializer, pagination.PageNumberPagination

    def get_queryset(self):
        return [Note(number) for number in range(1, 5)]


class Links(Numbers):
    pagination_class = LinkHeaderPagination


class One(generics.RetrieveUpdateDestroyAPIView):
    serializer_class = NoteSerializer

    def get_object(self):
        return Note(1)

    def perform_destroy(self, note):
        pass


class OnceAMinute(throttling.SimpleRateThrottle):
    rate, cache = "1/min", None

    def __init__(self):
        super().__init__()
        from django.core.cache import cache
        self.cache = cache

    def get_cache_key(self, request, view):
        return "everybody"


class Slow(views.APIView):
    throttle_classes = [OnceAMinute]

    def get(self, request):
        return response.Response({})


urlpatterns = [path(f"{name}/", view.as_view()) for name, view in (("numbers", Numbers), ("links", Links), ("one", One), ("slow", Slow))]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


make_server("127.0.0.1", int(sys.argv[1]), get_wsgi_application(), handler_class=Quiet).serve_forever()
