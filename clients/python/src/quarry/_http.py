"""How both clients use httpx: where requests go, what they carry, and what its errors mean for a call."""

import os
import ssl
import time
import urllib.parse
from typing import Dict, Optional, TypeVar, Union

import httpx

from ._calls import CONNECT_SECONDS, Call, Lost, Reply

T = TypeVar("T")

VERSION = "0.1.0"

MAX_BODY_BYTES = 64 * 1024 * 1024

LIMITS = httpx.Limits(
    max_connections=None,
    max_keepalive_connections=16,
    # Shorter than the time after which Quarry (65 s) and common proxies (60 s) close an idle connection.
    keepalive_expiry=50,
)

#: Everything that httpx raises where an attempt gets no answer. Its asyncio backend let some TLS errors through as they
#: are, before httpcore 1.0.
FAILURES = (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError)

#: The request has not left, so the service cannot have charged it.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.InvalidURL, ssl.SSLCertVerificationError)


def address_of(base_url: Optional[str]) -> str:
    """The address that was given, else the environment's ``QUARRY_URL``."""
    url = os.environ.get("QUARRY_URL", "") if base_url is None else base_url
    parts = urllib.parse.urlsplit(url)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username is not None
        or parts.query
        or parts.fragment
        or not url.isascii()
        or any(character <= " " for character in url)
    ):
        raise ValueError("base_url, or QUARRY_URL in the environment, must be such as https://search.example.org")
    return url


def headers_of(api_key: Optional[str]) -> Dict[str, str]:
    """Headers of every request, with the key that was given, else the environment's ``QUARRY_API_KEY``."""
    key = os.environ.get("QUARRY_API_KEY", "") if api_key is None else api_key
    # A line break would start another header. The message must not show the key.
    if not key or not all("!" <= character <= "~" for character in key):
        raise ValueError("api_key, or QUARRY_API_KEY in the environment, must be a key such as sk_live_…")
    return {"Authorization": f"Bearer {key}", "User-Agent": f"quarry-client-python/{VERSION}"}


def request_of(http: Union[httpx.Client, httpx.AsyncClient], call: Call[T], ends: float) -> httpx.Request:
    headers = {"Accept": call.accept}
    if call.key is not None:
        headers["Idempotency-Key"] = call.key
    if call.body is not None:
        headers["Content-Type"] = "application/json"
    # A timeout of 0 would make the socket non-blocking.
    seconds = max(0.001, ends - time.monotonic())
    timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    return http.build_request(call.method, call.path, headers=headers, content=call.body, timeout=timeout)


def append(body: bytearray, chunk: bytes, ends: float) -> None:
    """Adds a chunk to a body. The limits stop a server that never ends its response."""
    body += chunk
    if len(body) > MAX_BODY_BYTES:
        raise httpx.RemoteProtocolError(f"the body is larger than {MAX_BODY_BYTES} bytes")
    if time.monotonic() >= ends:
        raise httpx.ReadTimeout("")


def reply_of(response: httpx.Response, body: bytes) -> Reply:
    headers = response.headers
    return Reply(response.status_code, headers, body, "content-length" in headers or "transfer-encoding" in headers)


def lost(error: Exception) -> Lost:
    """The outcome of an attempt that failed: if the service may have charged it, and if another may succeed."""
    # Retrying does not change the certificate or the address.
    is_final = "CERTIFICATE_VERIFY_FAILED" in str(error) or isinstance(error, httpx.InvalidURL)
    was_sent = not isinstance(error, _NOT_SENT)
    what = "the answer was lost" if was_sent else "cannot connect to base_url"
    timed_out = isinstance(error, httpx.TimeoutException)
    return Lost(f"{what}: {reason_of(error)}", was_sent, timed_out, is_final)


def reason_of(error: Exception) -> str:
    return "no answer in time" if isinstance(error, httpx.TimeoutException) else str(error) or type(error).__name__
