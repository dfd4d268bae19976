"""Calls, retries, errors and streams, of both clients over real sockets."""

import json
import pickle
import socket
import threading
import time
import unittest
from typing import Any, List, Optional
from unittest import mock

import quarry
from quarry import _calls, _http

from .service import ACCOUNT, BATCH, KEY, LINES, RESULT, Async, Face, Service, Step, Sync, answer, error, lines


class Cases:
    """What holds for both clients."""

    class Base(unittest.TestCase):
        face: Face

        def setUp(self) -> None:
            patched = mock.patch.object(_calls, "FIRST_BACKOFF_SECONDS", 0.002)
            jitter = mock.patch.object(_calls, "RETRY_AFTER_JITTER", 0.002)
            for it in (patched, jitter):
                it.start()
                self.addCleanup(it.stop)

        def serving(self, *steps: Step) -> Service:
            return self.enter(Service(steps))

        def enter(self, running: Service) -> Service:
            running.__enter__()
            self.addCleanup(running.__exit__)
            return running

        def client(self, running: Service, **options: Any) -> Any:
            client = type(self).face(running.url, **options)
            self.addCleanup(client.close)
            return client

        def failure(self, client: Any, name: str, *args: Any, **options: Any) -> Any:
            with self.assertRaises(quarry.QuarryError) as caught:
                client.call(name, *args, **options)
            return caught.exception

    class Requests(Base):
        def test_carry_what_the_api_takes(self) -> None:
            running = self.serving(answer(200, RESULT), answer(200, BATCH), answer(200, ACCOUNT))
            client = self.client(running)
            client.call("query", "a&b ü", target="beta_search", geo="de", locale="de-at", num=5, safe="strict")
            client.call("bulk", ["a", {"query": "b", "num": 2}], source="ci")
            client.call("me")
            query, bulk, me = running.requests
            self.assertEqual(
                query.line,
                "GET /v1/query?query=a%26b%20%C3%BC&target=beta_search&geo=de&locale=de-at&num=5&safe=strict HTTP/1.1",
            )
            self.assertEqual(query.headers["authorization"], f"Bearer {KEY}")
            self.assertEqual(bulk.body, b'{"queries": ["a", {"query": "b", "num": 2}], "source": "ci"}')
            self.assertEqual(bulk.headers["content-type"], "application/json")
            self.assertEqual(me.line, "GET /v1/me HTTP/1.1")
            self.assertEqual(len(set(running.keys[:2])), 2)
            self.assertIsNone(running.keys[2])

        def test_share_a_connection_and_open_another_where_it_ended(self) -> None:
            running = self.serving(answer(200, RESULT), answer(200, RESULT, "close"), answer(200, RESULT))
            client = self.client(running)
            for _ in range(4):
                client.call("query", "a")
            self.assertEqual([it.connection for it in running.requests], [1, 1, 2, 2])

        def test_keep_the_path_of_the_address(self) -> None:
            running = self.serving(answer(200, ACCOUNT))
            client = type(self).face(running.url + "/search/")
            self.addCleanup(client.close)
            client.call("me")
            self.assertEqual(running.requests[0].line, "GET /search/v1/me HTTP/1.1")

        def test_with_a_broken_text_are_sent_for_the_api_to_judge(self) -> None:
            running = self.serving(answer(400, error("invalid_request", issues=[])))
            client = self.client(running)
            self.failure(client, "query", "\ud800")
            self.failure(client, "bulk", ["\ud800"])
            self.assertIn("%ED%A0%80", running.requests[0].line)
            self.assertIn(b"\\ud800", running.requests[1].body)

    class Answers(Base):
        def test_have_their_fields_credits_and_limits(self) -> None:
            headers = {
                "X_Credits_Used": "1",
                "X_Credits_Balance": "7",
                "X_RateLimit_Limit": "300",
                "X_RateLimit_Remaining": "299",
                "X_RateLimit_Reset": "1790000000",
                "X_Quota_Limit": "5000",
                "X_Quota_Used": "12",
                "X_Quota_Remaining": "4988",
            }
            running = self.serving(answer(200, RESULT, **headers), answer(200, BATCH), answer(200, ACCOUNT))
            client = self.client(running)
            result = client.call("query", "http caching")
            self.assertEqual((result.id, result.organic[0].snippet), (RESULT["id"], "Grüße"))
            self.assertEqual(
                result.meta,
                quarry.Meta(
                    request_id="req-1",
                    credits_used=1,
                    credits_balance=7,
                    rate_limit=quarry.RateLimit(300, 299, 1790000000),
                    quota=quarry.Quota(5000, 12, 4988, None),
                ),
            )
            self.assertEqual(client.client.last, result.meta)
            served, failed = client.call("bulk", ["a", "b"]).results
            self.assertEqual((served.status, served.organic[0].position), ("ok", 1))
            self.assertEqual((failed.status, failed.error), ("error", "upstream_timeout"))
            account = client.call("me")
            self.assertEqual((account.plan, account.api_key.mode), ("growth", "live"))

        def test_may_be_newer_than_the_client(self) -> None:
            newer = {**RESULT, "target": "eta_search", "took_ms": 3}
            client = self.client(self.serving(answer(200, newer)))
            self.assertEqual(client.call("query", "a").target, "eta_search")

        def test_of_another_shape_are_an_error_and_are_not_asked_for_again(self) -> None:
            for body in (b"<html>", [], {**RESULT, "page": "1"}, {**RESULT, "page": True}, {**RESULT, "results": {}}):
                running = self.serving(answer(200, body))
                failed = self.failure(self.client(running), "query", "a")
                self.assertIsInstance(failed, quarry.UnexpectedAnswerError)
                self.assertIsNone(failed.charged)
                self.assertEqual(len(running.requests), 1)

        def test_that_are_cut_and_properly_ended_are_asked_for_again_with_the_same_key(self) -> None:
            whole = json.dumps({**RESULT, "query": "caf\u00e9"}, ensure_ascii=False).encode()
            for size in (0, 1, len(whole) // 2, whole.index(b"\xa9"), len(whole) - 1):
                running = self.serving(answer(200, whole[:size]), answer(200, whole))
                self.assertEqual(self.client(running).call("query", "a").query, "caf\u00e9")
                self.assertEqual((len(running.requests), len(set(running.keys))), (2, 1), size)
            running = self.serving(answer(200, whole[:-1]))
            failed = self.failure(self.client(running, max_retries=2), "query", "a")
            self.assertIsInstance(failed, quarry.UnexpectedAnswerError)
            self.assertEqual((failed.charged, len(running.requests)), (None, 3))

        def test_that_redirect_say_where_to(self) -> None:
            location = "https://user:secret@search.example.org:8443/v1/query?query=secret"
            running = self.serving(answer(308, b"", Location=location))
            failed = self.failure(self.client(running), "query", "a")
            self.assertIn("https://search.example.org:8443/v1/query,", failed.message)
            self.assertNotIn("secret", failed.message)
            self.assertEqual(len(running.requests), 1)

        def test_larger_than_the_limit_are_not_read_to_their_end(self) -> None:
            with mock.patch.object(_http, "MAX_BODY_BYTES", 100):
                failed = self.failure(self.client(self.serving(answer(200, RESULT)), max_retries=0), "query", "a")
            self.assertIsInstance(failed, quarry.NetworkError)
            self.assertIn("larger than 100 bytes", failed.message)

        def test_that_lead_elsewhere_are_not_followed(self) -> None:
            with Service([answer(200, RESULT)]) as other:
                running = self.serving(answer(302, b"", Location=f"{other.url}/v1/query"))
                failed = self.failure(self.client(running), "query", "a")
                self.assertEqual((failed.code, failed.status), ("network", 302))
                self.assertEqual(other.requests, [])

    class Errors(Base):
        def test_are_of_their_codes_class_with_their_fields(self) -> None:
            issue = {"field": "num", "message": "must be a whole number"}
            cases: List[Any] = [
                (400, error("invalid_request", issues=[issue]), quarry.InvalidRequestError, False),
                (400, error("unsupported_geo", details=["us", "de"]), quarry.UnsupportedGeoError, False),
                (400, error("unsupported_parameter"), quarry.UnsupportedParameterError, False),
                (401, error("unauthorized"), quarry.UnauthorizedError, False),
                (402, error("quota_exceeded", plan="trial", quota=100), quarry.QuotaExceededError, False),
                (404, error("not_found"), quarry.NotFoundError, False),
                (502, error("upstream_error"), quarry.UpstreamError, True),
                (504, error("upstream_timeout"), quarry.UpstreamTimeoutError, True),
                (418, error("of_next_year"), quarry.ApiError, None),
            ]
            for status, body, kind, charged in cases:
                running = self.serving(answer(status, body))
                failed = self.failure(self.client(running), "query", "a")
                self.assertIs(type(failed), kind)
                self.assertEqual((failed.code, failed.status), (body["error"], status))
                self.assertEqual((failed.request_id, failed.charged), ("req-1", charged))
                self.assertEqual(failed.idempotency_key, running.keys[0])
                self.assertEqual(len(running.requests), 1, "none of these is tried again")
                again = pickle.loads(pickle.dumps(failed))
                self.assertEqual((type(again), str(again), again.fields), (kind, str(failed), failed.fields))
            self.assertIsInstance(failed, quarry.QuarryError)

        def test_have_what_their_body_has(self) -> None:
            issue = {"field": "queries.3.num", "message": "must be a whole number"}
            client = self.client(
                self.serving(
                    answer(400, error("invalid_request", issues=[issue])),
                    answer(400, error("unsupported_geo", details=["us", "de"])),
                    answer(402, error("quota_exceeded", plan="trial", quota=100, remaining=0, resets_at=None)),
                )
            )
            self.assertEqual(self.failure(client, "me").fields, (quarry.Issue(**issue),))
            self.assertEqual(self.failure(client, "me").supported, ("us", "de"))
            quota = self.failure(client, "me")
            self.assertEqual((quota.plan, quota.quota, quota.remaining, quota.resets_at), ("trial", 100, 0, None))

        def test_of_a_provider_say_if_they_were_charged(self) -> None:
            free = answer(502, error("upstream_error"), X_Credits_Used="0")
            replay = answer(502, error("upstream_error"), X_Credits_Used="0", Idempotent_Replayed="true")
            client = self.client(self.serving(free, replay))
            self.assertIs(self.failure(client, "query", "a").charged, False)
            self.assertIs(self.failure(client, "query", "a").charged, True)

    class Retries(Base):
        def test_are_of_what_was_not_charged_with_one_key(self) -> None:
            for step in (
                answer(429, error("rate_limited"), Retry_After="0"),
                answer(500, error("internal_error")),
                answer(503, b"no server is available"),
                answer(409, error("idempotency_in_progress"), Retry_After="0"),
                answer(502, b"<html>bad gateway"),
                answer(504, b"<html>gateway timeout"),
                Step(b"", "close"),
                Step(b"", "reset"),
                Step(b"HTTP/1.1 200 OK\r\nContent-Le", "close"),
                Step(b"HTTP/1.1 502 Bad\r\n\r\n", "close"),
                Step(answer(200, RESULT).data[:-5], "close"),
            ):
                running = self.serving(step, step, answer(200, RESULT))
                result = self.client(running).call("query", "a", idempotency_key="mine" if step.data else None)
                self.assertEqual(result.id, RESULT["id"])
                self.assertEqual((len(running.requests), len(set(running.keys))), (3, 1), step)

        def test_end_with_the_last_error(self) -> None:
            running = self.serving(answer(500, error("internal_error")))
            failed = self.failure(self.client(running, max_retries=2), "query", "a")
            self.assertIsInstance(failed, quarry.InternalError)
            self.assertIs(failed.charged, False)
            self.assertEqual(len(running.requests), 3)

        def test_after_a_lost_answer_leave_open_if_it_was_charged(self) -> None:
            running = self.serving(Step(b"", "reset"), answer(401, error("unauthorized")))
            self.assertIsNone(self.failure(self.client(running), "query", "a").charged)
            running = self.serving(Step(b"", "reset"))
            failed = self.failure(self.client(running, max_retries=1), "query", "a")
            self.assertIsInstance(failed, quarry.NetworkError)
            self.assertIsNone(failed.charged)
            self.assertEqual(failed.idempotency_key, running.keys[0])

        def test_wait_as_retry_after_says(self) -> None:
            running = self.serving(answer(429, error("rate_limited"), Retry_After="1"), answer(200, RESULT))
            began = time.monotonic()
            self.client(running).call("query", "a")
            self.assertGreaterEqual(time.monotonic() - began, 1)

        def test_do_not_wait_for_longer_than_the_call_may_take(self) -> None:
            running = self.serving(answer(429, error("rate_limited"), Retry_After="60"))
            began = time.monotonic()
            failed = self.failure(self.client(running, timeout=20), "query", "a")
            self.assertLess(time.monotonic() - began, 10)
            self.assertEqual((failed.code, failed.retry_after, len(running.requests)), ("rate_limited", 60, 1))

        def test_reach_another_connection_where_a_kept_one_has_ended(self) -> None:
            cut = Step(b"", "close")
            running = self.serving(answer(200, RESULT), cut, answer(200, RESULT))
            client = self.client(running)
            client.call("query", "a")
            client.call("query", "b")
            self.assertEqual([it.connection for it in running.requests], [1, 1, 2])

        def test_that_cannot_connect_were_not_charged(self) -> None:
            with socket.socket() as taken:
                # Bound and not listening, so that nobody else can answer there.
                taken.bind(("127.0.0.1", 0))
                client = type(self).face(f"http://127.0.0.1:{taken.getsockname()[1]}", max_retries=2)
                self.addCleanup(client.close)
                failed = self.failure(client, "query", "a")
            self.assertIsInstance(failed, quarry.NetworkError)
            self.assertIs(failed.charged, False)

    class Deadlines(Base):
        def test_bound_a_call_as_a_whole(self) -> None:
            for step in (Step(b"", "hang"), Step(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{", "hang")):
                running = self.serving(step)
                began = time.monotonic()
                failed = self.failure(self.client(running), "query", "a", timeout=0.3)
                self.assertIsInstance(failed, quarry.DeadlineError)
                self.assertIsInstance(failed, TimeoutError)
                self.assertIsNone(failed.charged)
                self.assertLess(time.monotonic() - began, 10)

        def test_end_an_answer_that_comes_byte_by_byte(self) -> None:
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
            running = self.serving(Step(head + b"x" * 1000, pause=0.02))
            began = time.monotonic()
            failed = self.failure(self.client(running), "query", "a", timeout=2)
            self.assertIsInstance(failed, quarry.DeadlineError)
            self.assertLess(time.monotonic() - began, 15)

        def test_give_up_an_attempt_and_leave_time_for_another(self) -> None:
            with mock.patch.object(_calls, "QUERY_ATTEMPT_SECONDS", 0.2):
                running = self.serving(Step(b"", "hang"), answer(200, RESULT))
                self.assertEqual(self.client(running).call("query", "a").id, RESULT["id"])
                self.assertEqual(len(set(running.keys)), 1)

    class Streams(Base):
        def test_hand_out_rows_as_they_come(self) -> None:
            running = self.serving(lines(LINES))
            rows, stream = self.client(running).rows(["a", "b"])
            self.assertEqual([(index, row.status) for index, row in rows], [(1, "error"), (0, "ok")])
            self.assertEqual((stream.summary.credits_used, stream.start.total), (2, 2))
            self.assertEqual(running.requests[0].headers["accept"], "application/x-ndjson")
            self.assertIsNone(running.keys[0], "with a key the rows would come together")

        def test_cut_off_are_an_error_that_has_what_came_and_are_not_sent_again(self) -> None:
            unreadable = Step(lines(LINES[:1], ends=False).data + b"4\r\nxxx\n\r\n", "close")
            for step in (
                lines(LINES[:2], "close"),
                lines(LINES[:2], "close", ends=False),
                lines(LINES[:2], "reset", ends=False),
                Step(lines(LINES).data[:-120], "close"),
                unreadable,
            ):
                running = self.serving(step)
                with self.assertRaises(quarry.StreamCutError) as caught:
                    self.client(running).rows(["a", "b"])
                self.assertIsNone(caught.exception.charged)
                self.assertEqual(len(running.requests), 1)
                if step is not unreadable and step.then == "close":
                    self.assertEqual(caught.exception.batch_id, BATCH["batch_id"])
                    self.assertGreaterEqual(caught.exception.received, 1)

        def test_whose_request_may_have_been_read_are_not_sent_again_without_a_key(self) -> None:
            running = self.serving(Step(b"", "close"))
            with self.assertRaises(quarry.NetworkError) as caught:
                self.client(running).rows(["a"])
            self.assertIsNone(caught.exception.charged)
            self.assertEqual(len(running.requests), 1)

            running = self.serving(Step(b"", "close"), lines(LINES))
            self.client(running).rows(["a", "b"], idempotency_key="mine")
            self.assertEqual(running.keys, ["mine", "mine"])

        def test_that_were_denied_are_sent_again(self) -> None:
            running = self.serving(answer(429, error("rate_limited"), Retry_After="0"), lines(LINES))
            rows, _ = self.client(running).rows(["a", "b"])
            self.assertEqual((len(rows), len(running.requests)), (2, 2))
            running = self.serving(answer(402, error("quota_exceeded")))
            with self.assertRaises(quarry.QuotaExceededError):
                self.client(running).rows(["a", "b"])

        def test_that_fall_silent_are_cut_off(self) -> None:
            with mock.patch.object(_calls, "STREAM_SILENCE_SECONDS", 0.2):
                running = self.serving(lines(LINES[:2], "hang", ends=False))
                with self.assertRaises(quarry.StreamCutError) as caught:
                    self.client(running).rows(["a", "b"])
                self.assertEqual(caught.exception.received, 1)

    class Arguments(Base):
        def test_that_no_request_can_carry_are_an_error_at_once(self) -> None:
            client = self.client(self.serving())
            for key in ("", "x" * 256, "a b", "a\r\nX: y", "ü"):
                with self.assertRaises(ValueError):
                    client.call("query", "a", idempotency_key=key)
            with self.assertRaises(TypeError):
                client.call("bulk", "one text")


def load_tests(loader: unittest.TestLoader, _: unittest.TestSuite, __: Optional[str]) -> unittest.TestSuite:
    """Every case with either client."""
    suite = unittest.TestSuite()
    for face in (Sync, Async):
        for name, case in vars(Cases).items():
            if isinstance(case, type) and issubclass(case, unittest.TestCase) and name != "Base":
                of_face = type(f"{face.__name__}{name}", (case,), {"face": face, "__module__": __name__})
                suite.addTests(loader.loadTestsFromTestCase(of_face))
    suite.addTests(loader.loadTestsFromTestCase(Threads))
    return suite


class Threads(unittest.TestCase):
    def test_share_a_client(self) -> None:
        with Service([answer(200, RESULT)]) as running, quarry.Client(KEY, running.url) as client:
            results: List[str] = []

            def work() -> None:
                for _ in range(20):
                    results.append(client.query("a").id)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for it in threads:
                it.start()
            for it in threads:
                it.join()
            self.assertEqual(len(results), 160)
            self.assertLessEqual(running.connections, 8)
            self.assertEqual(len(set(running.keys)), 160)
