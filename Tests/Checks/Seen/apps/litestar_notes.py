"""Litestar serves a folder of files and notes, compressed where the client takes it: PORT FOLDER."""
import sys

import uvicorn
from litestar import Litestar, get, put
from litestar.config.compression import CompressionConfig
from litestar.pagination import AbstractSyncOffsetPaginator, OffsetPagination
from litestar.static_files import create_static_files_router


class Paginator(AbstractSyncOffsetPaginator[int]):
    def get_total(self):
        return 4

    def get_items(self, limit, offset):
        return list(range(4))[offset:offset + limit]


@get("/one", sync_to_thread=False)
def one() -> dict[str, str]:
    return {"title": "One"}


@put("/one", sync_to_thread=False)
def rename(data: dict[str, str]) -> dict[str, str]:
    return data


@get("/notes", sync_to_thread=False)
def notes(limit: int, offset: int) -> OffsetPagination[int]:
    return Paginator()(limit=limit, offset=offset)


files = create_static_files_router(path="/", directories=[sys.argv[2]])
app = Litestar([one, rename, notes, files], compression_config=CompressionConfig(backend="gzip"))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
