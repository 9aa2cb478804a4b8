"""
Limits an application of FastAPI or Starlette: copy this file beside it. It needs httpx (Debian: python3-httpx).

    from headgate_asgi import Headgate
    app.add_middleware(Headgate, service="shop",
                       identify=lambda request: {"api_key": request.headers.get("x-api-key"),
                                                 "ip": request.client.host})

`identify` says who asks: dimensions of rules with their values; None is an absent one, and without any the request
passes. The path is the endpoint. A question that the daemon finds wrong (a value that is too long) gets 400. Without an
answer within `timeout_s`, or without the right to ask (401, 403), the request passes, or with closed=True gets 503; the
logger "headgate" says so, once a minute.

The handshake of a WebSocket counts as a request, and is closed (403) where it would get one of these. For it, `request`
is Starlette's HTTPConnection.
"""
import logging
import time

import httpx
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse

FIELDS = ("ratelimit", "ratelimit-policy", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining",
          "x-ratelimit-reset", "x-ratelimit-over-limit")


class Headgate:
    def __init__(self, app, identify, service="default", address="http://127.0.0.1:7073", password=None, timeout_s=0.25,
                 closed=False):
        head = {"Authorization": "Bearer " + password} if password else {}
        self.app, self.identify, self.service, self.closed = app, identify, service, closed
        self.daemon = httpx.AsyncClient(base_url=address, headers=head, timeout=timeout_s, trust_env=False)
        self.address, self.silent_until = address, 0

    async def __call__(self, scope, receive, send):
        if scope["type"] not in ("http", "websocket"):
            return await self.app(scope, receive, send)
        request = Request(scope) if scope["type"] == "http" else HTTPConnection(scope)
        identifiers = {name: value for name, value in self.identify(request).items() if value not in (None, "")}
        if not identifiers:
            return await self.app(scope, receive, send)
        status, fields = await self.ask({"service_id": self.service, "endpoint": scope["path"],
                                         "identifiers": identifiers})
        if status == 429:
            return await refuse(PlainTextResponse("429 Too Many Requests\n", 429, fields), scope, receive, send)
        if status in (400, 413):
            return await refuse(PlainTextResponse("400 Bad Request\n", 400), scope, receive, send)
        if status != 200:
            self.complain(status)
            if self.closed:
                unavailable = PlainTextResponse("503 Service Unavailable\n", 503, {"retry-after": "1"})
                return await refuse(unavailable, scope, receive, send)

        async def send_with_fields(message):
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(fields)
            await send(message)

        return await self.app(scope, receive, send_with_fields)

    def complain(self, status):
        if time.monotonic() >= self.silent_until:
            self.silent_until = time.monotonic() + 60
            logging.getLogger("headgate").error("headgate: the daemon at %s %s: requests %s", self.address,
                                                f"answers {status}" if status else "gives no answer",
                                                "are refused with 503" if self.closed else "pass without a limit")

    async def ask(self, question):
        """The status of the daemon's answer (0: there is none), and the fields that its head says of the limit."""
        try:
            answer = await self.daemon.post("/v1/check", json=question)
        except httpx.TransportError:
            return 0, {}
        return answer.status_code, {name: answer.headers[name] for name in FIELDS if name in answer.headers}


async def refuse(answer, scope, receive, send):
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008})  # before it was accepted: the server answers 403
    return await answer(scope, receive, send)
