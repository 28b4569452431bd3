"""MQTT over WebSocket on the HTTPS port: the socket goes to a loop with its TLS and what was read of it."""

import base64
import http.client
import json
import os
import socket
import ssl
import struct
import subprocess

import pytest

from device import V5, V311, Device
from server import PATIENCE_S, PEER, openssl, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the HTTP port of stadium")

CONNECT = b"\x10\x12\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x05half1"
PINGREQ = b"\xc0\x00"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", "server.key", "-out",
        "server.pem", cwd=folder,
    )
    return folder


@pytest.fixture(params=[1, 2], ids=["1-loop", "2-loops"])
def secure(request, start, certificate):
    """A server whose HTTP port speaks HTTPS."""
    return begin(start, certificate, loops=request.param)


def begin(start, certificate, more="", **plan):
    files = {name: (certificate / name).read_text() for name in ("server.pem", "server.key")}
    settings = f'[http]\ncertificate = "@server.pem"\nkey = "@server.key"\n{more}'
    return start(settings=settings, files=files, https=certificate / "server.pem", **plan)


def context(certificate, newest=None):
    made = ssl.create_default_context(cafile=certificate / "server.pem")
    if newest:
        made.maximum_version = newest
    return made


@pytest.fixture
def wss(certificate):
    made = []

    def make(server, newest=None, connect=True, **arguments):
        each = Device(server, transport="ws", **arguments)
        each.client.tls_set_context(context(certificate, newest))
        made.append(each)
        if connect:
            each.connect()
        return each

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["tls1.2", "tls1.3"])
@pytest.mark.parametrize("version", [V311, V5], ids=["v3.1.1", "v5"])
def test_messages_of_any_size_go_both_ways(secure, wss, version, newest):
    reader = wss(secure, newest, version=version)
    writer = wss(secure, newest, version=version)
    reader.subscribe("t/#", qos=1)
    for size in (0, 1, 100, 16_384, 200_000):
        payload = os.urandom(size)
        writer.publish("t/a", payload, qos=1)
        assert reader.take().payload == payload
    for number in range(500):
        writer.send("t/b", str(number), qos=1)
    assert [int(reader.take().payload) for _ in range(500)] == list(range(500))


def raw(server, certificate, newest=None):
    plain = socket.create_connection(("127.0.0.1", server.ws), PATIENCE_S)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context(certificate, newest).wrap_socket(plain, server_hostname="localhost")


