"""The client for threads. One can be used by several of them at once."""

import socket
import ssl
import threading
import time
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import Dict, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar, Union

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
from ._losses import READING_ERRORS, cut_off, is_framed, not_answered, not_connected, reason_of
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
    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.idle_since = 0.0
        self.is_fresh = True

    def send(self, data: bytes, ends: float) -> None:
        self._socket.settimeout(_remaining(ends))
        self._socket.sendall(data)

    def read(self, reading: "Reading[T]", ends: float) -> T:
        try:
            next(reading)
            while True:
                self._socket.settimeout(_remaining(ends))
                reading.send(self._socket.recv(READ_BYTES))
        except StopIteration as stop:
            value: T = stop.value
            return value

    def has_ended(self) -> bool:
        """If the server closed an idle connection, or sent what nobody asked for."""
        with DefaultSelector() as selector:
            selector.register(self._socket, EVENT_READ)
            return bool(selector.select(0))

    def close(self) -> None:
        self._socket.close()


class _Exchange:
    """A request that was sent, and its answer as it comes."""

    def __init__(self, pool: "_Pool", connection: _Connection, reader: AnswerReader, head: Head) -> None:
        self._pool = pool
        self._connection = connection
        self._reader = reader
        self.head = head

    def body(self, ends: float) -> bytes:
        return self._connection.read(self._reader.body(), ends)

    def line(self, ends: float) -> Optional[bytes]:
        return self._connection.read(self._reader.lines(), ends)

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
        self._lock = threading.Lock()
        self._idle: List[_Connection] = []
        self._is_closed = False

    def exchange(self, call: Call[T], ends: float) -> Union[_Exchange, Lost]:
        """Sends a request and reads the head of its answer."""
        try:
            connection = self._kept() if call.is_repeatable else None
            connection = connection or self._opened(min(ends, time.monotonic() + _calls.CONNECT_SECONDS))
        except READING_ERRORS as error:
            return not_connected(self._address, error)
        reader = AnswerReader()
        try:
            # The bytes hold the key, and stay out of the variables that a debugger or an error reporter shows.
            connection.send(self._encoded(call), ends)
            return _Exchange(self, connection, reader, connection.read(reader.head(), ends))
        except READING_ERRORS as error:
            connection.close()
            return not_answered(error, was_kept=not connection.is_fresh, reader=reader)
        except BaseException:
            connection.close()
            raise

    def reply(self, call: Call[T], ends: float) -> Union[Reply, Lost]:
        """Sends a request and reads its whole answer."""
        exchange = self.exchange(call, ends)
        return exchange if isinstance(exchange, Lost) else self.rest(exchange, ends)

    def rest(self, exchange: _Exchange, ends: float) -> Union[Reply, Lost]:
        head = exchange.head
        try:
            return Reply(head.status, head.headers, exchange.body(ends), is_framed(head))
        except READING_ERRORS as error:
            return cut_off(error)
        finally:
            exchange.close()

    def keep(self, connection: _Connection) -> None:
        connection.idle_since = time.monotonic()
        connection.is_fresh = False
        with self._lock:
            if not self._is_closed and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _kept(self) -> Optional[_Connection]:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if time.monotonic() - connection.idle_since < MAX_IDLE_SECONDS and not connection.has_ended():
                return connection
            connection.close()

    def _opened(self, ends: float) -> _Connection:
        address = self._address
        sock = _connected(address.peer, ends)
        try:
            if address.tunnel is not None:
                _tunnel(_Connection(sock), address.tunnel, ends)
            if self._context is not None:
                sock.settimeout(_remaining(ends))
                sock = self._context.wrap_socket(sock, server_hostname=address.name)
            return _Connection(sock)
        except BaseException:
            sock.close()
            raise

    def _encoded(self, call: Call[T]) -> bytes:
        return self._address.encode(call.method, call.path, call.accept, call.key, call.body, self._secret)


