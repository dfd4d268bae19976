"""The calls of the API, and the rules by which they are tried again. No I/O: both clients use them."""

import email.utils
import json
import logging
import random
import time
import urllib.parse
import uuid
from dataclasses import dataclass
from typing import Callable, Dict, Generic, List, Mapping, Optional, Sequence, TypeVar, Union

from . import _decode
from .errors import (
    BY_CODE,
    ApiError,
    DeadlineError,
    IdempotencyInProgressError,
    NetworkError,
    QuarryError,
    UnexpectedAnswerError,
)
from .models import Account, BulkResult, Issue, Meta, PageInput, PageResult, PagesResult, RowInput, SearchResult

T = TypeVar("T")

log = logging.getLogger("quarry")

#: A search may take 15 seconds and a batch 60. An attempt that takes longer was lost.
QUERY_ATTEMPT_SECONDS = 20.0
BULK_ATTEMPT_SECONDS = 65.0
#: A page may take 15 seconds to fetch, as long again to wait for a parser, and 5 to parse.
PAGE_ATTEMPT_SECONDS = 40.0
ME_ATTEMPT_SECONDS = 10.0
#: A streamed batch has at least an empty line each 10 seconds.
STREAM_SILENCE_SECONDS = 25.0
CONNECT_SECONDS = 10.0

QUERY_SECONDS = 60.0
BULK_SECONDS = 180.0
PAGE_SECONDS = 90.0
ME_SECONDS = 60.0

FIRST_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
#: So that callers who were denied together do not come back together.
RETRY_AFTER_JITTER = 0.25

DEFAULT_RETRIES = 5

MAX_KEY_CHARACTERS = 255


@dataclass(frozen=True)
class Reply:
    """An answer. ``is_framed`` says that its end was marked, so that none of it can be missing."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_framed: bool = True


@dataclass(frozen=True)
class Lost:
    """An attempt without an answer. ``was_sent`` says that the service may have read the request."""

    reason: str
    was_sent: bool
    timed_out: bool = False
    #: Another attempt would end the same.
    is_final: bool = False


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[object, Meta], T]
    attempt_seconds: float
    seconds: float
    is_free: bool = False
    key: Optional[str] = None
    body: Optional[bytes] = None
    accept: str = "application/json"

    @property
    def is_repeatable(self) -> bool:
        """If it can be sent again after its answer was lost, without paying twice."""
        return self.is_free or self.key is not None


def comma_list(domains: Optional[Sequence[str]]) -> Optional[str]:
    """The form of a list in a query string. A text is taken as it is."""
    return domains if domains is None or isinstance(domains, str) else ",".join(domains)


def query(
    parameters: Mapping[str, Union[str, int, None]], key: Optional[str], seconds: Optional[float]
) -> Call[SearchResult]:
    given = {name: value for name, value in parameters.items() if value is not None}
    # A lone surrogate is sent as it is, and the API says what is wrong with it.
    text = urllib.parse.urlencode(given, quote_via=urllib.parse.quote, errors="surrogatepass")
    return Call(
        "GET",
        f"/v1/query?{text}",
        lambda value, meta: _decode.decode(SearchResult, value, meta=meta),
        QUERY_ATTEMPT_SECONDS,
        QUERY_SECONDS if seconds is None else seconds,
        key=_named(key),
    )


def bulk(
    queries: Sequence[RowInput],
    defaults: Mapping[str, object],
    key: Optional[str],
    seconds: Optional[float],
) -> Call[BulkResult]:
    return Call(
        "POST",
        "/v1/bulk",
        lambda value, meta: _decode.decode(BulkResult, value, meta=meta),
        BULK_ATTEMPT_SECONDS,
        BULK_SECONDS if seconds is None else seconds,
        key=_named(key),
        body=_batch_body("queries", queries, defaults),
    )


def stream(
    queries: Sequence[RowInput],
    defaults: Mapping[str, object],
    key: Optional[str],
    seconds: Optional[float],
) -> Call[None]:
    """A batch of lines. Only with the caller's own key it has one: then no line comes before all are there (R44)."""
    return Call(
        "POST",
        "/v1/bulk",
        lambda value, meta: None,
        STREAM_SILENCE_SECONDS if key is None else BULK_ATTEMPT_SECONDS,
        BULK_SECONDS if seconds is None else seconds,
        key=None if key is None else _named(key),
        body=_batch_body("queries", queries, defaults),
        accept="application/x-ndjson",
    )


def page(
    parameters: Mapping[str, Union[str, int, bool, None]], key: Optional[str], seconds: Optional[float]
) -> Call[PageResult]:
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in parameters.items()
        if value is not None
    }
    text = urllib.parse.urlencode(given, quote_via=urllib.parse.quote, errors="surrogatepass")
    return Call(
        "GET",
        f"/v1/page?{text}",
        lambda value, meta: _decode.decode(PageResult, value, meta=meta),
        PAGE_ATTEMPT_SECONDS,
        PAGE_SECONDS if seconds is None else seconds,
        key=_named(key),
    )


