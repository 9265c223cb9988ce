"""Requests to an ASGI application without a socket."""

import asyncio
import json


class Client:
    """Sends requests, one after another, and gives (status, body)."""

    def __init__(self, app, host="127.0.0.1:8000"):
        self.app, self.host = app, host
        self.loop = asyncio.new_event_loop()

    def close(self):
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def request(self, method, path, body=b"", headers=(), parts=1):
        given = {name for name, _ in headers}
        sent = [(b"host", self.host.encode()), (b"content-type", b"application/json")]
        sent = [pair for pair in sent if pair[0] not in given] + list(headers)
        size = max(1, -(-len(body) // parts))
        chunks = [body[i : i + size] for i in range(0, len(body), size)] or [b""]
        answer = {"body": b""}

        async def receive():
            if not chunks:
                return {"type": "http.disconnect"}
            chunk = chunks.pop(0)
            return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

        async def send(message):
            if message["type"] == "http.response.start":
                answer["status"], answer["headers"] = message["status"], dict(message["headers"])
            else:
                answer["body"] += message.get("body", b"")

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": sent,
            "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", 8000),
        }
        self.loop.run_until_complete(self.app(scope, receive, send))
        self.headers = answer["headers"]
        return answer["status"], answer["body"]

    def ask(self, name, question):
        """(status, answer) of a question."""
        status, body = self.request("POST", f"/api/{name}", json.dumps(question).encode())
        return status, json.loads(body)

    def answer(self, name, question):
        """The answer, which has to be one."""
        status, told = self.ask(name, question)
        assert status == 200, told
        return told

    def refusal(self, name, question):
        """The sentence of a refusal, which it has to be."""
        status, told = self.ask(name, question)
        assert status == 400, told
        assert set(told) == {"error"}
        assert "\n" not in told["error"]
        return told["error"]
