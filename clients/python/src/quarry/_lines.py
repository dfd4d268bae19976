"""The lines of a streamed batch (R46), for both clients."""

from typing import Generic, Iterator, Optional, Tuple, Type, TypeVar

from . import _decode
from .errors import StreamCutError
from .models import BatchStart, BatchSummary, Meta

R = TypeVar("R")

#: The class of successful rows, and the class of failed rows.
RowTypes = Tuple[Type[R], Type[R]]

MAX_LINE_BYTES = 4 * 1024 * 1024


class BatchLines(Generic[R]):
    """What has come of a batch so far."""

    def __init__(self, key: Optional[str], meta: Meta, types: RowTypes[R]) -> None:
        self._types = types
        self._key = key
        self._rest = b""
        self.meta = meta
        self.start: Optional[BatchStart] = None
        self.summary: Optional[BatchSummary] = None
        self.received = 0

    def rows(self, chunk: bytes) -> Iterator[Tuple[int, R]]:
        """The rows whose lines end in a chunk of the body.

        ``httpx`` has ``iter_lines``, which also splits at U+2028 and other characters that a JSON text may hold.
        """
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            # Empty lines keep the connection open.
            row = self._taken(line) if line.strip() else None
            if row is not None:
                self.received += 1
                yield row
        if len(self._rest) > MAX_LINE_BYTES:
            raise self.cut(f"a line is larger than {MAX_LINE_BYTES} bytes")

    def cut(self, reason: str) -> StreamCutError:
        return StreamCutError(
            reason,
            batch_id=None if self.start is None else self.start.batch_id,
            received=self.received,
            request_id=self.meta.request_id,
            idempotency_key=self._key,
            meta=self.meta,
        )

    def _taken(self, line: bytes) -> Optional[Tuple[int, R]]:
        try:
            value = _decode.parse(line)
            kind = value.get("type") if isinstance(value, dict) else None
            if kind == "batch":
                self.start = _decode.decode(BatchStart, value)
            elif kind == "summary":
                self.summary = _decode.decode(BatchSummary, value)
            elif kind == "row" and isinstance(value, dict):
                index = value.get("index")
                if not isinstance(index, int):
                    raise _decode.WrongShape("a row has no index")
                return index, _decode.decode(self._types[0 if value.get("status") == "ok" else 1], value)
            # Any other kind of line is newer than this version.
            return None
        except _decode.WrongShape as wrong:
            raise self.cut(f"a line cannot be read: {wrong}") from None