def pages(
    urls: Sequence[PageInput],
    defaults: Mapping[str, Union[str, int, bool, None]],
    key: Optional[str],
    seconds: Optional[float],
) -> Call[PagesResult]:
    return Call(
        "POST",
        "/v1/pages",
        lambda value, meta: _decode.decode(PagesResult, value, meta=meta),
        BULK_ATTEMPT_SECONDS,
        BULK_SECONDS if seconds is None else seconds,
        key=_named(key),
        body=_batch_body("urls", urls, defaults),
    )


def pages_stream(
    urls: Sequence[PageInput],
    defaults: Mapping[str, Union[str, int, bool, None]],
    key: Optional[str],
    seconds: Optional[float],
) -> Call[None]:
    """``stream`` for pages."""
    return Call(
        "POST",
        "/v1/pages",
        lambda value, meta: None,
        STREAM_SILENCE_SECONDS if key is None else BULK_ATTEMPT_SECONDS,
        BULK_SECONDS if seconds is None else seconds,
        key=None if key is None else _named(key),
        body=_batch_body("urls", urls, defaults),
        accept="application/x-ndjson",
    )


def me(seconds: Optional[float]) -> Call[Account]:
    return Call(
        "GET",
        "/v1/me",
        lambda value, meta: _decode.decode(Account, value, meta=meta),
        ME_ATTEMPT_SECONDS,
        ME_SECONDS if seconds is None else seconds,
        is_free=True,
    )


def _batch_body(
    name: str, rows: Sequence[object], defaults: Mapping[str, object]
) -> bytes:
    if isinstance(rows, (str, bytes)):
        raise TypeError(f"{name} must be a list, not one text")
    given = {name: value for name, value in defaults.items() if value is not None}
    return json.dumps({name: list(rows), **given}).encode("ascii")


def _named(key: Optional[str]) -> str:
    if key is None:
        return str(uuid.uuid4())
    if not 1 <= len(key) <= MAX_KEY_CHARACTERS or not all("!" <= character <= "~" for character in key):
        raise ValueError("idempotency_key must be 1 to 255 visible ASCII characters")
    return key