def upgrade(path="/mqtt", **headers):
    lines = {
        "Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(), "Sec-WebSocket-Protocol": "mqtt",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    text = f"GET {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return (text + "\r\n").encode()


def frame(payload):
    """A masked binary frame; the mask is zero."""
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
    return b"\x82" + length + bytes(4) + payload


def head_of(connection):
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(4_096)
        if not more:
            return got.decode(), b""
        got += more
    head, rest = got.split(b"\r\n\r\n", 1)
    return head.decode(), rest


def until_received(connection, got, end):
    while not got.endswith(end):
        more = connection.recv(4_096)
        assert more, got
        got += more
    return got


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["tls1.2", "tls1.3"])
@pytest.mark.parametrize("cut", [1, 3, 9, 10, 11, 60, 10_000], ids=lambda cut: f"records-of-{cut}")
def test_the_request_may_be_cut_anywhere(secure, certificate, newest, cut):
    # All in one: upgrade, CONNECT, PINGREQ; the loop begins in the middle of what was sent.
    whole = upgrade() + frame(CONNECT) + frame(PINGREQ)
    with raw(secure, certificate, newest) as connection:
        for at in range(0, len(whole), cut):
            connection.sendall(whole[at : at + cut])
        head, rest = head_of(connection)
        assert head.startswith("HTTP/1.1 101") and "sec-websocket-protocol: mqtt" in head.lower(), head
        until_received(connection, rest, b"\xd0\x00")
        for _ in range(3):
            connection.sendall(frame(PINGREQ))
            until_received(connection, b"", b"\xd0\x00")


def test_half_a_record_at_the_hand_over_is_not_lost(secure, certificate):
    # The ciphertext itself is cut, in the middle of the record behind the request's first line.
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context(certificate).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection(("127.0.0.1", secure.ws), PATIENCE_S) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def run(step):
            while True:
                try:
                    done = step()
                    plain.sendall(outgoing.read())
                    return done
                except ssl.SSLWantReadError:
                    plain.sendall(outgoing.read())
                    incoming.write(plain.recv(65_536))

        run(tls.do_handshake)
        request = upgrade()
        tls.write(request[:20])
        first = outgoing.read()
        tls.write(request[20:] + frame(CONNECT))
        second = outgoing.read()
        plain.sendall(first + second[: len(second) // 2])
        # Another connection is served meanwhile: the loop has this one by then, or will.
        assert call(secure, certificate, "/healthz")[0] == 200
        plain.sendall(second[len(second) // 2 :])
        got = b""
        while b"\r\n\r\n" not in got or b"\x20" not in got.split(b"\r\n\r\n", 1)[1]:
            got += run(lambda: tls.read(4_096))
        assert got.startswith(b"HTTP/1.1 101")


def call(server, certificate, path, body=None, key=None):
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.ws, timeout=PATIENCE_S, context=context(certificate)
    )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} if key else {}
    connection.request("POST" if body else "GET", path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


def test_refusals_say_why(secure, certificate):
    for asked, status in (
        (upgrade(Sec_WebSocket_Protocol="soap"), "400"),
        (upgrade(Sec_WebSocket_Version="7"), "426"),
        (upgrade(Origin="https://evil.example"), "403"),
        (upgrade(Upgrade=None, Connection="close"), "4"),
    ):
        with raw(secure, certificate) as connection:
            connection.sendall(asked)
            head, _ = head_of(connection)
            assert head.split(" ")[1].startswith(status), head


def test_one_that_never_completes_is_cut(start, certificate):
    server = begin(start, certificate, more="header_ms = 300\n[limits]\nbefore_auth_ms = 500\n")
    # In the handshake of TLS, in the first line, in the upgrade, and before CONNECT.
    with socket.create_connection(("127.0.0.1", server.ws), PATIENCE_S) as plain:
        plain.sendall(b"\x16\x03\x01")
        assert plain.recv(100) == b""
    for sent in (b"GET /mq", upgrade()[:-4]):
        with raw(server, certificate) as connection:
            connection.sendall(sent)
            while connection.recv(4_096):
                pass
    until("all to be gone", lambda: call_metrics(server, certificate)["stadium_http_connections"] <= 1)


def call_metrics(server, certificate):
    key = (server.folder / "data/admin.key").read_text().strip()
    _, text = call(server, certificate, "/metrics", key=key)
    lines = [line.rsplit(" ", 1) for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def test_https_is_served_as_before(secure, certificate):
    key = (secure.folder / "data/admin.key").read_text().strip()
    # A large answer, a large body, many requests on one connection, and an event stream.
    connection = http.client.HTTPSConnection(
        "127.0.0.1", secure.ws, timeout=PATIENCE_S, context=context(certificate)
    )
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for _ in range(3):
        connection.request("GET", "/openapi.json")
        answer = connection.getresponse()
        assert json.loads(answer.read())["openapi"].startswith("3.")
    for size in (10, 100_000, 250_000):
        body = json.dumps({"topic": "t", "payload": "x" * size})
        connection.request("POST", "/api/publish", body, headers)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["status"]) == (200, "accepted")
    connection.request("GET", "/api/topics/stream?topic=t", headers=headers)
    stream = connection.getresponse()
    for number in range(3):
        assert call(secure, certificate, "/api/publish", json.dumps({"topic": "t", "payload": number}), key)[0] == 200
    lines = []
    while sum(line.startswith(b"data: {\"topic\"") for line in lines) < 3:
        lines.append(stream.readline())
    connection.close()


def test_devices_are_listed_as_secure(secure, certificate, wss):
    phone = wss(secure)
    key = (secure.folder / "data/admin.key").read_text().strip()
    _, text = call(secure, certificate, f"/api/devices/{phone.id}", key=key)
    assert json.loads(text)["connection"]["transport"] == "wss"


def test_keys_are_updated_after_the_hand_over(secure, certificate):
    # openssl's client sends a KeyUpdate, and asks for one, when a line of its input is K.
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{secure.ws}", "-CAfile", certificate / "server.pem", "-tls1_3"]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    os.set_blocking(client.stdout.fileno(), False)
    got = bytearray()

    def shows(text, times=1):
        def look():
            got.extend(client.stdout.read() or b"")
            assert client.poll() is None, bytes(got)
            return got.count(text) >= times

        until(f"{text} from the server", look)

    try:
        shows(b"Verify return code")
        client.stdin.write(upgrade() + frame(CONNECT))
        client.stdin.flush()
        shows(b"101 Switching")
        for updates in (1, 2, 3):
            client.stdin.write(b"K\n")
            client.stdin.flush()
            shows(b"KEYUPDATE", updates)
            client.stdin.write(frame(PINGREQ))
            client.stdin.flush()
            shows(b"\xd0\x00", updates)
    finally:
        client.kill()
        client.wait()
        client.stdin.close()
        client.stdout.close()


@pytest.fixture(scope="module")
def devices(certificate):
    """An authority of devices beside the server's certificate: it signs `phone`, and `other` signs `stranger`."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("devices", "other"):
        subject = ("-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
        openssl("req", "-x509", *curve, *subject, cwd=certificate)
    for name, signer in (("phone", "devices"), ("stranger", "other")):
        openssl("req", *curve, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr", cwd=certificate)
        (certificate / f"{name}.ext").write_text("basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n")
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", f"{signer}.pem", "-CAkey", f"{signer}.key", "-CAcreateserial",
            "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=certificate,
        )
    return certificate


def with_certificate(folder, name, newest=None):
    made = context(folder, newest)
    if name:
        made.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    return made


def begin_with_certificates(start, folder, asks, own=None):
    """`own` names the certificate by which the suite asks whether the server is ready."""
    more = f'client_ca = "@devices.pem"\nclient_certificates = "{asks}"\n[auth.certificate]\nenabled = true\n'
    files = {name: (folder / name).read_text() for name in ("server.pem", "server.key", "devices.pem")}
    settings = f'[http]\ncertificate = "@server.pem"\nkey = "@server.key"\n{more}'
    return start(settings=settings, files=files, https=folder / "server.pem", own=own and folder / own, trial=False)


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["tls1.2", "tls1.3"])
def test_a_certificate_logs_a_device_in(start, devices, newest):
    server = begin_with_certificates(start, devices, "optional")

    def connack(name, client_id):
        device = Device(server, transport="ws", id=client_id)
        device.client.tls_set_context(with_certificate(devices, name, newest))
        try:
            device.connect()
            device.subscribe(f"inbox/{client_id}")
            return 0
        except Exception as refused:
            return getattr(refused, "code", refused)
        finally:
            device.close()

    assert connack("phone", "phone") == 0
    assert connack("phone", "other-name") in (0x85, 0x86, 0x87), "the certificate names another"
    assert connack(None, "phone") in (0x86, 0x87), "there is no other way to log in"
    assert isinstance(connack("stranger", "stranger"), (ssl.SSLError, OSError)), "of another authority"


def test_a_certificate_is_no_key_of_the_api_and_may_be_needed_for_it(start, devices):
    def status(server, name, key):
        connection = http.client.HTTPSConnection("127.0.0.1", server.ws, context=with_certificate(devices, name))
        connection.request("GET", "/api/devices", headers={"Authorization": f"Bearer {key}"} if key else {})
        return connection.getresponse().status

    optional = begin_with_certificates(start, devices, "optional")
    key = (optional.folder / "data/admin.key").read_text().strip()
    assert [status(optional, *asked) for asked in ((None, key), ("phone", key), ("phone", None))] == [200, 200, 401]
    with pytest.raises((ssl.SSLError, OSError)):
        status(optional, "stranger", key)
    required = begin_with_certificates(start, devices, "required", "phone")
    key = (required.folder / "data/admin.key").read_text().strip()
    assert [status(required, "phone", key), status(required, "phone", None)] == [200, 401]
    with pytest.raises((ssl.SSLError, OSError)):
        status(required, None, key)
