"""Two ways to the thrift server on which the connection can be cut in the middle of a statement.

`Wire` is plain TCP, as the method `thrift` uses it. dbt-spark takes the same dead socket when it tries again, so the
command fails. `Gateway` is the method `http`, where each request has a connection of its own and the session lives on:
there dbt-spark's `query_retries` really sends the statement again, while the first one runs or after it is done.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from TCLIService import TCLIService
from TCLIService.ttypes import TOperationState
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from tests.chaos.crashes import changes


class Cuts:
    """Which of the statements that change something to cut, and when: once it was `sent`, or once it is `done`."""

    def __init__(self) -> None:
        self.arm(None, "")

    def arm(self, number: int | None, when: str) -> None:
        """The n-th statement that changes something, counted from 1; none: only listen."""
        self.number, self.when = number, when
        self.sent: list[str] = []
        self.at_work = False
        self.fired = False

    def falls(self, request: bytes, reply: bytes) -> bool:
        """Is the connection lost before this reply arrives?"""
        statement = statement_of(request)
        if statement is not None and not statement.startswith("USE ") and changes([statement]):
            self.sent.append(statement)
            self.at_work = len(self.sent) == self.number and not self.fired
        lost = self.at_work and (self.when == "sent" or is_done(reply))
        if lost:
            self.fired, self.at_work = True, False
        return lost


def statement_of(request: bytes) -> str | None:
    protocol = TBinaryProtocol(TMemoryBuffer(request))
    name, _, _ = protocol.readMessageBegin()
    if name != "ExecuteStatement":
        return None
    call = TCLIService.ExecuteStatement_args()
    call.read(protocol)
    return call.req.statement


def is_done(reply: bytes) -> bool:
    protocol = TBinaryProtocol(TMemoryBuffer(reply))
    name, _, _ = protocol.readMessageBegin()
    if name != "GetOperationStatus":
        return False
    answer = TCLIService.GetOperationStatus_result()
    answer.read(protocol)
    return answer.success.operationState == TOperationState.FINISHED_STATE


def receive(line: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = line.recv(count - len(data))
        if not part:
            raise ConnectionError("the other side has gone")
        data += part
    return data


def receive_frame(line: socket.socket) -> bytes:
    (size,) = struct.unpack(">I", receive(line, 4))
    return receive(line, size)


def send_frame(line: socket.socket, frame: bytes) -> None:
    line.sendall(struct.pack(">I", len(frame)) + frame)


def hang_up(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
    line.close()


class Wire:
    """A TCP proxy. A cut closes the connection on both sides, as when a router forgets it."""

    def __init__(self, port: int, cuts: Cuts) -> None:
        self.target, self.cuts = port, cuts
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        hang_up(self.listening)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self.target))
        with contextlib.suppress(OSError):
            greet(client, server)
            while True:
                request = receive_frame(client)
                send_frame(server, request)
                reply = receive_frame(server)
                if self.cuts.falls(request, reply):
                    break
                send_frame(client, reply)
        hang_up(client)
        hang_up(server)


def greet(client: socket.socket, server: socket.socket) -> None:
    """SASL: two messages from the client, one from the server; from then on there are frames."""
    for one, other in ((client, server), (client, server), (server, client)):
        head = receive(one, 5)
        other.sendall(head + receive(one, struct.unpack(">BI", head)[1]))


class Gateway:
    """HTTPS in front of the thrift server. A cut loses one answer; the session behind it lives on."""

    def __init__(self, port: int, cuts: Cuts, folder: Path) -> None:
        self.certificate, key = certificate(folder)
        self.server = log_in(port)
        turn = threading.Lock()

        def ask(request: bytes) -> bytes | None:
            with turn:
                send_frame(self.server, request)
                reply = receive_frame(self.server)
                return None if cuts.falls(request, reply) else reply

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler(ask))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        hang_up(self.server)


def handler(ask: Callable[[bytes], bytes | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = ask(self.rfile.read(int(self.headers["Content-Length"])))
            if reply is None:
                self.close_connection = True
                hang_up(self.connection)
                return
            self.send_response(200)
            self.send_header("Content-Type", "application/x-thrift")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """No line for each request."""

    return Handler


def log_in(port: int) -> socket.socket:
    """As any user with any password: SASL PLAIN."""
    server = socket.create_connection(("127.0.0.1", port))
    for status, body in ((1, b"PLAIN"), (2, b"\0ditto\0x")):
        server.sendall(struct.pack(">BI", status, len(body)) + body)
    receive(server, struct.unpack(">BI", receive(server, 5))[1])
    return server


def certificate(folder: Path) -> tuple[Path, Path]:
    """dbt-spark's method http speaks TLS only."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key
