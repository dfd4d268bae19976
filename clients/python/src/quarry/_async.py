"""The client for asyncio.

It stands on asyncio's streams and not on threads: a call that is cancelled closes its connection at once, so that the
service stops what has not started, and a thousand calls that wait cost no thousand threads.
"""

import asyncio
import socket
import ssl
import time
from types import TracebackType
from typing import AsyncIterator, Callable, Coroutine, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _calls
from ._address import Address, Secret, secret_of
from ._calls import (
    DEFAULT_RETRIES,
    DRAIN_SECONDS,
    MAX_IDLE_CONNECTIONS,
    MAX_IDLE_SECONDS,
    READ_BYTES,
    Attempts,
    Call,
    Lost,
    Reply,
    Wait,
)
from ._http1 import AnswerReader, Head, Reading
from ._lines import BatchLines
from ._losses import READING_ERRORS, TooLate, cut_off, is_framed, not_answered, not_connected, reason_of
from .models import (
    NO_META,
    Account,
    BatchStart,
    BatchSummary,
    BulkResult,
    Meta,
    Row,
    RowInput,
    Safe,
    SearchResult,
    Target,
)

T = TypeVar("T")


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.loop = asyncio.get_running_loop()
        self.idle_since = 0.0
        self.is_fresh = True

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def read(self, reading: "Reading[T]") -> T:
        try:
            next(reading)
            while True:
                reading.send(await self._reader.read(READ_BYTES))
        except StopIteration as stop:
            value: T = stop.value
            return value

    def has_ended(self) -> bool:
        return self._reader.at_eof() or self._writer.transport.is_closing()

    def close(self) -> None:
        # A connection of a loop that has ended is closed with that loop.
        if not self.loop.is_closed():
            self._writer.transport.abort()


class _Exchange:
    """A request that was sent, and its answer as it comes."""

    def __init__(self, pool: "_Pool", connection: _Connection, reader: AnswerReader, head: Head) -> None:
        self._pool = pool
        self._connection = connection
        self._reader = reader
        self.head = head

    async def body(self) -> bytes:
        return await self._connection.read(self._reader.body())

    async def line(self, ends: float) -> Optional[bytes]:
        return await _within(ends, self._connection.read(self._reader.lines()))

    def close(self) -> None:
        """Keeps the connection for another call if it can carry one."""
        if self._reader.is_reusable:
            self._pool.keep(self._connection)
        else:
            self._connection.close()


