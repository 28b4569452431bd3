"""MQTT over TLS and over WebSocket: with and without a client certificate, and with wrong ones."""

import signal
import ssl

import pytest

from device import V5, V311, Device
from server import free_port, openssl, until


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Two authorities: `ca` signs the server and `device`, `other` signs `stranger`. A folder with PEM files."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("ca", "other"):
        openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN=Stadium test {name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=folder,
        )
    for name, signer, extension in (
        ("server", "ca", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        ("device", "ca", "extendedKeyUsage=clientAuth"),
        ("stranger", "other", "extendedKeyUsage=clientAuth"),
    ):
        openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", cwd=folder,
        )
        (folder / f"{name}.ext").write_text(f"basicConstraints=CA:FALSE\n{extension}\n")
        openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", f"{signer}.pem", "-CAkey", f"{signer}.key",
            "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=folder,
        )
    return folder


@pytest.fixture
def secure(start, authority):
    """A server with TLS that asks for client certificates in this way."""

    def make(asks="none"):
        settings = '[mqtts]\ncertificate = "@server.pem"\nkey = "@server.key"\n'
        if asks != "none":
            settings += f'client_ca = "@ca.pem"\nclient_certificates = "{asks}"\n'
        files = {name: (authority / name).read_text() for name in ("server.pem", "server.key", "ca.pem")}
        return start(tls=True, settings=settings, files=files)

    return make


@pytest.fixture
def tls_device(authority):
    made = []

    def make(server, certificate=None, trust="ca", version=V5, newest=None, **arguments):
        each = Device(server, version=version, transport="tcp", port=server.tls, **arguments)
        context = ssl.create_default_context(cafile=authority / f"{trust}.pem")
        if certificate:
            context.load_cert_chain(authority / f"{certificate}.pem", authority / f"{certificate}.key")
        if newest:
            context.maximum_version = newest
        each.client.tls_set_context(context)
        made.append(each)
        return each

    yield make
    for each in made:
        each.close()


def refused(device):
    """TLS 1.3 reports to a client only after the handshake that its certificate is missing or wrong."""
    try:
        device.client.connect("127.0.0.1", device.port)
    except (ssl.SSLError, OSError):
        return True
    device.client.loop_start()
    device.goodbye()
    return device.connacks.empty()


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["tls1.2", "tls1.3"])
@pytest.mark.parametrize("version", [V311, V5], ids=["v3.1.1", "v5"])
def test_messages_pass_over_tls(secure, tls_device, version, newest):
    server = secure()
    reader, writer = (tls_device(server, version=version, newest=newest) for _ in range(2))
    for each in (reader, writer):
        each.connect()
    for qos in (0, 1, 2):
        reader.subscribe(f"t/{qos}", qos=qos)
        for size in (10, 100_000):
            writer.publish(f"t/{qos}", b"x" * size, qos=qos)
            assert len(reader.take().payload) == size


@pytest.mark.parametrize("version", [V311, V5], ids=["v3.1.1", "v5"])
def test_messages_pass_over_websocket_over_tls(start, authority, version):
    port = free_port()
    server = start(
        settings=f'[wss]\nlisten = "127.0.0.1:{port}"\ncertificate = "@server.pem"\nkey = "@server.key"\n',
        files={name: (authority / name).read_text() for name in ("server.pem", "server.key")},
    )
    devices = [Device(server, version=version, transport="ws", port=port) for _ in range(2)]
    for each in devices:
        each.client.tls_set_context(ssl.create_default_context(cafile=authority / "ca.pem"))
        each.connect()
    reader, writer = devices
    reader.subscribe("t", qos=2)
    for size in (10, 70_000):
        writer.publish("t", b"x" * size, qos=2)
        assert len(reader.take().payload) == size
    for each in devices:
        each.close()


def test_a_client_refuses_a_server_it_does_not_trust(secure, tls_device):
    server = secure()
    with pytest.raises(ssl.SSLError):
        tls_device(server, trust="other").connect()


def test_an_optional_certificate_may_be_left_out(secure, tls_device):
    server = secure("optional")
    tls_device(server).connect()
    tls_device(server, "device").connect()


def test_a_required_certificate_must_be_shown(secure, tls_device):
    server = secure("required")
    assert refused(tls_device(server))
    tls_device(server, "device").connect()


@pytest.mark.parametrize("asks", ["optional", "required"])
def test_a_certificate_of_another_authority_is_refused(secure, tls_device, asks):
    server = secure(asks)
    assert refused(tls_device(server, "stranger"))
    tls_device(server, "device").connect()


def test_plain_mqtt_on_the_tls_port_is_closed(secure):
    server = secure()
    plain = Device(server, port=server.tls)
    assert refused(plain)
    plain.close()


def test_a_new_certificate_is_taken_on_sighup_and_open_connections_stay(secure, tls_device, authority):
    server = secure()
    old = tls_device(server)
    old.connect()
    # The same key under the other authority: only who trusts `other` takes it.
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "other.pem", "-CAkey", "other.key", "-CAcreateserial",
        "-days", "2", "-extfile", "server.ext", "-out", "renewed.pem", cwd=authority,
    )
    (server.folder / "server.pem").write_text((authority / "renewed.pem").read_text())
    server.process.send_signal(signal.SIGHUP)

    def renewed():
        try:
            tls_device(server, trust="other").connect()
        except ssl.SSLError:
            return False
        return True

    until("the new certificate to be shown", renewed)
    old.subscribe("t", qos=1)
    old.publish("t", b"still here", qos=1)
    assert old.take().payload == b"still here"