class Client:
    """Calls a Quarry. Threads may share one; close it, or use it in a ``with``.

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
        #: The headers of the last answer of any thread: credits and limits.
        self.last: Meta = NO_META

    def query(
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
        return self._run(_calls.query(parameters, idempotency_key, self._seconds(timeout)))

    def bulk(
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
        return self._run(_calls.bulk(queries, defaults, idempotency_key, self._seconds(timeout)))

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
    ) -> "Stream":
        """Runs a batch and hands out each row with its index as soon as it is there.

        A stream that is cut off raises ``StreamCutError``. It is not tried again: its rows were charged. With an
        ``idempotency_key`` it can be repeated without paying again, but its rows come together.
        """
        defaults = {"target": target, "geo": geo, "locale": locale, "num": num, "source": source}
        return self._stream(_calls.stream(queries, defaults, idempotency_key, self._seconds(timeout)))

    def me(self, *, timeout: Optional[float] = None) -> Account:
        """The account behind the key. It costs nothing."""
        return self._run(_calls.me(self._seconds(timeout)))

    def close(self) -> None:
        self._pool.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client(base_url={self._address.url!r})"

    def _seconds(self, timeout: Optional[float]) -> Optional[float]:
        return self._timeout if timeout is None else timeout

    def _run(self, call: Call[T]) -> T:
        attempts = Attempts(call, self._max_retries)
        while True:
            reply = self._pool.reply(call, attempts.attempt_ends)
            if isinstance(reply, Lost):
                wait = attempts.lost(reply)
            else:
                self.last = Meta.of(reply.headers)
                result = attempts.answered(reply)
                if not isinstance(result, Wait):
                    return result
                wait = result.seconds
            time.sleep(wait)

    def _stream(self, call: Call[None]) -> "Stream":
        attempts = Attempts(call, self._max_retries)
        while True:
            ends = attempts.attempt_ends
            exchange = self._pool.exchange(call, ends)
            if isinstance(exchange, Lost):
                wait = attempts.lost(exchange)
            else:
                self.last = meta = Meta.of(exchange.head.headers)
                if exchange.head.status == 200:
                    return Stream(exchange, BatchLines(call.key, meta), attempts.deadline, call.attempt_seconds)
                rest = self._pool.rest(exchange, ends)
                wait = attempts.lost(rest) if isinstance(rest, Lost) else attempts.failed(rest, meta)
            time.sleep(wait)


class Stream(Iterator[Tuple[int, Row]]):
    """The rows of a batch as they come, each with its index in ``queries``. ``summary`` is there after the last."""

    def __init__(self, exchange: _Exchange, lines: BatchLines, deadline: float, silence_seconds: float) -> None:
        self._exchange = exchange
        self._lines = lines
        self._deadline = deadline
        self._silence_seconds = silence_seconds
        self._is_closed = False

    @property
    def meta(self) -> Meta:
        return self._lines.meta

    @property
    def start(self) -> Optional[BatchStart]:
        return self._lines.start

    @property
    def summary(self) -> Optional[BatchSummary]:
        return self._lines.summary

    def __next__(self) -> Tuple[int, Row]:
        if self._is_closed:
            raise StopIteration
        try:
            while True:
                said = self._lines.take(self._line())
                if isinstance(said, tuple):
                    return said
                if isinstance(said, BatchSummary):
                    self._drain()
                    raise StopIteration
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the batch: rows that have not started are not run."""
        if not self._is_closed:
            self._is_closed = True
            self._exchange.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def _drain(self) -> None:
        """Reads to the end of the body, so that the connection can be kept. The batch is whole without it."""
        try:
            self._exchange.line(time.monotonic() + DRAIN_SECONDS)
        except READING_ERRORS:
            pass

    def _line(self) -> Optional[bytes]:
        try:
            return self._exchange.line(min(self._deadline, time.monotonic() + self._silence_seconds))
        except READING_ERRORS as error:
            reason = reason_of(error)
        # Raised here, so that the connection's frames are no part of the trace.
        raise self._lines.cut(reason)


def _connected(peer: Tuple[str, int], ends: float) -> socket.socket:
    """A connection to the first address of a name that takes one."""
    failure: OSError = OSError("the name has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(*peer, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_remaining(ends))
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            failure = error
    raise failure


def _tunnel(connection: _Connection, request: bytes, ends: float) -> None:
    connection.send(request, ends)
    head = connection.read(AnswerReader().head(), ends)
    if not 200 <= head.status < 300:
        raise OSError(f"the proxy answered {head.status}")


def _remaining(ends: float) -> float:
    seconds = ends - time.monotonic()
    if seconds <= 0:
        raise socket.timeout("timed out")
    return seconds
