"""The key, in everything that a program may log, show or send elsewhere."""

import asyncio
import io
import logging
import pickle
import traceback
import unittest
from typing import Any, Callable, List
from unittest import mock

import quarry

from .service import KEY, LINES, RESULT, Service, Step, answer, error, lines

FAILURES = (
    Step(b"", "reset"),
    Step(b"", "hang"),
    Step(b"SSH-2.0\r\n\r\n", "close"),
    answer(200, b"[]"),
    answer(302, b"", Location="http://127.0.0.1:1/"),
    answer(401, error("unauthorized")),
)


def shown(failed: BaseException) -> str:
    """An error as an error reporter sends it: with every variable of every frame, and of what caused it."""
    texts: List[str] = []
    seen = set()
    left: List[Any] = [failed]
    while left:
        it = left.pop()
        if it is None or id(it) in seen:
            continue
        seen.add(id(it))
        texts += [repr(it), str(it), repr(vars(it)), "".join(traceback.format_exception(type(it), it, it.__traceback__))]
        # The frames of this test hold the key themselves.
        frames = [frame for frame, _ in traceback.walk_tb(it.__traceback__) if frame.f_globals["__name__"] != __name__]
        texts += [repr(value) + repr(getattr(value, "__dict__", "")) for frame in frames for value in frame.f_locals.values()]
        left += [it.__cause__, it.__context__]
    return "\n".join(texts)


def failure_of(work: Callable[[], object]) -> BaseException:
    try:
        work()
    except BaseException as failed:
        return failed
    raise AssertionError("it did not fail")


class TheKey(unittest.TestCase):
    def test_is_in_no_error_and_no_frame_of_one(self) -> None:
        for step in FAILURES:
            with Service([step]) as running:
                with quarry.Client(KEY, running.url, max_retries=1, timeout=0.3) as client:
                    self.assertNotIn(KEY, shown(failure_of(lambda: client.query("a"))))
                    self.assertNotIn(KEY, shown(failure_of(lambda: list(client.stream(["a"])))))

                async def call() -> None:
                    async with quarry.AsyncClient(KEY, running.url, max_retries=1, timeout=0.3) as client:
                        await client.query("a")

                self.assertNotIn(KEY, shown(failure_of(lambda: asyncio.run(call()))))

    def test_is_in_no_error_of_a_cut_stream(self) -> None:
        with Service([lines(LINES[:2], "reset", ends=False)]) as running, quarry.Client(KEY, running.url) as client:
            self.assertNotIn(KEY, shown(failure_of(lambda: list(client.stream(["a", "b"])))))

    def test_is_in_no_representation_log_or_pickle(self) -> None:
        log = io.StringIO()
        logger = logging.getLogger("quarry")
        handler = logging.StreamHandler(log)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        self.addCleanup(logger.removeHandler, handler)
        with Service([answer(500, error("internal_error")), answer(200, RESULT)]) as running:
            with quarry.Client(KEY, running.url) as client:
                client.query("something private")
                self.assertNotIn(KEY, repr(client) + repr(vars(client)) + repr(vars(vars(client)["_http"])))
                self.assertNotIn(KEY, repr(quarry.AsyncClient(KEY, running.url)))
                with self.assertRaises(TypeError):
                    pickle.dumps(client)
        self.assertIn("GET /v1/query: internal_error, again in", log.getvalue())
        self.assertNotIn(KEY, log.getvalue())
        self.assertNotIn("private", log.getvalue())

    def test_is_not_in_what_is_said_of_one_that_no_header_can_carry(self) -> None:
        for key in (KEY + "\r\nX-Evil: 1", KEY + "ü", ""):
            failed = failure_of(lambda: quarry.Client(key, "http://localhost"))
            self.assertIsInstance(failed, ValueError)
            self.assertNotIn(KEY, str(failed))


class TheEnvironment(unittest.TestCase):
    def test_gives_key_and_address_where_the_caller_does_not(self) -> None:
        with Service([answer(200, RESULT)]) as running:
            with mock.patch.dict("os.environ", {"QUARRY_API_KEY": KEY, "QUARRY_URL": running.url}):
                with quarry.Client() as client:
                    client.query("a")
            self.assertEqual(running.requests[0].headers["authorization"], f"Bearer {KEY}")

    def test_without_either_is_an_error_that_names_the_variable(self) -> None:
        with mock.patch.dict("os.environ", clear=True):
            with self.assertRaisesRegex(ValueError, "QUARRY_API_KEY"):
                quarry.Client(base_url="http://localhost")
            with self.assertRaisesRegex(ValueError, "QUARRY_URL"):
                quarry.Client(KEY)

    def test_addresses_that_are_none_are_an_error(self) -> None:
        for url in ("localhost:3000", "ftp://h", "http://", "http://u:p@h", "http://h?a=b", "http://h/ x", "http://h\n"):
            with self.assertRaises(ValueError, msg=url):
                quarry.Client(KEY, url)


if __name__ == "__main__":
    unittest.main()
