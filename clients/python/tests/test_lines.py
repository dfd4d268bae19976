"""The lines of a streamed batch, in whatever pieces they come."""

import json
import unittest
from typing import Any, List
from unittest import mock

import quarry
from quarry import _lines

from .service import LINES

BODY = b"\n" + b"".join(json.dumps(it, ensure_ascii=False).encode() + b"\n" for it in LINES)


def read(body: bytes, size: int) -> Any:
    lines = _lines.BatchLines(None, quarry.Meta(), (quarry.ServedRow, quarry.ErrorRow))
    rows: List[Any] = []
    for start in range(0, len(body), size):
        rows += lines.rows(body[start : start + size])
    return rows, lines.start, lines.summary


class Lines(unittest.TestCase):
    def test_are_the_same_in_pieces_of_any_size(self) -> None:
        rows, start, summary = read(BODY, len(BODY))
        self.assertEqual(([index for index, _ in rows], start.total, summary.credits_used), ([1, 0], 2, 2))
        for size in range(1, 40):
            self.assertEqual(read(BODY, size), (rows, start, summary))

    def test_end_only_at_a_line_feed(self) -> None:
        text = "a\u2028b\u0085c"
        line = json.dumps({**LINES[1], "message": text}, ensure_ascii=False)
        ((_, row),) = read(line.encode() + b"\n", 7)[0]
        self.assertEqual(row.message, text)

    def test_above_the_limit_cut_the_stream(self) -> None:
        with mock.patch.object(_lines, "MAX_LINE_BYTES", 100), self.assertRaises(quarry.StreamCutError):
            read(b"x" * 101, 10)


if __name__ == "__main__":
    unittest.main()
