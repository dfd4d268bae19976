"""Errors. ``QuarryError`` is the base of all; each code of the API has a class of its own below ``ApiError``."""

from typing import Any, ClassVar, Dict, Mapping, Optional, Sequence, Tuple, Type

from .models import NO_META, Issue, Meta


class QuarryError(Exception):
    """A call that did not end with an answer.

    ``charged`` says if the account paid: True, False, or None where nobody can know, because an answer was lost. A call
    that is repeated with ``idempotency_key`` is never paid twice.
    """

    code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        fields: Sequence[Issue] = (),
        retry_after: Optional[float] = None,
        charged: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
        meta: Meta = NO_META,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.request_id = request_id
        self.fields: Tuple[Issue, ...] = tuple(fields)
        self.retry_after = retry_after
        self.charged = charged
        self.idempotency_key = idempotency_key
        self.meta = meta

    def __str__(self) -> str:
        named = "" if self.request_id is None else f" (request {self.request_id})"
        return f"{self.code}: {self.message}{named}"

    def __reduce__(self) -> Tuple[Any, ...]:
        # Exceptions with named arguments cannot be pickled otherwise, and pools of processes pickle them.
        return _restored, (type(self), self.message, dict(self.__dict__))


def _restored(of: Type[QuarryError], message: str, state: Dict[str, Any]) -> QuarryError:
    error = of.__new__(of)
    error.args = (message,)
    error.__dict__.update(state)
    return error


class NetworkError(QuarryError):
    """The service could not be reached, or the connection ended before the answer was whole."""

    code = "network"


class DeadlineError(QuarryError, TimeoutError):
    """The call's ``timeout`` passed."""

    code = "timeout"


class StreamCutError(QuarryError):
    """A streamed batch ended before its summary. ``received`` rows had come; rows that had started are charged."""

    code = "cut"

    def __init__(self, message: str, *, batch_id: Optional[str] = None, received: int = 0, **common: Any) -> None:
        super().__init__(message, **common)
        self.batch_id = batch_id
        self.received = received


class UnexpectedAnswerError(QuarryError):
    """Something answered that is not this API, such as a proxy, a redirect or a page of another service."""

    code = "network"


class ApiError(QuarryError):
    """The API answered with an error. One with a code that this version does not know is an ``ApiError`` itself."""

    #: If the API charges what it answers with this code.
    charges: ClassVar[bool] = False

    def __init__(self, message: str, *, code: Optional[str] = None, **common: Any) -> None:
        super().__init__(message, **common)
        if code is not None:
            self.code = code  # type: ignore[misc]  # A class variable of the known codes, one value's own otherwise.


class InvalidRequestError(ApiError):
    """``fields`` lists every field that is not valid."""

    code = "invalid_request"


class UnsupportedGeoError(ApiError):
    """``supported`` lists the countries that are."""

    code = "unsupported_geo"

    def __init__(self, message: str, *, supported: Sequence[str] = (), **common: Any) -> None:
        super().__init__(message, **common)
        self.supported: Tuple[str, ...] = tuple(supported)


class UnsupportedParameterError(ApiError):
    """The target does not serve ``page``, ``num`` or ``safe`` as sent."""

    code = "unsupported_parameter"


class UnauthorizedError(ApiError):
    """The key is not accepted."""

    code = "unauthorized"


class ForbiddenError(ApiError):
    """The credential is accepted, but does not allow this. The message names who may."""

    code = "forbidden"


class QuotaExceededError(ApiError):
    """The plan's quota and the packs do not hold the credits that the request needs."""

    code = "quota_exceeded"

    def __init__(
        self,
        message: str,
        *,
        plan: Optional[str] = None,
        quota: Optional[int] = None,
        credits_used: Optional[int] = None,
        remaining: Optional[int] = None,
        balance: Optional[int] = None,
        resets_at: Optional[str] = None,
        **common: Any,
    ) -> None:
        super().__init__(message, **common)
        self.plan = plan
        self.quota = quota
        self.credits_used = credits_used
        self.remaining = remaining
        self.balance = balance
        self.resets_at = resets_at


class PageUnreadableError(ApiError):
    """The page could not be read, which is free. ``http_status`` is the site's status, if it responded."""

    code = "page_unreadable"

    def __init__(
        self,
        message: str,
        *,
        reason: Optional[str] = None,
        http_status: Optional[int] = None,
        **common: Any,
    ) -> None:
        super().__init__(message, **common)
        self.reason = reason
        self.http_status = http_status


class NotFoundError(ApiError):
    """No such route: ``base_url`` may be wrong."""

    code = "not_found"


class IdempotencyInProgressError(ApiError):
    """The first call with this key still runs."""

    code = "idempotency_in_progress"


class RateLimitedError(ApiError):
    """Too many requests in a minute. ``retry_after`` says in how many seconds there is room."""

    code = "rate_limited"


class InternalError(ApiError):
    """A fault of the service."""

    code = "internal_error"


class UpstreamError(ApiError):
    """No provider gave an answer that can be used. It costs a credit."""

    code = "upstream_error"
    charges = True


class UpstreamTimeoutError(ApiError):
    """No provider answered in time. It costs a credit."""

    code = "upstream_timeout"
    charges = True


_CLASSES: Tuple[Type[ApiError], ...] = (
    InvalidRequestError,
    UnsupportedGeoError,
    UnsupportedParameterError,
    UnauthorizedError,
    ForbiddenError,
    QuotaExceededError,
    PageUnreadableError,
    NotFoundError,
    IdempotencyInProgressError,
    RateLimitedError,
    InternalError,
    UpstreamError,
    UpstreamTimeoutError,
)

BY_CODE: Mapping[str, Type[ApiError]] = {it.code: it for it in _CLASSES}
