"""How an attempt ends without an answer, in the errors of sockets and of reading."""

import socket
import ssl

from ._address import Address
from ._calls import Lost
from ._http1 import AnswerReader, Cut, Head, Malformed


class TooLate(Exception):
    """The time of an attempt is over."""


READING_ERRORS = (OSError, Cut, Malformed, TooLate)


def not_connected(address: Address, error: Exception) -> Lost:
    is_final = isinstance(error, ssl.SSLCertVerificationError)
    reason = f"cannot connect to {address.url}: {reason_of(error)}"
    return Lost(reason, was_sent=False, timed_out=_is_late(error), is_final=is_final)


def not_answered(error: Exception, was_kept: bool, reader: AnswerReader) -> Lost:
    is_late = _is_late(error)
    stale = was_kept and not reader.received and not is_late
    return Lost(f"the connection was lost: {reason_of(error)}", True, was_stale=stale, timed_out=is_late)


def cut_off(error: Exception) -> Lost:
    return Lost(f"the answer was cut off: {reason_of(error)}", True, timed_out=_is_late(error))


def reason_of(error: Exception) -> str:
    return "no answer in time" if _is_late(error) else str(error) or type(error).__name__


def is_framed(head: Head) -> bool:
    """If the end of the body is marked. One that ends with the connection may have been cut off."""
    return "content-length" in head.headers or "transfer-encoding" in head.headers


def _is_late(error: Exception) -> bool:
    return isinstance(error, (TooLate, socket.timeout))
