"""The lines of a streamed batch (R46), for both clients."""

from typing import Optional, Tuple, Union

from . import _decode
from .errors import StreamCutError
from .models import BatchStart, BatchSummary, ErrorRow, Meta, Row, ServedRow


class BatchLines:
    """What has come of a batch so far."""

    def __init__(self, key: Optional[str], meta: Meta) -> None:
        self._key = key
        self.meta = meta
        self.start: Optional[BatchStart] = None
        self.summary: Optional[BatchSummary] = None
        self.received = 0

    def take(self, line: Optional[bytes]) -> Union[Tuple[int, Row], BatchStart, BatchSummary, None]:
        """What a line says, None if it is an empty one. ``line`` is None at the end of the body."""
        if line is None:
            raise self.cut("the stream ended before its summary")
        if not line.strip():
            return None
        try:
            return self._taken(_decode.parse(line))
        except _decode.WrongShape as wrong:
            raise self.cut(f"a line cannot be read: {wrong}") from None

    def cut(self, reason: str) -> StreamCutError:
        return StreamCutError(
            reason,
            batch_id=None if self.start is None else self.start.batch_id,
            received=self.received,
            request_id=self.meta.request_id,
            idempotency_key=self._key,
            meta=self.meta,
        )

    def _taken(self, value: object) -> Union[Tuple[int, Row], BatchStart, BatchSummary, None]:
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "batch":
            self.start = _decode.decode(BatchStart, value)
            return self.start
        if kind == "summary":
            self.summary = _decode.decode(BatchSummary, value)
            return self.summary
        # A kind of line that is new since this version.
        if kind != "row" or not isinstance(value, dict):
            return None
        index = value.get("index")
        if not isinstance(index, int):
            raise _decode.WrongShape("a row has no index")
        row: Row = _decode.decode(ServedRow if value.get("status") == "ok" else ErrorRow, value)
        self.received += 1
        return index, row
