"""Certificates from an ACME server: issued, shown by MQTT and HTTPS, renewed; and what happens when that fails.

Pebble is the ACME server, mosquitto and Python's TLS are the clients.
"""

import contextlib
import json
import os
import socket
import ssl
import subprocess

from device import Device
from server import PATIENCE_S, SMALL_JOURNAL, binary, free_port, until

NAME = "push.example.org"


def settings(pebble, domains=(NAME,), more=""):
    names = ", ".join(f'"{name}"' for name in domains)
    return (
        f'[acme]\ndomains = [{names}]\ndirectory = "{pebble.directory}"\n'
        f'ca = "{pebble.authority}"\nlisten = "127.0.0.1:{pebble.challenge_port}"\nretry_s = 1\n'
        f'listeners = ["mqtts"]\n{more}'
    )


def shown(port, root=None, name=NAME):
    """The certificate that a port shows; verified, with its name, where there is a root."""
    context = ssl.create_default_context(cafile=root) if root else ssl._create_unverified_context()
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as plain:
        with context.wrap_socket(plain, server_hostname=name) as connection:
            return connection.getpeercert(binary_form=True)


def trusted(port, root):
    try:
        return shown(port, root)
    except ssl.SSLError:
        return None


@contextlib.contextmanager
def serving(config, port, *arguments):
    """A server of this configuration, once it listens on the port."""
    log = open(config.parent / "log", "w")
    command = [binary(), "serve", "--config", config, "--rpc", "127.0.0.1:0", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | SMALL_JOURNAL)

    def listens():
        assert process.poll() is None, (config.parent / "log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        until("the port", listens)
        yield
    finally:
        process.kill()
        process.wait()
        log.close()


def metric(server, name):
    status, text = server.call("GET", "/metrics")
    assert status == 200, text
    lines = [line for line in text.splitlines() if line.startswith(f"stadium_acme_{name} ")]
    return float(lines[0].split()[1]) if lines else None


def doctor(server):
    command = [*map(str, server.command[:1]), "doctor", "--json", "--no-disk", "--config", server.folder / "stadium.toml"]
    command += ["--data", server.folder / "data"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [check for check in json.loads(done.stdout)["checks"] if check["area"] == "acme"]


def test_a_certificate_is_issued_used_and_renewed_while_devices_stay(start, pebble):
    authority = pebble(life_s=16)
    server = start(tls=True, trial=True, settings=settings(authority))
    root = authority.root()
    first = until("a trusted certificate", lambda: trusted(server.tls, root), 60)
    for name in ("identity.pem", *[path.name for path in (server.folder / "data/acme").glob("account-*.json")]):
        assert os.stat(server.folder / "data/acme" / name).st_mode & 0o777 == 0o600, name
    assert metric(server, "certificate_expiry_timestamp_seconds") > 0
    assert metric(server, "certificates_total") == 1 and metric(server, "failing") == 0
    (check,) = doctor(server)
    assert check["verdict"] == "ok" and NAME in check["found"], check

    # A device that connected before stays, and mosquitto trusts the authority.
    stays = Device(server, port=server.tls)
    context = ssl.create_default_context(cafile=root)
    context.check_hostname = False
    stays.client.tls_set_context(context)
    stays.connect()
    stays.subscribe("news")
    command = ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(server.tls), "--cafile", root, "--insecure", "-q", "1"]
    subprocess.run([*command, "-t", "news", "-m", "hello"], check=True, timeout=PATIENCE_S, capture_output=True)
    assert stays.take().payload == b"hello"

    # At two thirds of sixteen seconds.
    renewed = until("the next one", lambda: (found := trusted(server.tls, root)) != first and found, 60)
    assert renewed and metric(server, "certificates_total") >= 2, server.output()
    stays.publish("news", "still here", qos=1)
    assert stays.take().payload == b"still here"
    stays.close()
    # Challenges are answered while an order runs, and at no other time.
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", authority.challenge_port)) != 0


def test_a_server_starts_while_the_acme_server_is_away_and_keeps_its_certificate_over_a_restart(start, pebble):
    authority = pebble(begin=False)
    server = start(tls=True, trial=True, settings=settings(authority))
    until("a failure", lambda: metric(server, "failures_total"))
    assert metric(server, "failing") == 1 and metric(server, "certificate_expiry_timestamp_seconds") == 0
    placeholder = shown(server.tls)
    (check,) = doctor(server)
    assert check["verdict"] == "problem" and check["remedy"], check
    authority.begin()
    root = authority.root()
    held = until("a trusted certificate", lambda: trusted(server.tls, root), 60)
    assert held != placeholder and metric(server, "failing") == 0
    server.restart()
    assert trusted(server.tls, root) == held, "it is not ordered again"
    authority.stop()
    server.restart()
    assert trusted(server.tls, root) == held


def test_a_refused_order_names_the_reason_and_harms_nothing_else(start, pebble):
    authority = pebble(blocked=["refused.example.org"])
    server = start(tls=True, trial=True, settings=settings(authority, ["refused.example.org"]))
    until("a failure", lambda: metric(server, "failures_total"))
    assert "Certificate was not obtained" in server.output() and "refused.example.org" in server.output()
    assert "blocklist" in server.output() or "policy" in server.output(), server.output()
    plain = Device(server)
    plain.connect()
    assert plain.publish("a", "x", qos=1) in (0, 0x10)
    plain.close()


def test_a_domain_that_does_not_lead_here_is_said(start, pebble):
    authority = pebble()
    # Nothing answers where the ACME server asks.
    elsewhere = settings(authority).replace(f":{authority.challenge_port}", f":{free_port()}")
    server = start(tls=True, trial=True, settings=elsewhere)
    until("a failure", lambda: metric(server, "failures_total"), 60)
    lines = [line for line in server.output().splitlines() if "Certificate was not obtained" in line]
    assert lines and f"{NAME}:" in lines[0] and "refused" in lines[0], server.output()


def test_other_domains_are_ordered_anew(start, pebble):
    authority = pebble()
    made = settings(authority)
    server = start(tls=True, trial=True, settings=made)
    root = authority.root()
    first = until("a trusted certificate", lambda: trusted(server.tls, root), 60)
    more = made.replace(f'domains = ["{NAME}"]', f'domains = ["{NAME}", "two.example.org"]')
    (server.folder / "stadium.toml").write_text(more)
    server.restart()
    until("both names", lambda: trusted(server.tls, root) not in (None, first), 60)
    shown(server.tls, root, "two.example.org")


def test_https_shows_it_too(pebble, tmp_path):
    authority = pebble()
    port = free_port()
    both = settings(authority).replace('listeners = ["mqtts"]', 'listeners = ["http"]')
    (tmp_path / "stadium.toml").write_text(both)
    arguments = ["--data", tmp_path / "data", "--trial", "--http", f"127.0.0.1:{port}", "--mqtt", "127.0.0.1:0"]
    with serving(tmp_path / "stadium.toml", port, *arguments):
        root = authority.root()
        until("a trusted certificate", lambda: trusted(port, root), 60)
        asked = ["curl", "-sS", "--cacert", root, "--resolve", f"{NAME}:{port}:127.0.0.1", f"https://{NAME}:{port}/readyz"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == 0 and done.stdout, done.stderr


def test_init_writes_a_configuration_that_obtains_one(pebble, tmp_path):
    authority = pebble()
    house, mqtts = tmp_path / "house", free_port()
    command = [binary(), "init", house, "--yes", "--tls", "acme", "--domain", NAME, "--acme-contact", "ops@example.org"]
    command += ["--acme-directory", authority.directory, "--acme-ca", authority.authority]
    command += ["--acme-listen", f"127.0.0.1:{authority.challenge_port}", "--mqtts", f"127.0.0.1:{mqtts}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert NAME in done.stdout and "port 80" in done.stdout, done.stdout
    text = (house / "stadium.toml").read_text()
    assert "[acme]" in text and "certificate =" not in text, text
    with serving(house / "stadium.toml", mqtts, "--http", f"127.0.0.1:{free_port()}"):
        root = authority.root()
        until("a trusted certificate", lambda: trusted(mqtts, root), 60)
