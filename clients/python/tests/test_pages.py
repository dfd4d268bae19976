"""Pages: their text, why they cannot be read, and batches of them."""

import unittest
from typing import Any, Dict, List

import quarry

from .service import Async, Face, Service, Sync, answer, error, lines

PAGE: Dict[str, Any] = {
    "id": "pag_5b1f8c0e9d7a46f2a3c4e6b8d0f21357",
    "url": "https://example.org/a",
    "final_url": "https://www.example.org/a",
    "title": "Caching",
    "description": None,
    "author": None,
    "site_name": None,
    "published": "2026-10-02",
    "language": "en",
    "media_type": "text/html",
    "format": "markdown",
    "content": "# Gr\u00fc\u00dfe",
    "start": 0,
    "characters": 900,
    "truncated": True,
    "fetched_at": "2026-11-23T10:00:00.000Z",
}
UNREAD: Dict[str, Any] = {
    "status": "error",
    "error": "page_unreadable",
    "message": "gone",
    "reason": "not_found",
    "http_status": 404,
}
BATCH: Dict[str, Any] = {
    "batch_id": "bat_0d8f1c6a35b04e7d9c2b7a61f4e39d58",
    "total": 2,
    "succeeded": 1,
    "failed": 1,
    "results": [{"status": "ok", **PAGE}, UNREAD],
}
LINES: List[Dict[str, Any]] = [
    {"type": "batch", "batch_id": BATCH["batch_id"], "total": 2},
    {"type": "row", "index": 1, **UNREAD},
    {"type": "row", "index": 0, **BATCH["results"][0]},
    {**{name: BATCH[name] for name in ("batch_id", "total", "succeeded", "failed")}, "type": "summary", "credits_used": 1},
]


class Pages(unittest.TestCase):
    def faces(self, *steps: Any) -> Any:
        faces: List[Face] = [Sync, Async]
        for face in faces:
            with Service(steps) as service:
                client = face(service.url)
                try:
                    yield service, client
                finally:
                    client.close()

    def test_page_has_its_text_and_where_it_goes_on(self) -> None:
        links = [{"url": "https://example.org/b", "text": "b"}]
        for service, client in self.faces(answer(200, {**PAGE, "links": links}, X_Credits_Used="1")):
            page = client.call("page", "https://example.org/a?b=c&d", links=True, max_chars=7, max_age=0)
            self.assertEqual((page.title, page.author, page.content), ("Caching", None, "# Gr\u00fc\u00dfe"))
            self.assertEqual((page.truncated, page.end), (True, 7))
            self.assertEqual(page.links, (quarry.PageLink("https://example.org/b", "b"),))
            self.assertEqual(page.meta.credits_used, 1)
            query = "url=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc%26d&max_chars=7&links=true&max_age=0"
            self.assertEqual(service.requests[0].line, f"GET /v1/page?{query} HTTP/1.1")
            self.assertEqual(len(service.keys), 1)

    def test_page_without_links_has_none(self) -> None:
        for _, client in self.faces(answer(200, PAGE)):
            self.assertIsNone(client.call("page", PAGE["url"]).links)

    def test_unreadable_page_says_why_and_is_free(self) -> None:
        said = error("page_unreadable", reason="forbidden", http_status=403)
        for service, client in self.faces(answer(422, said)):
            with self.assertRaises(quarry.PageUnreadableError) as caught:
                client.call("page", PAGE["url"])
            self.assertEqual((caught.exception.reason, caught.exception.http_status), ("forbidden", 403))
            self.assertIs(caught.exception.charged, False)
            self.assertEqual(len(service.requests), 1)

    def test_reader_that_is_down_is_free(self) -> None:
        for _, client in self.faces(answer(502, error("upstream_error"), X_Credits_Used="0")):
            with self.assertRaises(quarry.UpstreamError) as caught:
                client.call("page", PAGE["url"])
            self.assertIs(caught.exception.charged, False)

    def test_batch_has_rows_of_both_kinds(self) -> None:
        for service, client in self.faces(answer(200, BATCH)):
            batch = client.call("pages", ["https://example.org/a", {"url": "https://example.org/x"}], format="text")
            read, unread = batch.results
            self.assertIsInstance(read, quarry.ReadRow)
            self.assertEqual((unread.error, unread.reason, unread.http_status), ("page_unreadable", "not_found", 404))
            self.assertIn(b'"format": "text"', service.requests[0].body)
            with self.assertRaises(TypeError):
                client.call("pages", "https://example.org/a")

    def test_stream_has_pages_as_they_come(self) -> None:
        for face in (Sync, Async):
            with Service([lines(LINES)]) as service:
                client = face(service.url)
                rows, stream = _rows(client)
                self.assertEqual([(index, type(row)) for index, row in rows], [(1, quarry.UnreadRow), (0, quarry.ReadRow)])
                self.assertEqual(stream.summary.credits_used, 1)
                client.close()


def _rows(client: Any) -> Any:
    if isinstance(client, Sync):
        with client.client.pages_stream([PAGE["url"]]) as stream:
            return list(stream), stream

    async def read() -> Any:
        async with client.client.pages_stream([PAGE["url"]]) as stream:
            return [it async for it in stream], stream

    return client.loop.run_until_complete(read())


if __name__ == "__main__":
    unittest.main()
