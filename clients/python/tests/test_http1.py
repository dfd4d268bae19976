"""Answers as they come in pieces, cut off, and malformed."""

import unittest
from typing import Any, Generator, List

from quarry._http1 import MAX_HEAD_BYTES, AnswerReader, Cut, Malformed

from .service import LINES, RESULT, answer, lines


def fed(reading: "Generator[None, bytes, Any]", pieces: List[bytes]) -> Any:
    """What a reading gives for these pieces, after which the connection ends."""
    try:
        next(reading)
        while True:
            reading.send(pieces.pop(0) if pieces else b"")
    except StopIteration as stop:
        return stop.value


def read(data: bytes, size: int = 1_000_000) -> Any:
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    reader = AnswerReader()
    head = fed(reader.head(), pieces)
    return head, fed(reader.body(), pieces), reader


class Answers(unittest.TestCase):
    def test_are_the_same_in_whatever_pieces_they_come(self) -> None:
        for step in (answer(200, RESULT), lines(LINES)):
            whole = read(step.data)[1]
            for size in range(1, 40):
                head, body, reader = read(step.data, size)
                self.assertEqual((head.status, body), (200, whole))
                self.assertTrue(reader.is_reusable)

    def test_cut_off_at_any_byte_are_never_taken_for_whole(self) -> None:
        for step in (answer(200, RESULT), lines(LINES)):
            for end in range(len(step.data)):
                with self.assertRaises(Cut, msg=str(end)):
                    read(step.data[:end])

    def test_interim_answers_before_the_final_one_are_left_out(self) -> None:
        head, body, _ = read(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 X\r\nLink: a\r\n\r\n" + answer(429, {}).data)
        self.assertEqual((head.status, body), (429, b"{}"))

    def test_a_connection_is_not_used_again_that_ends_or_said_more_than_was_asked(self) -> None:
        self.assertFalse(read(answer(200, {}, Connection="close").data)[2].is_reusable)
        self.assertFalse(read(answer(200, {}).data + b"more")[2].is_reusable)
        self.assertFalse(read(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")[2].is_reusable)
        self.assertFalse(read(b"HTTP/1.1 200 OK\r\n\r\nto the end")[2].is_reusable)
        self.assertTrue(read(b"HTTP/1.1 204 No\r\n\r\n")[2].is_reusable)

    def test_what_is_no_http_and_what_is_too_much_ends(self) -> None:
        for data in (
            b"SSH-2.0-OpenSSH\r\n\r\n",
            b"HTTP/2 200\r\n\r\n",
            b"HTTP/1.1 abc\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffff\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n",
        ):
            with self.assertRaises(Malformed, msg=repr(data[:60])):
                read(data)