class Attempts(Generic[T]):
    """The attempts of one call: what each of them means, and how long to wait before the next."""

    def __init__(self, call: Call[T], max_retries: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.call = call
        self._retries_left = max_retries
        self._clock = clock
        self._backoff = FIRST_BACKOFF_SECONDS
        #: If an attempt may have been charged without an answer that says so.
        self._may_be_charged = False
        self.deadline = clock() + call.seconds

    @property
    def attempt_ends(self) -> float:
        """When the attempt that begins now is given up."""
        return min(self.deadline, self._clock() + self.call.attempt_seconds)

    def lost(self, lost: Lost) -> float:
        """The seconds until the next attempt, after one that had no answer."""
        self._may_be_charged = self._may_be_charged or (lost.was_sent and not self.call.is_free)
        if lost.timed_out and self._clock() >= self.deadline:
            raise self._failure(DeadlineError, f"no answer within {self.call.seconds:g} seconds")
        error = self._failure(NetworkError, lost.reason)
        if lost.is_final or (lost.was_sent and not self.call.is_repeatable):
            raise error
        return self._wait(error)

    def answered(self, reply: Union[Reply, Lost]) -> Union[T, "Wait"]:
        """What the call returns, or the seconds until the next attempt."""
        if isinstance(reply, Reply) and reply.status == 200:
            meta = Meta.of(reply.headers)
            try:
                return self.call.read(_decode.parse(reply.body), meta)
            except _decode.WrongShape as wrong:
                if not reply.is_framed:
                    return Wait(self.lost(Lost("the answer was cut off", was_sent=True)))
                self._may_be_charged = not self.call.is_free
                error = self._failure(UnexpectedAnswerError, str(wrong), status=200, meta=meta)
                # A proxy may end a body properly after losing its rest. Another attempt gets the same answer whole.
                is_cut = isinstance(wrong, _decode.NotJson) and reply.body.lstrip()[:1] in (b"", b"{")
                if is_cut and self.call.is_repeatable:
                    return Wait(self._wait(error))
                raise error from None
        return Wait(self.failed(reply))

    def failed(self, reply: Union[Reply, Lost]) -> float:
        """The seconds until the next attempt, after one without an answer or with an error."""
        if isinstance(reply, Lost):
            return self.lost(reply)
        meta = Meta.of(reply.headers)
        retry_after = _seconds_of(reply.headers.get("retry-after"))
        envelope = _envelope(reply.body)
        if envelope is None:
            return self._failed_without_envelope(reply, meta, retry_after)
        error = self._api_error(envelope, reply.status, meta, retry_after)
        if error.code in _RETRIED_CODES or reply.status == 503:
            return self._wait(error)
        raise error

    def _failed_without_envelope(self, reply: Reply, meta: Meta, retry_after: Optional[float]) -> float:
        """Something between this client and the API answered: it says nothing of the request itself."""
        status = reply.status
        if not reply.is_framed:
            return self.lost(Lost("the answer was cut off", was_sent=True))
        was_denied = status in (429, 503)
        if status >= 500 and not was_denied:
            self._may_be_charged = not self.call.is_free
        moved = _redirect(reply.headers.get("location")) if 300 <= status < 400 else ""
        error = self._failure(
            UnexpectedAnswerError,
            f"status {status} without the API's envelope{moved}",
            status=status,
            meta=meta,
            retry_after=retry_after,
        )
        if was_denied or (status in (500, 502, 504) and self.call.is_repeatable):
            return self._wait(error)
        raise error

    def _api_error(
        self, envelope: Mapping[str, object], status: int, meta: Meta, retry_after: Optional[float]
    ) -> ApiError:
        code = str(envelope["error"])
        of = BY_CODE.get(code, ApiError)
        own: Dict[str, object] = {}
        if of is ApiError:
            own["code"] = code
        elif of is BY_CODE["unsupported_geo"]:
            own["supported"] = _texts(envelope.get("details"))
        elif of is BY_CODE["page_unreadable"]:
            http_status = envelope.get("http_status")
            own["reason"] = _text(envelope.get("reason"))
            own["http_status"] = http_status if isinstance(http_status, int) else None
        elif of is BY_CODE["quota_exceeded"]:
            names = ("plan", "quota", "credits_used", "remaining", "balance", "resets_at")
            own.update({name: envelope.get(name) for name in names})
        error = self._failure(
            of,
            str(envelope["message"]),
            status=status,
            request_id=_text(envelope.get("request_id")) or meta.request_id,
            fields=_issues(envelope.get("issues")),
            retry_after=retry_after,
            meta=meta,
            **own,
        )
        if error.charges:
            # A 502 costs nothing where no provider serves the target; a replay was paid for by an earlier attempt.
            error.charged = meta.replayed or meta.credits_used != 0
        elif of is IdempotencyInProgressError or of is ApiError:
            error.charged = None
        return error

    def _failure(self, of: Callable[..., "_Error"], message: str, **about: object) -> "_Error":
        about.setdefault("charged", None if self._may_be_charged else False)
        return of(message, idempotency_key=self.call.key, **about)

    def _wait(self, error: QuarryError) -> float:
        """The seconds until the next attempt; raises the error where there is none."""
        if self._retries_left == 0:
            raise error
        self._retries_left -= 1
        wait = random.uniform(self._backoff / 2, self._backoff)
        self._backoff = min(self._backoff * 2, MAX_BACKOFF_SECONDS)
        if error.retry_after is not None:
            wait = max(wait, error.retry_after + random.uniform(0, RETRY_AFTER_JITTER))
        if self._clock() + wait >= self.deadline:
            raise error
        route = self.call.path.partition("?")[0]
        log.debug("%s %s: %s, again in %.2f s", self.call.method, route, error.code, wait)
        return wait


@dataclass(frozen=True)
class Wait:
    """The seconds until the next attempt."""

    seconds: float


_Error = TypeVar("_Error", bound=QuarryError)

#: Not charged, or not yet: the same request may end otherwise.
_RETRIED_CODES = frozenset(("rate_limited", "internal_error", "idempotency_in_progress"))


def _envelope(body: bytes) -> Optional[Mapping[str, object]]:
    try:
        value = _decode.parse(body)
    except _decode.WrongShape:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("error"), str):
        return None
    return value if isinstance(value.get("message"), str) else None


def _redirect(location: Optional[str]) -> str:
    """What to do about a redirect. Its query and credentials may be secret."""
    try:
        parts = urllib.parse.urlsplit(location or "")
        target = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "; redirects are not followed, because they would take the key along"
    where = f" to {target[:200]}" if parts.hostname and target.isprintable() else ""
    return f"; base_url redirects{where}, which is not followed, because the key would go along: set base_url to it"


def _seconds_of(retry_after: Optional[str]) -> Optional[float]:
    """``Retry-After`` in either of its forms; proxies send dates too."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:MAX_KEY_CHARACTERS])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _issues(value: object) -> List[Issue]:
    items = value if isinstance(value, list) else []
    return [Issue(str(it.get("field", "")), str(it.get("message", ""))) for it in items if isinstance(it, dict)]


def _texts(value: object) -> List[str]:
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


def _text(value: object) -> Optional[str]:
    return value if isinstance(value, str) else None
