"""A front that speaks TLS and passes bytes on: Amazon's client sends a bearer token over nothing else."""

import asyncio
import datetime
import ipaddress
import ssl
import tempfile
import threading
import urllib.parse
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Front:
    """Where it is, and the certificate to trust."""

    url: str
    certificate: str


def front(url: str) -> Front:
    """Stands before a URL until the process ends."""
    certificate = made_certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    target = urllib.parse.urlsplit(url)

    async def serve(reader, writer):
        there, back = await asyncio.open_connection(target.hostname, target.port)
        pumps = [asyncio.create_task(pump(reader, back)), asyncio.create_task(pump(there, writer))]
        # Whichever side leaves, the other is told.
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pumping in pumps:
            pumping.cancel()
        for end in (writer, back):
            end.close()

    started = asyncio.run_coroutine_threadsafe(asyncio.start_server(serve, HOST, 0, ssl=context), loop).result()
    return Front(f"https://{HOST}:{started.sockets[0].getsockname()[1]}", certificate)


async def pump(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass


def made_certificate() -> str:
    """A file with a key and its own certificate."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, HOST)])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - datetime.timedelta(1)).not_valid_after(now + datetime.timedelta(1))
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
    made = made.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with tempfile.NamedTemporaryFile(suffix=".pem", delete=False) as file:
        file.write(key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM))
    return file.name
