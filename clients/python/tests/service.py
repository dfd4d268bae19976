"""A server that answers as its script says, byte by byte, and the two clients behind one face."""

import asyncio
import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import quarry

KEY = "sk_live_3Xk9secretsecretsecret"

RESULT: Dict[str, Any] = {
    "id": "qry_5b1f8c0e9d7a46f2a3c4e6b8d0f21357",
    "target": "alpha_search",
    "query": "http caching",
    "geo": "us",
    "locale": "en-us",
    "page": 1,
    "results": {
        "organic": [
            {
                "position": 1,
                "title": "HTTP caching",
                "url": "https://www.example.org/caching",
                "domain": "example.org",
                "snippet": "Grüße",
            }
        ]
    },
}
BATCH: Dict[str, Any] = {
    "batch_id": "bat_0d8f1c6a35b04e7d9c2b7a61f4e39d58",
    "total": 2,
    "succeeded": 1,
    "failed": 1,
    "results": [{"status": "ok", **RESULT}, {"status": "error", "error": "upstream_timeout", "message": "late"}],
}
ACCOUNT: Dict[str, Any] = {
    "email": "a@example.org",
    "plan": "growth",
    "credits_available": 10,
    "api_key": {"id": "key_0", "label": "ci", "mode": "live"},
}
LINES: List[Dict[str, Any]] = [
    {"type": "batch", "batch_id": BATCH["batch_id"], "total": 2},
    {"type": "row", "index": 1, **BATCH["results"][1]},
    {"type": "row", "index": 0, **BATCH["results"][0]},
    {
        "type": "summary",
        "batch_id": BATCH["batch_id"],
        "total": 2,
        "succeeded": 1,
        "failed": 1,
        "credits_used": 2,
    },
]


def error(code: str, **more: Any) -> Dict[str, Any]:
    return {"error": code, "message": f"about {code}", "request_id": "req-1", **more}


@dataclass
class Step:
    """What a request is answered with. ``then`` is ``keep``, ``close``, ``reset`` or ``hang``."""

    data: bytes = b""
    then: str = "keep"
    #: Seconds between the bytes; without them all are sent at once.
    pause: float = 0


def answer(status: int, body: object, then: str = "keep", **headers: str) -> Step:
    text = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    given = {"X-Request-Id": "req-1", "Content-Length": str(len(text))}
    given.update({name.replace("_", "-"): value for name, value in headers.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return Step(f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + text, then)


def lines(items: Sequence[Dict[str, Any]], then: str = "keep", ends: bool = True) -> Step:
    """A streamed batch, each line a chunk, with the empty line that keeps connections open."""
    texts = [b"\n", *(json.dumps(it).encode() + b"\n" for it in items)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(it), it) for it in texts)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Step(head + body + (b"0\r\n\r\n" if ends else b""), then)


@dataclass
class Request:
    line: str
    headers: Dict[str, str]
    body: bytes
    connection: int


@dataclass
class Service:
    """Answers the first request with the first step, and so on; the last step repeats."""

    steps: Sequence[Step]
    requests: List[Request] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> "Service":
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._open: List[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listener.close()
        for it in self._open:
            it.close()

    @property
    def keys(self) -> List[Optional[str]]:
        return [it.headers.get("idempotency-key") for it in self.requests]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                number = self.connections
                self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection, number), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        reader = connection.makefile("rb")
        try:
            while True:
                request = _read(reader, number)
                if request is None:
                    break
                with self._lock:
                    step = self.steps[min(len(self.requests), len(self.steps) - 1)]
                    self.requests.append(request)
                for piece in [step.data] if step.pause == 0 else [bytes([it]) for it in step.data]:
                    connection.sendall(piece)
                    self._over.wait(step.pause)
                if step.then == "hang":
                    self._over.wait()
                if step.then == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if step.then != "keep":
                    break
        except OSError:
            pass
        finally:
            reader.close()
            connection.close()


def _read(reader: Any, number: int) -> Optional[Request]:
    line = reader.readline().decode()
    if not line:
        return None
    headers: Dict[str, str] = {}
    while True:
        text = reader.readline().decode().strip()
        if not text:
            break
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    return Request(line.strip(), headers, reader.read(int(headers.get("content-length", 0))), number)


class Sync:
    """The client for threads."""

    def __init__(self, url: str, key: str = KEY, **options: Any) -> None:
        self.client = quarry.Client(key, url, **options)

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return getattr(self.client, name)(*args, **options)

    def rows(self, *args: Any, **options: Any) -> Tuple[List[Any], Any]:
        with self.client.stream(*args, **options) as stream:
            return list(stream), stream

    def close(self) -> None:
        self.client.close()


class Async:
    """The client for asyncio, each call of which is awaited on one loop."""

    def __init__(self, url: str, key: str = KEY, **options: Any) -> None:
        self.client = quarry.AsyncClient(key, url, **options)
        self.loop = asyncio.new_event_loop()

    def call(self, name: str, *args: Any, **options: Any) -> Any:
        return self.loop.run_until_complete(getattr(self.client, name)(*args, **options))

    def rows(self, *args: Any, **options: Any) -> Tuple[List[Any], Any]:
        async def read() -> Tuple[List[Any], Any]:
            async with self.client.stream(*args, **options) as stream:
                return [it async for it in stream], stream

        return self.loop.run_until_complete(read())

    def close(self) -> None:
        self.loop.run_until_complete(self.client.aclose())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


Face = Callable[..., Union[Sync, Async]]