class _Pool:
    """Opens connections, and keeps those that are idle."""

    def __init__(self, address: Address, secret: Secret, context: Optional[ssl.SSLContext]) -> None:
        self._address = address
        self._secret = secret
        self._context = (context or ssl.create_default_context()) if address.is_tls else None
        self._idle: List[_Connection] = []
        self._is_closed = False

    async def exchange(self, call: Call[T], ends: float) -> Union[_Exchange, Lost]:
        """Sends a request and reads the head of its answer."""
        connection = self._kept() if call.is_repeatable else None
        try:
            connection = connection or await self._opened(min(ends, time.monotonic() + _calls.CONNECT_SECONDS))
        except READING_ERRORS as error:
            return not_connected(self._address, error)
        reader = AnswerReader()
        try:
            head = await _within(ends, self._asked(connection, call, reader))
            return _Exchange(self, connection, reader, head)
        except READING_ERRORS as error:
            connection.close()
            return not_answered(error, was_kept=not connection.is_fresh, reader=reader)
        except BaseException:
            connection.close()
            raise

    async def reply(self, call: Call[T], ends: float) -> Union[Reply, Lost]:
        """Sends a request and reads its whole answer."""
        exchange = await self.exchange(call, ends)
        return exchange if isinstance(exchange, Lost) else await self.rest(exchange, ends)

    async def rest(self, exchange: _Exchange, ends: float) -> Union[Reply, Lost]:
        head = exchange.head
        try:
            return Reply(head.status, head.headers, await _within(ends, exchange.body()), is_framed(head))
        except READING_ERRORS as error:
            return cut_off(error)
        finally:
            exchange.close()

    def keep(self, connection: _Connection) -> None:
        connection.idle_since = time.monotonic()
        connection.is_fresh = False
        if self._is_closed or len(self._idle) >= MAX_IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        self._is_closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _kept(self) -> Optional[_Connection]:
        loop = asyncio.get_running_loop()
        while self._idle:
            connection = self._idle.pop()
            is_young = time.monotonic() - connection.idle_since < MAX_IDLE_SECONDS
            if connection.loop is loop and is_young and not connection.has_ended():
                return connection
            connection.close()
        return None

    async def _opened(self, ends: float) -> _Connection:
        return await _within(ends, self._connected(), lambda connection: connection.close())

    async def _connected(self) -> _Connection:
        address = self._address
        host, port = address.peer
        name = address.name if self._context is not None else None
        if address.tunnel is None:
            return _Connection(
                *await asyncio.open_connection(host, port, ssl=self._context, server_hostname=name, limit=READ_BYTES)
            )
        # StreamWriter.start_tls came with Python 3.11; a plain socket can be handed over to TLS in all versions.
        sock = await _connected_socket(host, port)
        try:
            await _tunnel(sock, address.tunnel)
            return _Connection(
                *await asyncio.open_connection(sock=sock, ssl=self._context, server_hostname=name, limit=READ_BYTES)
            )
        except BaseException:
            sock.close()
            raise

    async def _asked(self, connection: _Connection, call: Call[T], reader: AnswerReader) -> Head:
        # The bytes hold the key, and stay out of the variables that a debugger or an error reporter shows.
        await connection.send(
            self._address.encode(call.method, call.path, call.accept, call.key, call.body, self._secret)
        )
        return await connection.read(reader.head())


