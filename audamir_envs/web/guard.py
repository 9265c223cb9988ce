"""What stands between the browser and the page: who may ask, how much, and what the answers may do in a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import JSONResponse

LARGEST_BODY = 1_000_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Guard:
    """Around an ASGI application: refuses other hosts and origins and large bodies by 400, sets the safe headers.

    A page of another site may make a browser send requests here: its Origin differs, and where a name of its own is
    made to point here (DNS rebinding) the Host does.
    """

    def __init__(self, app: Any, hosts: frozenset[str]) -> None:
        """Args: hosts: ``name:port`` as browsers write it for this server."""
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # a websocket that is not accepted is refused

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        reason = self._refusal(scope)
        body = b""
        if reason is None:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > LARGEST_BODY:
                    reason = f"a request has at most {LARGEST_BODY:,} bytes"
                    break
        if reason is not None:
            # Closed, since what is left of the body would be taken for the next request.
            response = JSONResponse({"error": reason}, 400, headers={"connection": "close"})
            await response(scope, receive, guarded)
            return
        sent = False

        async def whole() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, whole, guarded)

    def _refusal(self, scope: Any) -> str | None:
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value.decode("latin-1").lower())
        if len(headers.get(b"host", [])) != 1 or headers[b"host"][0] not in self.hosts:
            return "this server answers to its own address alone"
        origins = headers.get(b"origin", [])
        if any(origin.removeprefix("http://") not in self.hosts or origin == "null" for origin in origins):
            return "requests from other pages are refused"
        if any(site not in ("same-origin", "none") for site in headers.get(b"sec-fetch-site", [])):
            return "requests from other pages are refused"
        length = headers.get(b"content-length", ["0"])[0]
        if length.isdecimal() and (len(length) > 12 or int(length) > LARGEST_BODY):
            return f"a request has at most {LARGEST_BODY:,} bytes"
        kind = headers.get(b"content-type", [""])[0].partition(";")[0].strip()
        if scope["method"] == "POST" and kind != "application/json":
            return "a request must be application/json"
        return None
