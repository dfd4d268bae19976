"""Both clients against a Quarry that runs: ``QUARRY_TEST_URL`` and ``QUARRY_TEST_KEY`` name it and a key of it."""

import os
import unittest
import uuid

import quarry

from .service import Async, Sync

URL = os.environ.get("QUARRY_TEST_URL")


@unittest.skipUnless(URL, "no QUARRY_TEST_URL")
class Live(unittest.TestCase):
    def test_every_call_is_answered(self) -> None:
        for face in (Sync, Async):
            with self.subTest(face.__name__):
                client = face(URL or "", os.environ["QUARRY_TEST_KEY"])
                before = client.call("me").credits_available
                result = client.call("query", " http  caching ", num=3, geo="DE")
                self.assertEqual((result.query, result.geo, result.locale), ("http caching", "de", "de-de"))
                self.assertEqual([it.position for it in result.organic], [1, 2, 3])
                self.assertEqual((result.meta.credits_used, result.meta.replayed), (1, False))
                self.assertIsNotNone(result.meta.quota)
                self.assertIsNotNone(result.meta.rate_limit)

                batch = client.call("bulk", ["css grid", {"query": "fetch", "num": 2}, ""])
                self.assertEqual((batch.total, batch.succeeded, batch.failed, batch.meta.credits_used), (3, 2, 1, 2))
                self.assertEqual([it.status for it in batch.results], ["ok", "ok", "error"])

                rows, stream = client.rows(["css grid", {"query": "fetch", "num": 2}, ""])
                self.assertEqual(sorted(index for index, _ in rows), [0, 1, 2])
                self.assertEqual((stream.summary.credits_used, stream.start.total), (2, 3))

                with self.assertRaises(quarry.UnsupportedGeoError) as geo:
                    client.call("query", "a", geo="zz")
                self.assertEqual((len(geo.exception.supported), geo.exception.charged), (193, False))
                with self.assertRaises(quarry.InvalidRequestError) as invalid:
                    client.call("query", "", num=21)
                self.assertEqual([it.field for it in invalid.exception.fields], ["query", "num"])
                self.assertEqual(client.call("me").credits_available, before - 5)
                client.close()

    def test_a_repetition_with_one_key_is_a_replay_that_costs_nothing(self) -> None:
        for face in (Sync, Async):
            client = face(URL or "", os.environ["QUARRY_TEST_KEY"])
            key = str(uuid.uuid4())
            first = client.call("query", "css grid", idempotency_key=key)
            again = client.call("query", "css grid", idempotency_key=key)
            self.assertEqual((again.id, again.meta.replayed, again.meta.credits_used), (first.id, True, 0))
            lost = client.rows(["a", "b"], idempotency_key=key)[0]
            self.assertEqual(client.rows(["a", "b"], idempotency_key=key)[0], lost)
            client.close()

    def test_a_key_that_is_none_is_unauthorized(self) -> None:
        with quarry.Client("sk_live_nobody", URL) as client, self.assertRaises(quarry.UnauthorizedError):
            client.me()


if __name__ == "__main__":
    unittest.main()
