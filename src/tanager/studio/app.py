"""The studio as an ASGI application: one page, its actions, and its events. For the person at this machine alone."""

from __future__ import annotations

import contextlib
import gzip
import logging
import mimetypes
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tanager.errors import TanagerError
from tanager.service.access import Access
from tanager.service.errors import ServiceError
from tanager.studio.actions import Download
from tanager.studio.pages import PAGES
from tanager.studio.plain_json import to_json
from tanager.studio.session import Session

logger = logging.getLogger("tanager.studio")

STATIC = Path(__file__).parent / "static"
MAX_BODY = 16 << 20  # bytes of a request, but for uploads
MAX_UPLOAD = 512 << 20
SAFE_NAME = re.compile(r"[^\w.\- ]")
SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Handler = Callable[[Request], Awaitable[Response]]


class Studio:
    """One session behind one page; ``app`` is the ASGI application."""

    def __init__(self, session: Session, token: str) -> None:
        self.session, self.token = session, token
        self.access = Access(token, hosts=("localhost",))  # names of this machine, and no others
        self.files = static_files()
        routes = [
            Route("/api/events", self._guarded(self._events), methods=["GET"]),
            Route("/api/upload/{name:path}", self._guarded(self._upload), methods=["POST"]),
            Route("/api/{page}/{action}", self._guarded(self._act), methods=["POST"]),
            Route("/{path:path}", self._guarded(self._static, token=False), methods=["GET"]),
        ]
        self.app = Starlette(routes=routes, lifespan=self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.session.close()

    def _guarded(self, handler: Handler, *, token: bool = True) -> Handler:
        """The handler behind the checks of sender and token, with errors as JSON and the headers of all responses."""

        async def guarded(request: Request) -> Response:
            try:
                headers = request.scope["headers"]
                self.access.check_sender(headers, changes=token)
                if token:
                    self.access.check_token(headers)
                response = await handler(request)
            except ServiceError as error:
                response = _error(error.status, error.message)
            except (TanagerError, OSError) as error:
                response = _error(422, str(error))
            except ClientDisconnect:
                response = _error(400, "the request broke off.")
            except MemoryError:
                response = _error(422, "this takes more memory than there is.")
            except Exception:
                logger.exception("%s failed", request.url.path)
                response = _error(500, "an error in the studio itself; its terminal says more.")
            response.headers.update(SECURITY)
            return response

        return guarded

    # --- routes -------------------------------------------------------------------------------------------------

    async def _static(self, request: Request) -> Response:
        """The page: only files that were read at the start, so no path can lead elsewhere."""
        found = self.files.get(request.path_params["path"] or "index.html")
        if found is None:
            return _error(404, "there is nothing at this path.")
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(found.content, media_type=found.media_type)
        headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(found.compressed, media_type=found.media_type, headers=headers)

    async def _act(self, request: Request) -> Response:
        """Do what a page asks for, in a thread, so that events go on."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise ServiceError("wrong_content_type", "send JSON: Content-Type: application/json.")
        page = PAGES.get(request.path_params["page"])
        if page is None:
            return _error(404, "there is no such page.")
        action = page.find(request.path_params["action"])
        body = b"".join([chunk async for chunk in _limited(request, MAX_BODY)])
        result = await run_in_threadpool(action, self.session, body)
        if isinstance(result, Download):
            name = SAFE_NAME.sub("_", result.name)
            headers = {"Content-Disposition": f'attachment; filename="{name}"'}
            return Response(result.content, media_type=result.media_type, headers=headers)
        return Response(to_json({"version": self.session.version, "result": result}), media_type="application/json")

    async def _upload(self, request: Request) -> Response:
        """Take a file in, piece by piece, into the private folder of this session."""
        name = self._free_name(SAFE_NAME.sub("_", Path(request.path_params["name"]).name).lstrip(".") or "table")
        path = self.session.folder / f"{len(self.session.uploads)}-{name}"
        try:
            with path.open("xb") as file:
                async for chunk in _limited(request, MAX_UPLOAD):
                    file.write(chunk)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        self.session.uploads[name] = path
        return Response(
            to_json({"version": self.session.version, "result": {"name": name}}), media_type="application/json"
        )

    def _free_name(self, name: str) -> str:
        """The name, or one like it: what was derived from an earlier file of the same name stays its own."""
        path, number = Path(name), 2
        while name in self.session.uploads:
            name, number = f"{path.stem} {number}{path.suffix}", number + 1
        return name

    async def _events(self, request: Request) -> Response:
        return StreamingResponse(self.session.events.listen(), media_type="text/event-stream")


async def _limited(request: Request, most: int) -> AsyncIterator[bytes]:
    """The body of a request, refused as soon as it is known to be too long."""
    declared = request.headers.get("content-length", "0")
    n_bytes = int(declared) if declared.isdecimal() else 0
    if n_bytes <= most:
        n_bytes = 0
        async for chunk in request.stream():
            n_bytes += len(chunk)
            if n_bytes > most:
                break
            yield chunk
    if n_bytes > most:
        raise ServiceError("too_large", f"the request has more than {most >> 20} MB, the most that is taken.")


@dataclass(frozen=True)
class StaticFile:
    """A file of the page, as it is and as it travels."""

    content: bytes
    media_type: str

    @cached_property
    def compressed(self) -> bytes:
        """The content by gzip, the same each time."""
        return gzip.compress(self.content, mtime=0)


def static_files() -> dict[str, StaticFile]:
    """All files of the page by path."""
    found = {}
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            media_type = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
            file = StaticFile(path.read_bytes(), media_type or "application/octet-stream")
            found[path.relative_to(STATIC).as_posix()] = file
    return found


def _error(status: int, message: str) -> Response:
    return Response(to_json({"error": message}), status, media_type="application/json")
