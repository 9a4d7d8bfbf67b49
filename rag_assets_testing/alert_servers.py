"""Servers that take alerts on this machine: of webhooks and pings, and of mail."""

import base64
import json
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as mail_policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """A request that arrived."""

    path: str
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)


@dataclass
class Web:
    """A web server that notes down what is sent to it."""

    url: str = ""
    status: int = 200
    """What it answers."""
    text: str = "ok"
    seconds: float = 0
    """How long it takes to answer."""
    location: str = ""
    """Where it leads to, if anywhere else."""
    requests: list[Request] = field(default_factory=list)

    def at(self, path: str) -> list[Request]:
        """What arrived at a path."""
        return [one for one in self.requests if one.path == path]


@contextmanager
def web_server() -> Iterator[Web]:
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            web.requests.append(Request(self.path, body))
            answer = web.text.encode()
            time.sleep(web.seconds)
            self.send_response(web.status)
            if web.location and self.path != web.location:
                self.send_header("Location", web.location)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            with suppress(ConnectionError):  # whoever asked may have hung up
                self.wfile.write(answer)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """It says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Mail:
    """A mail server that notes down what is sent to it."""

    port: int = 0
    accepts: bool = True
    unknown: str = ""
    """The one address that it does not accept."""
    login: tuple[str, str] | None = None
    """Who may send, with which password; anybody may unless given."""
    received: list[EmailMessage] = field(default_factory=list)
    receivers: list[str] = field(default_factory=list)


@contextmanager
def mail_server(*, certificate: Path | None = None, tls: bool = False) -> Iterator[Mail]:
    """An SMTP server.

    Args:
        certificate: PEM file with key and certificate, for STARTTLS or TLS; neither without one.
        tls: Whether it speaks TLS from the first byte.
    """
    mail = Mail()
    safe = None
    if certificate:
        safe = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        safe.load_cert_chain(certificate)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection = self.request
            if tls and safe:
                connection = safe.wrap_socket(connection, server_side=True)
            with connection:
                _talk(connection, mail, None if tls else safe)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    mail.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield mail
    finally:
        server.shutdown()
        server.server_close()


def _talk(connection: "ssl.SSLSocket", mail: Mail, safe: ssl.SSLContext | None) -> None:
    """The server's half of SMTP, as far as a client needs it (RFC 5321, 3207, 4954)."""
    reader = connection.makefile("rb")

    def say(line: str) -> None:
        connection.sendall(f"{line}\r\n".encode())

    is_known = mail.login is None
    to: list[str] = []
    say("220 mail.test")
    while line := reader.readline().decode().strip():
        verb, _, rest = line.partition(" ")
        match verb.upper():
            case "EHLO":
                say("250-mail.test")
                if safe:
                    say("250-STARTTLS")
                say("250 AUTH PLAIN")
            case "STARTTLS" if safe:
                say("220 go on")
                connection, safe = safe.wrap_socket(connection, server_side=True), None
                reader = connection.makefile("rb")
            case "AUTH":
                _, user, password = base64.b64decode(rest.split()[1]).decode().split("\0")
                is_known = mail.login == (user, password)
                say("235 welcome" if is_known else "535 wrong user or password")
            case "MAIL":
                say("250 ok" if is_known else "530 log in first")
            case "RCPT":
                address = rest.partition("<")[2].partition(">")[0]
                is_known_here = mail.accepts and address != mail.unknown
                to += [address] if is_known_here else []
                say("250 ok" if is_known_here else "550 no such user")
            case "DATA":
                say("354 go on")
                lines = []
                while (line := reader.readline()) != b".\r\n":
                    lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
                received = message_from_bytes(b"".join(lines), policy=mail_policy)
                assert isinstance(received, EmailMessage)
                mail.received.append(received)
                mail.receivers += to
                say("250 taken")
            case "QUIT":
                say("221 bye")
                return
            case _:
                say("250 ok")


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key, as a PEM file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file
