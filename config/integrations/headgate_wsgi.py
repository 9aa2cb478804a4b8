"""
Limits an application of WSGI (Flask, Django, ...): copy this file beside it. It needs nothing but Python.

    from headgate_wsgi import Headgate
    app.wsgi_app = Headgate(app.wsgi_app, service="shop",
                            identify=lambda environ: {"api_key": environ.get("HTTP_X_API_KEY"),
                                                      "ip": environ.get("REMOTE_ADDR")})

`identify` says who asks: dimensions of rules with their values; None is an absent one, and without any the request
passes. The path is the endpoint. A question that the daemon finds wrong (a value that is too long) gets 400. Without an
answer within `timeout_s`, or without the right to ask (401, 403), the request passes, or with closed=True gets 503; the
logger "headgate" says so, once a minute.
"""
import http.client
import json
import logging
import select
import threading
import time

FIELDS = ("ratelimit", "ratelimit-policy", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining",
          "x-ratelimit-reset", "x-ratelimit-over-limit")


class Headgate:
    def __init__(self, app, identify, service="default", host="127.0.0.1", port=7073, password=None, timeout_s=0.25,
                 closed=False):
        self.app, self.identify, self.service, self.closed = app, identify, service, closed
        self.host, self.port, self.timeout_s = host, port, timeout_s
        self.head = {"Content-Type": "application/json"}
        if password:
            self.head["Authorization"] = "Bearer " + password
        self.local = threading.local()  # a connection for each thread, kept open
        self.silent_until = 0

    def __call__(self, environ, start_response):
        identifiers = {name: value for name, value in self.identify(environ).items() if value not in (None, "")}
        if not identifiers:
            return self.app(environ, start_response)
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "replace")  # WSGI has bytes as characters
        status, fields = self.ask({"service_id": self.service, "endpoint": path or "/", "identifiers": identifiers})
        if status == 429:
            return refuse(start_response, "429 Too Many Requests", fields)
        if status in (400, 413):
            return refuse(start_response, "400 Bad Request", [])
        if status != 200:
            self.complain(status)
            if self.closed:
                return refuse(start_response, "503 Service Unavailable", [("Retry-After", "1")])
        return self.app(environ, lambda status, head, *more: start_response(status, list(head) + fields, *more))

    def complain(self, status):
        if time.monotonic() >= self.silent_until:
            self.silent_until = time.monotonic() + 60
            logging.getLogger("headgate").error(
                "headgate: the daemon at %s:%s %s: requests %s", self.host, self.port,
                f"answers {status}" if status else "gives no answer",
                "are refused with 503" if self.closed else "pass without a limit")

    def ask(self, question):
        """The status of the daemon's answer (0: there is none), and the fields that its head says of the limit."""
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
            self.local.connection = connection
        if connection.sock is not None and can_be_read(connection.sock):
            connection.close()  # the daemon has closed it since the last answer
        try:
            connection.request("POST", "/v1/check", json.dumps(question), self.head)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()  # the next request connects again
            return 0, []
        return answer.status, [(name, value) for name, value in answer.getheaders() if name.lower() in FIELDS]


def can_be_read(sock):
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def refuse(start_response, status, fields):
    body = status.encode() + b"\n"
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))] + fields)
    return [body]
