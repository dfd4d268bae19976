"""Where requests go: the service's address, a proxy of the environment, and the key that they carry."""

import base64
import os
import urllib.parse
import urllib.request
from typing import Optional

VERSION = "0.1.0"


class Secret:
    """A text that no representation, log or pickle shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "<hidden>"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def reveal(self) -> str:
        return self._text


def secret_of(api_key: Optional[str]) -> Secret:
    """The key that was given, else the environment's ``QUARRY_KEY``."""
    text = os.environ.get("QUARRY_KEY", "") if api_key is None else api_key
    # A line break in a header would begin another one. The message must not show the key.
    if not text or not all("!" <= character <= "~" for character in text):
        raise ValueError("api_key, or QUARRY_KEY in the environment, must be a key such as sk_live_…")
    return Secret(text)


class Address:
    """The service, and the way to it."""

    def __init__(self, base_url: Optional[str]) -> None:
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
        self.is_tls = parts.scheme == "https"
        self.name = parts.hostname
        port = parts.port or (443 if self.is_tls else 80)
        host = f"[{self.name}]" if ":" in self.name else self.name
        self._host = host if parts.port is None else f"{host}:{port}"
        self._prefix = parts.path.rstrip("/")
        self.url = f"{parts.scheme}://{self._host}{self._prefix}"

        #: The host and port that connections are opened to.
        self.peer = (self.name, port)
        #: The head that makes a proxy carry the connection, where one is to.
        self.tunnel: Optional[bytes] = None
        self._proxy_credential = ""
        proxy = _proxy_for(parts.scheme, self._host)
        if proxy is None:
            return
        self.peer = (proxy.hostname or "", proxy.port or 80)
        if proxy.username is not None:
            pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
            self._proxy_credential = f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
        if self.is_tls:
            authority = f"{host}:{port}"
            head = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{self._proxy_credential}\r\n"
            self.tunnel = head.encode("ascii")
        else:
            # Without TLS the proxy reads each request, whose target is a whole address then.
            self._prefix = self.url

    def encode(
        self, method: str, path: str, accept: str, key: Optional[str], body: Optional[bytes], secret: Secret
    ) -> bytes:
        """A request as bytes. They hold the secret: no variable of a frame may keep them."""
        proxy = "" if self.tunnel is not None else self._proxy_credential
        content = "" if body is None else f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        named = "" if key is None else f"Idempotency-Key: {key}\r\n"
        return (
            f"{method} {self._prefix}{path} HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Authorization: Bearer {secret.reveal()}\r\nAccept: {accept}\r\nAccept-Encoding: identity\r\n"
            f"User-Agent: quarry-client-python/{VERSION}\r\n{named}{content}{proxy}\r\n"
        ).encode("ascii") + (body or b"")


def _proxy_for(scheme: str, host: str) -> Optional[urllib.parse.SplitResult]:
    """The proxy that the environment names for an address (``http_proxy``, ``https_proxy``, ``no_proxy``)."""
    url = urllib.request.getproxies().get(scheme)
    if not url or urllib.request.proxy_bypass(host):
        return None
    proxy = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise ValueError(f"the proxy in {scheme}_proxy must be such as http://proxy.example.org:3128")
    return proxy
