"""TLS, proxies of the environment, and cancelled calls."""

import asyncio
import base64
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from typing import List, Tuple
from unittest import mock

import quarry

from .service import ACCOUNT, KEY, LINES, RESULT, Async, Service, Step, Sync, answer, lines


def certificate(folder: str) -> Tuple[str, str]:
    key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    return key, cert


class TlsService(Service):
    """A service behind TLS: a thread for each connection carries its bytes."""

    def listen(self, context: ssl.SSLContext) -> int:
        front = socket.create_server(("127.0.0.1", 0))
        self.front = front
        threading.Thread(target=self._front, args=(front, context), daemon=True).start()
        port: int = front.getsockname()[1]
        return port

    def _front(self, front: socket.socket, context: ssl.SSLContext) -> None:
        while True:
            try:
                plain, _ = front.accept()
            except OSError:
                return
            try:
                secured = context.wrap_socket(plain, server_side=True)
            except (OSError, ssl.SSLError):
                plain.close()
                continue
            back = socket.create_connection(("127.0.0.1", int(self.url.rpartition(":")[2])))
            carry(secured, back)


def carry(one: socket.socket, other: socket.socket) -> None:
    """Carries bytes both ways until either side ends."""

    def way(source: socket.socket, target: socket.socket) -> None:
        try:
            while True:
                data = source.recv(65_536)
                if not data:
                    break
                target.sendall(data)
        except OSError:
            pass
        for it in (source, target):
            try:
                it.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    for pair in ((one, other), (other, one)):
        threading.Thread(target=way, args=pair, daemon=True).start()


class Proxy:
    """Takes CONNECT, and notes the head of each request."""

    def __init__(self) -> None:
        self.heads: List[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += near.recv(1)
            self.heads.append(head.decode())
            port = int(head.split(b"\r\n")[0].split(b":")[1].split(b" ")[0])
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            carry(near, socket.create_connection(("127.0.0.1", port)))


@unittest.skipUnless(shutil.which("openssl"), "no openssl on the PATH")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        key, cls.cert = certificate(cls.folder)
        cls.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.server.load_cert_chain(cls.cert, key)

    def test_is_verified_against_the_systems_authorities_unless_a_context_says_otherwise(self) -> None:
        for face in (Sync, Async):
            with TlsService([answer(200, ACCOUNT)]) as running:
                url = f"https://localhost:{running.listen(self.server)}"
                stranger = face(url)
                with self.assertRaisesRegex(quarry.NetworkError, "certificate verify failed"):
                    stranger.call("me")
                stranger.close()
                self.assertEqual(running.requests, [])
                friend = face(url, ssl_context=ssl.create_default_context(cafile=self.cert))
                self.assertEqual(friend.call("me").plan, "growth")
                self.assertEqual(friend.call("me").plan, "growth")
                self.assertEqual(running.connections, 1)
                friend.close()

    def test_goes_through_a_proxy_that_does_not_see_the_key(self) -> None:
        for face in (Sync, Async):
            proxy = Proxy()
            with TlsService([answer(200, ACCOUNT)]) as running:
                port = running.listen(self.server)
                environment = {"https_proxy": f"http://user:p%40ss@127.0.0.1:{proxy.port}", "no_proxy": ""}
                with mock.patch.dict("os.environ", environment):
                    client = face(
                        f"https://localhost:{port}", ssl_context=ssl.create_default_context(cafile=self.cert)
                    )
                self.assertEqual(client.call("me").plan, "growth")
                client.close()
            self.assertEqual(len(proxy.heads), 1)
            self.assertIn(f"CONNECT localhost:{port} HTTP/1.1\r\n", proxy.heads[0])
            self.assertIn(f"Basic {base64.b64encode(b'user:p@ss').decode()}", proxy.heads[0])
            self.assertNotIn(KEY, proxy.heads[0])


class PlainProxy(unittest.TestCase):
    def test_reads_requests_with_whole_addresses(self) -> None:
        for face in (Sync, Async):
            with Service([answer(200, ACCOUNT)]) as proxy:
                with mock.patch.dict("os.environ", {"http_proxy": proxy.url, "no_proxy": ""}):
                    client = face("http://search.example.org:8080/s")
                client.call("me")
                client.close()
                self.assertEqual(proxy.requests[0].line, "GET http://search.example.org:8080/s/v1/me HTTP/1.1")
                self.assertEqual(proxy.requests[0].headers["host"], "search.example.org:8080")

    def test_is_left_out_where_no_proxy_says_so(self) -> None:
        with Service([answer(200, ACCOUNT)]) as running:
            with mock.patch.dict("os.environ", {"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"}):
                with quarry.Client(KEY, running.url) as client:
                    client.me()


class Cancellation(unittest.TestCase):
    def test_ends_the_connection_and_leaves_the_client_usable(self) -> None:
        async def main(running: Service) -> None:
            async with quarry.AsyncClient(KEY, running.url) as client:
                for _ in range(2):
                    call = asyncio.ensure_future(client.query("a"))
                    while len(running.requests) < 1:
                        await asyncio.sleep(0.005)
                    call.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await call
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.query("b"), 0.2)
                result = await client.query("c")
                self.assertEqual(result.id, RESULT["id"])
            left = [it for it in asyncio.all_tasks() if it is not asyncio.current_task()]
            self.assertEqual(left, [])

        with Service([Step(b"", "hang"), Step(b"", "hang"), answer(200, RESULT)]) as running:
            running.steps = [Step(b"", "hang"), Step(b"", "hang"), answer(200, RESULT)]
            asyncio.run(main(running))

    def test_of_a_stream_ends_it(self) -> None:
        async def main(running: Service) -> None:
            async with quarry.AsyncClient(KEY, running.url) as client:
                async with client.stream(["a", "b"]) as stream:
                    await stream.__anext__()
                    waiting = asyncio.ensure_future(stream.__anext__())
                    await asyncio.sleep(0.05)
                    waiting.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await waiting
                    with self.assertRaises(StopAsyncIteration):
                        await stream.__anext__()
                self.assertIsNone(stream.summary)

        with Service([lines(LINES[:2], "hang", ends=False)]) as running:
            asyncio.run(main(running))

    def test_a_client_outlives_the_loop_that_it_was_used_on(self) -> None:
        with Service([answer(200, RESULT)]) as running:
            client = quarry.AsyncClient(KEY, running.url)
            for _ in range(2):
                self.assertEqual(asyncio.run(client.query("a")).id, RESULT["id"])
            self.assertEqual(running.connections, 2)
            asyncio.run(client.aclose())


if __name__ == "__main__":
    unittest.main()
