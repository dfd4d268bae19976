"""HTTP/1.1 answers, read from bytes as they come (RFC 9112). No I/O: both clients read with the same code.

``http.client`` takes a head that was cut off for a whole one, knows no interim answer but 100, and bounds each read
instead of the call; asyncio has no HTTP at all.
"""

from typing import Dict, Generator, Optional, TypeVar

T = TypeVar("T")

#: A part of an answer that is being read: it yields when it needs bytes, and is sent them; b"" when no more come.
Reading = Generator[None, bytes, T]

MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
_MAX_CHUNK_HEAD_BYTES = 256


class Cut(Exception):
    """The connection ended inside an answer."""


class Malformed(Exception):
    """What came is no answer of HTTP/1.1, or a larger one than any of this API."""


class Head:
    """Status and headers of an answer, names in lower case; those that came twice are joined by a comma."""

    def __init__(self, status: int, minor: int, headers: Dict[str, str]) -> None:
        self.status = status
        self.minor = minor
        self.headers = headers


class AnswerReader:
    """One answer."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._begun_line = bytearray()
        self._ended = False
        self._left: Optional[int] = 0
        self._chunked = False
        self._whole = False
        self._persistent = False
        self.received = False

    @property
    def is_reusable(self) -> bool:
        """If the connection can carry another request: the answer is whole, and nothing came behind it."""
        return self._whole and self._persistent and not self._buffer

    def head(self) -> "Reading[Head]":
        while True:
            end = yield from self._find(b"\r\n\r\n", MAX_HEAD_BYTES)
            text = bytes(self._buffer[:end])
            del self._buffer[: end + 4]
            head = _parse_head(text)
            # Interim answers, such as a 102 while a batch runs, come before the final one.
            if head.status >= 200:
                self._frame(head)
                return head

    def body(self) -> "Reading[bytes]":
        body = bytearray()
        while True:
            piece = yield from self._piece()
            if not piece:
                return bytes(body)
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise Malformed(f"the body is larger than {MAX_BODY_BYTES} bytes")

    def lines(self) -> "Reading[Optional[bytes]]":
        """The next line of the body, None at its end."""
        line = self._begun_line
        while True:
            end = line.find(b"\n")
            if end >= 0:
                found = bytes(line[:end])
                del line[: end + 1]
                return found
            if len(line) > MAX_LINE_BYTES:
                raise Malformed(f"a line is larger than {MAX_LINE_BYTES} bytes")
            piece = yield from self._piece()
            if not piece:
                if line:
                    raise Cut("the last line is not whole")
                return None
            line += piece

    def _frame(self, head: Head) -> None:
        headers = head.headers
        connection = headers.get("connection", "").lower()
        self._persistent = head.minor >= 1 and "close" not in connection
        coding = headers.get("transfer-encoding")
        length = headers.get("content-length")
        if head.status in (204, 304):
            self._whole = True
        elif coding is not None:
            if coding.strip().lower() != "chunked" or length is not None:
                raise Malformed("the body's length cannot be known")
            self._chunked = True
        elif length is not None:
            if not (length.isascii() and length.isdigit()) or len(length) > 18:
                raise Malformed("Content-Length is no number")
            self._left = int(length)
            self._whole = self._left == 0
        else:
            # Such a body ends with the connection: one that is cut off looks whole.
            self._left = None
            self._persistent = False

    def _piece(self) -> "Reading[bytes]":
        """The next bytes of the body, b"" at its end."""
        if self._whole:
            return b""
        if self._chunked and self._left == 0:
            yield from self._next_chunk()
            if self._whole:
                return b""
        while not self._buffer:
            if self._ended:
                if self._left is None:
                    self._whole = True
                    return b""
                raise Cut("the body is not whole")
            yield from self._more()
        size = len(self._buffer) if self._left is None else min(self._left, len(self._buffer))
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        if self._left is not None:
            self._left -= size
            if self._left == 0:
                if self._chunked:
                    yield from self._take_line(0)
                else:
                    self._whole = True
        return piece

    def _next_chunk(self) -> "Reading[None]":
        text = (yield from self._take_line(_MAX_CHUNK_HEAD_BYTES)).split(b";")[0].strip()
        try:
            size = int(text, 16) if text.isalnum() else -1
        except ValueError:
            size = -1
        if not 0 <= size <= MAX_BODY_BYTES:
            raise Malformed("the size of a chunk is no number")
        self._left = size
        if size == 0:
            while (yield from self._take_line(_MAX_CHUNK_HEAD_BYTES)):
                pass
            self._whole = True

    def _take_line(self, max_bytes: int) -> "Reading[bytes]":
        end = yield from self._find(b"\r\n", max_bytes)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _find(self, mark: bytes, max_bytes: int) -> "Reading[int]":
        start = 0
        while True:
            found = self._buffer.find(mark, start)
            if (found if found >= 0 else len(self._buffer) - len(mark)) > max_bytes:
                raise Malformed("a part of the answer is too long")
            if found >= 0:
                return found
            if self._ended:
                raise Cut("the connection ended")
            start = max(0, len(self._buffer) - len(mark) + 1)
            yield from self._more()

    def _more(self) -> "Reading[None]":
        data = yield
        self._buffer += data
        self._ended = not data
        self.received = self.received or bool(data)


def _parse_head(text: bytes) -> Head:
    first, *lines = text.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if version not in ("HTTP/1.1", "HTTP/1.0") or not (status.isascii() and status.isdigit() and len(status) == 3):
        raise Malformed("the answer is not HTTP/1.1")
    headers: Dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise Malformed("a header of the answer cannot be read")
        name, value = name.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(int(status), int(version[-1]), headers)
