"""The page's server: on this machine only, behind a token, a session for each page.

- Bound to 127.0.0.1; a request must name this host (no other site can reach it by a
  name of its own) and bring the random token that the command prints.
- A request that is refused gets one line and a status; nothing else changes.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from .messages import MAX_BYTES, Outdated, Refused, parsed
from .page import page
from .session import Session

SESSIONS = 8  # pages that are open at a time; the longest unused one goes
_HOSTS = {"127.0.0.1", "localhost"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Answer = Callable[[Session, dict[str, Any]], dict[str, Any]]
_ANSWERS: dict[str, Answer] = {
    "do": lambda session, message: session.do(message),
    "look": lambda session, _: session.look(),
    "retrain": lambda session, message: session.retrain(message),
    "ramp": lambda session, message: session.ramp(message),
    "leave-one-out": lambda session, message: session.leave_one_out(message),
    "python": lambda session, _: session.python(),
}


class Playground:
    """The sessions of all open pages, behind one token."""

    def __init__(self, token: str | None = None) -> None:
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        # what draws never waits for what takes longer
        self._slow = CapacityLimiter(1)

    def app(self) -> Starlette:
        """Return the web application."""
        return Starlette(
            routes=[
                Route("/", self.opened),
                Route("/api/{what}", self.asked, methods=["POST"]),
            ]
        )

    async def opened(self, request: Request) -> Response:
        """Send the page, with a session of its own."""
        if not self._admitted(request, request.query_params.get("token", "")):
            return _refused(403, "open the address that the command printed")
        name = secrets.token_urlsafe(12)
        self._sessions[name] = await to_thread.run_sync(Session)
        while len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        nonce = secrets.token_urlsafe(12)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; "
            f"style-src 'nonce-{nonce}'; connect-src 'self'; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'"
        )
        text = page(token=self.token, session=name, nonce=nonce)
        return HTMLResponse(
            text, headers={**_HEADERS, "Content-Security-Policy": policy}
        )

    async def asked(self, request: Request) -> Response:
        """Answer a message of the page."""
        if not self._admitted(request, request.headers.get("x-token", "")):
            return _refused(403, "the token is not the one of this playground")
        session = self._sessions.get(request.headers.get("x-session", ""))
        answer = _ANSWERS.get(request.path_params["what"])
        if session is None or answer is None:
            return _refused(404, "this page is out of date: reload it")
        self._sessions.move_to_end(request.headers["x-session"])
        try:
            message = parsed(await _body(request))
            quick = request.path_params["what"] in ("do", "look")
            limiter = None if quick else self._slow
            found = await to_thread.run_sync(answer, session, message, limiter=limiter)
        except Refused as error:
            return _refused(400, str(error))
        except Outdated:
            found = {"outdated": True}  # the page has asked for something newer
        return JSONResponse(found, headers=_HEADERS)

    def _admitted(self, request: Request, token: str) -> bool:
        host = request.headers.get("host", "").rsplit(":", 1)[0]
        right = secrets.compare_digest(token.encode(), self.token.encode())
        return right and host in _HOSTS


async def _body(request: Request) -> bytes:
    """Read a message, and not much more than one may have."""
    read = b""
    async for piece in request.stream():
        read += piece
        if len(read) > MAX_BYTES:
            break
    return read


def _refused(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status_code=status, headers=_HEADERS)