class AsyncClient:
    """Calls a Quarry from asyncio. Close it with ``await client.aclose()``, or use it in an ``async with``.

    ``api_key`` and ``base_url`` are taken from ``QUARRY_KEY`` and ``QUARRY_URL`` where they are not given. ``timeout`` is
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
        self._address = Address(base_url)
        self._pool = _Pool(self._address, secret_of(api_key), ssl_context)
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
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BulkResult:
        """Runs 1 to 50 searches, each a text or a ``RowRequest``. It costs a credit for each row that ran."""
        defaults = {"target": target, "geo": geo, "locale": locale, "num": num, "source": source}
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
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> "AsyncStream":
        """Runs a batch and hands out each row with its index as soon as it is there.

        The request is sent with the first row that is asked for, or at the start of an ``async with``. A stream that is
        cut off raises ``StreamCutError``. It is not tried again: its rows were charged. With an ``idempotency_key`` it
        can be repeated without paying again, but its rows come together.
        """
        defaults = {"target": target, "geo": geo, "locale": locale, "num": num, "source": source}
        call = _calls.stream(queries, defaults, idempotency_key, self._seconds(timeout))
        return AsyncStream(lambda: self._stream(call), call.attempt_seconds)

    async def me(self, *, timeout: Optional[float] = None) -> Account:
        """The account behind the key. It costs nothing."""
        return await self._run(_calls.me(self._seconds(timeout)))

    async def aclose(self) -> None:
        self._pool.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncClient(base_url={self._address.url!r})"

    def _seconds(self, timeout: Optional[float]) -> Optional[float]:
        return self._timeout if timeout is None else timeout

    async def _run(self, call: Call[T]) -> T:
        attempts = Attempts(call, self._max_retries)
        while True:
            reply = await self._pool.reply(call, attempts.attempt_ends)
            if isinstance(reply, Lost):
                wait = attempts.lost(reply)
            else:
                self.last = Meta.of(reply.headers)
                result = attempts.answered(reply)
                if not isinstance(result, Wait):
                    return result
                wait = result.seconds
            await asyncio.sleep(wait)

    async def _stream(self, call: Call[None]) -> Tuple[_Exchange, BatchLines, float]:
        attempts = Attempts(call, self._max_retries)
        while True:
            ends = attempts.attempt_ends
            exchange = await self._pool.exchange(call, ends)
            if isinstance(exchange, Lost):
                wait = attempts.lost(exchange)
            else:
                self.last = meta = Meta.of(exchange.head.headers)
                if exchange.head.status == 200:
                    return exchange, BatchLines(call.key, meta), attempts.deadline
                rest = await self._pool.rest(exchange, ends)
                wait = attempts.lost(rest) if isinstance(rest, Lost) else attempts.failed(rest, meta)
            await asyncio.sleep(wait)


class AsyncStream(AsyncIterator[Tuple[int, Row]]):
    """The rows of a batch as they come, each with its index in ``queries``. ``summary`` is there after the last."""

    def __init__(
        self,
        begin: "Callable[[], Coroutine[None, None, Tuple[_Exchange, BatchLines, float]]]",
        silence_seconds: float,
    ) -> None:
        self._begin = begin
        self._silence_seconds = silence_seconds
        self._begun: Optional[Tuple[_Exchange, BatchLines, float]] = None
        self._is_closed = False

    @property
    def meta(self) -> Meta:
        return NO_META if self._begun is None else self._begun[1].meta

    @property
    def start(self) -> Optional[BatchStart]:
        return None if self._begun is None else self._begun[1].start

    @property
    def summary(self) -> Optional[BatchSummary]:
        return None if self._begun is None else self._begun[1].summary

    async def __anext__(self) -> Tuple[int, Row]:
        if self._is_closed:
            raise StopAsyncIteration
        if self._begun is None:
            self._begun = await self._begin()
        exchange, lines, deadline = self._begun
        try:
            while True:
                said = lines.take(await self._line(exchange, lines, deadline))
                if isinstance(said, tuple):
                    return said
                if isinstance(said, BatchSummary):
                    await _drain(exchange)
                    raise StopAsyncIteration
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Ends the batch: rows that have not started are not run."""
        if not self._is_closed:
            self._is_closed = True
            if self._begun is not None:
                self._begun[0].close()

    async def __aenter__(self) -> "AsyncStream":
        if self._begun is None:
            self._begun = await self._begin()
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.aclose()

    async def _line(self, exchange: _Exchange, lines: BatchLines, deadline: float) -> Optional[bytes]:
        try:
            return await exchange.line(min(deadline, time.monotonic() + self._silence_seconds))
        except READING_ERRORS as error:
            reason = reason_of(error)
        # Raised here, so that the connection's frames are no part of the trace.
        raise lines.cut(reason)


async def _drain(exchange: _Exchange) -> None:
    """Reads to the end of the body, so that the connection can be kept. The batch is whole without it."""
    try:
        await exchange.line(time.monotonic() + DRAIN_SECONDS)
    except READING_ERRORS:
        pass


async def _within(ends: float, work: "Coroutine[None, None, T]", discard: Callable[[T], None] = lambda made: None) -> T:
    """What ``work`` gives, or ``TooLate``. Cancelled itself, it leaves nothing behind: ``discard`` takes what was made.

    ``asyncio.wait_for`` loses a cancellation that comes as the work ends, before Python 3.12.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=max(0.0, ends - time.monotonic()))
    except asyncio.CancelledError:
        if not task.cancel() and not task.cancelled() and task.exception() is None:
            discard(task.result())
        raise
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        if task.cancelled() or task.exception() is not None:
            raise TooLate
    return task.result()


async def _connected_socket(host: str, port: int) -> socket.socket:
    """A connection to the first address of a name that takes one."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError("the name has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            await loop.sock_connect(sock, address)
            return sock
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
    raise failure


async def _tunnel(sock: socket.socket, request: bytes) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, request)
    reading = AnswerReader().head()
    try:
        next(reading)
        while True:
            reading.send(await loop.sock_recv(sock, READ_BYTES))
    except StopIteration as stop:
        head: Head = stop.value
    if not 200 <= head.status < 300:
        raise OSError(f"the proxy answered {head.status}")
