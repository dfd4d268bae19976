"""The client for asyncio. A cancelled call closes its connection at once, so that the service stops what has not started."""

import asyncio
import ssl
import time
from typing import AsyncIterator, Callable, Coroutine, Dict, Generic, Iterator, Optional, Sequence, Tuple, TypeVar, Union

import httpx

from . import _calls, _http
from ._calls import DEFAULT_RETRIES, Attempts, Call, Lost, Reply, Wait
from ._lines import BatchLines, RowTypes
from .models import (
    NO_META,
    Account,
    BatchStart,
    BatchSummary,
    BulkResult,
    ErrorRow,
    Meta,
    PageFormat,
    PageInput,
    PageResult,
    PageRow,
    PagesResult,
    ReadRow,
    Row,
    RowInput,
    Freshness,
    Safe,
    Topic,
    SearchResult,
    ServedRow,
    Target,
    UnreadRow,
)

T = TypeVar("T")
R = TypeVar("R")

_ROWS: RowTypes[Row] = (ServedRow, ErrorRow)
_PAGE_ROWS: RowTypes[PageRow] = (ReadRow, UnreadRow)


class AsyncClient:
    """Calls a Quarry from asyncio. Close it with ``await client.aclose()``, or use it in an ``async with``.

    ``api_key`` and ``base_url`` are taken from ``QUARRY_API_KEY`` and ``QUARRY_URL`` where they are not given. ``timeout`` is
    how many seconds a call may take as a whole, with its retries. ``max_retries`` bounds these.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        max_retries: int = DEFAULT_RETRIES,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        url, headers = _http.address_of(base_url), _http.headers_of(api_key)
        verify = ssl_context or ssl.create_default_context()

        def make() -> httpx.AsyncClient:
            return httpx.AsyncClient(base_url=url, headers=headers, verify=verify, limits=_http.LIMITS)

        self._make = make
        self._http = make()
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._timeout = timeout
        self._max_retries = max_retries
        #: The headers of the last answer of any task: credits and limits.
        self.last: Meta = NO_META

    async def query(
        self,
        query: str,
        *,
        target: Optional[Target] = None,
        geo: Optional[str] = None,
        locale: Optional[str] = None,
        page: Optional[int] = None,
        num: Optional[int] = None,
        safe: Optional[Safe] = None,
        source: Optional[str] = None,
        freshness: Optional[Freshness] = None,
        after: Optional[str] = None,
        before: Optional[str] = None,
        include_domains: Optional[Sequence[str]] = None,
        exclude_domains: Optional[Sequence[str]] = None,
        topic: Optional[Topic] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> SearchResult:
        """Runs one search. It costs a credit."""
        parameters: Dict[str, Union[str, int, None]] = {
            "query": query,
            "target": target,
            "geo": geo,
            "locale": locale,
            "page": page,
            "num": num,
            "safe": safe,
            "source": source,
            "freshness": freshness,
            "after": after,
            "before": before,
            "include_domains": _calls.comma_list(include_domains),
            "exclude_domains": _calls.comma_list(exclude_domains),
            "topic": topic,
        }
        return await self._run(_calls.query(parameters, idempotency_key, self._seconds(timeout)))

    async def bulk(
        self,
        queries: Sequence[RowInput],
        *,
        target: Optional[Target] = None,
        geo: Optional[str] = None,
        locale: Optional[str] = None,
        num: Optional[int] = None,
        source: Optional[str] = None,
        freshness: Optional[Freshness] = None,
        after: Optional[str] = None,
        before: Optional[str] = None,
        include_domains: Optional[Sequence[str]] = None,
        exclude_domains: Optional[Sequence[str]] = None,
        topic: Optional[Topic] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BulkResult:
        """Runs 1 to 50 searches, each a text or a ``RowRequest``. It costs a credit for each row that ran."""
        defaults: Dict[str, object] = {
            "target": target,
            "geo": geo,
            "locale": locale,
            "num": num,
            "source": source,
            "freshness": freshness,
            "after": after,
            "before": before,
            "include_domains": include_domains,
            "exclude_domains": exclude_domains,
            "topic": topic,
        }
        return await self._run(_calls.bulk(queries, defaults, idempotency_key, self._seconds(timeout)))

    def stream(
        self,
        queries: Sequence[RowInput],
        *,
        target: Optional[Target] = None,
        geo: Optional[str] = None,
        locale: Optional[str] = None,
        num: Optional[int] = None,
        source: Optional[str] = None,
        freshness: Optional[Freshness] = None,
        after: Optional[str] = None,
        before: Optional[str] = None,
        include_domains: Optional[Sequence[str]] = None,
        exclude_domains: Optional[Sequence[str]] = None,
        topic: Optional[Topic] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> "AsyncStream[Row]":
        """Runs a batch and hands out each row with its index as soon as it is there.

        The request is sent with the first row that is asked for, or at the start of an ``async with``. A stream that is
        cut off raises ``StreamCutError``. It is not tried again: its rows were charged. With an ``idempotency_key`` it
        can be repeated without paying again, but its rows come together.
        """
        defaults: Dict[str, object] = {
            "target": target,
            "geo": geo,
            "locale": locale,
            "num": num,
            "source": source,
            "freshness": freshness,
            "after": after,
            "before": before,
            "include_domains": include_domains,
            "exclude_domains": exclude_domains,
            "topic": topic,
        }
        call = _calls.stream(queries, defaults, idempotency_key, self._seconds(timeout))
        return AsyncStream(lambda: self._stream(call, _ROWS))

    async def page(
        self,
        url: str,
        *,
        format: Optional[PageFormat] = None,
        start: Optional[int] = None,
        max_chars: Optional[int] = None,
        links: Optional[bool] = None,
        max_age: Optional[int] = None,
        source: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> PageResult:
        """Reads the text of one page. It costs a credit. ``PageUnreadableError`` has the reason if it cannot be read."""
        parameters: Dict[str, Union[str, int, bool, None]] = {
            "url": url,
            "format": format,
            "start": start,
            "max_chars": max_chars,
            "links": links,
            "max_age": max_age,
            "source": source,
        }
        return await self._run(_calls.page(parameters, idempotency_key, self._seconds(timeout)))

    async def pages(
        self,
        urls: Sequence[PageInput],
        *,
        format: Optional[PageFormat] = None,
        start: Optional[int] = None,
        max_chars: Optional[int] = None,
        links: Optional[bool] = None,
        max_age: Optional[int] = None,
        source: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> PagesResult:
        """Reads 1 to 20 pages, each an address or a ``PageRequest``. It costs a credit for each page that was read."""
        defaults: Dict[str, Union[str, int, bool, None]] = {
            "format": format,
            "start": start,
            "max_chars": max_chars,
            "links": links,
            "max_age": max_age,
            "source": source,
        }
        return await self._run(_calls.pages(urls, defaults, idempotency_key, self._seconds(timeout)))

    def pages_stream(
        self,
        urls: Sequence[PageInput],
        *,
        format: Optional[PageFormat] = None,
        start: Optional[int] = None,
        max_chars: Optional[int] = None,
        links: Optional[bool] = None,
        max_age: Optional[int] = None,
        source: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> "AsyncStream[PageRow]":
        """Reads pages and returns each with its index as soon as it is read. Otherwise the same as ``stream``."""
        defaults: Dict[str, Union[str, int, bool, None]] = {
            "format": format,
            "start": start,
            "max_chars": max_chars,
            "links": links,
            "max_age": max_age,
            "source": source,
        }
        call = _calls.pages_stream(urls, defaults, idempotency_key, self._seconds(timeout))
        return AsyncStream(lambda: self._stream(call, _PAGE_ROWS))

    async def me(self, *, timeout: Optional[float] = None) -> Account:
        """The account behind the key. It costs nothing."""
        return await self._run(_calls.me(self._seconds(timeout)))

    async def aclose(self) -> None:
        await self._of_this_loop().aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient(base_url={str(self._http.base_url)!r})"

    def _seconds(self, timeout: Optional[float]) -> Optional[float]:
        return self._timeout if timeout is None else timeout

    def _of_this_loop(self) -> httpx.AsyncClient:
        """Connections belong to an event loop, and agents may run each call of a tool on a new one."""
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            self._http = self._make()
        self._loop = loop
        return self._http

    async def _run(self, call: Call[T]) -> T:
        attempts = Attempts(call, self._max_retries)
        while True:
            ends = attempts.attempt_ends
            result = attempts.answered(await self._read(await self._send(call, ends), ends))
            if not isinstance(result, Wait):
                return result
            await asyncio.sleep(result.seconds)

    async def _stream(self, call: Call[None], types: RowTypes[R]) -> "_Begun[R]":
        attempts = Attempts(call, self._max_retries)
        while True:
            ends = attempts.attempt_ends
            response = await self._send(call, ends)
            if isinstance(response, httpx.Response) and response.status_code == 200:
                return _Begun(response, BatchLines(call.key, Meta.of(response.headers), types), attempts.deadline)
            await asyncio.sleep(attempts.failed(await self._read(response, ends)))

    # Both return their failure, so that frames of httpx, which hold the key, are in no traceback.

    async def _send(self, call: Call[T], ends: float) -> Union[httpx.Response, Lost]:
        http = self._of_this_loop()
        try:
            response = await http.send(_http.request_of(http, call, ends), stream=True)
        except _http.FAILURES as error:
            return _http.lost(error)
        self.last = Meta.of(response.headers)
        return response

    async def _read(self, response: Union[httpx.Response, Lost], ends: float) -> Union[Reply, Lost]:
        if isinstance(response, Lost):
            return response
        body = bytearray()
        try:
            async for chunk in response.aiter_bytes():
                _http.append(body, chunk, ends)
        except _http.FAILURES as error:
            return _http.lost(error)
        finally:
            await response.aclose()
        return _http.reply_of(response, bytes(body))


class _Begun(Generic[R]):
    """A stream whose response has started."""

    def __init__(self, response: httpx.Response, lines: BatchLines[R], deadline: float) -> None:
        self._response = response
        self._chunks = response.aiter_bytes()
        self.lines = lines
        self._rows: Iterator[Tuple[int, R]] = iter(())
        self._deadline = deadline

    async def next(self) -> Tuple[int, R]:
        try:
            while not self._response.is_closed:
                for row in self._rows:
                    return row
                self._rows = self.lines.rows(await self._chunk())
            raise StopAsyncIteration
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        await self._response.aclose()

    async def _chunk(self) -> bytes:
        """The next bytes of the body. After the summary, a lost connection loses nothing."""
        reason = "the stream ended before its summary"
        try:
            if time.monotonic() >= self._deadline:
                raise httpx.ReadTimeout("")
            async for chunk in self._chunks:
                return chunk
        except _http.FAILURES as error:
            reason = _http.reason_of(error)
        await self.close()
        # Raised here, so that frames of httpx, which hold the key, are in no traceback.
        if self.lines.summary is None:
            raise self.lines.cut(reason)
        return b""


class AsyncStream(Generic[R], AsyncIterator[Tuple[int, R]]):
    """The rows of a batch as they come, each with its index in ``queries``. ``summary`` is there after the last."""

    def __init__(self, begin: Callable[[], Coroutine[None, None, _Begun[R]]]) -> None:
        self._begin = begin
        self._begun: Optional[_Begun[R]] = None
        self._is_closed = False

    @property
    def meta(self) -> Meta:
        return NO_META if self._begun is None else self._begun.lines.meta

    @property
    def start(self) -> Optional[BatchStart]:
        return None if self._begun is None else self._begun.lines.start

    @property
    def summary(self) -> Optional[BatchSummary]:
        return None if self._begun is None else self._begun.lines.summary

    async def __anext__(self) -> Tuple[int, R]:
        if self._is_closed:
            raise StopAsyncIteration
        if self._begun is None:
            self._begun = await self._begin()
        return await self._begun.next()

    async def aclose(self) -> None:
        """Ends the batch: rows that have not started are not run."""
        self._is_closed = True
        if self._begun is not None:
            await self._begun.close()

    async def __aenter__(self) -> "AsyncStream[R]":
        if self._begun is None:
            self._begun = await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
