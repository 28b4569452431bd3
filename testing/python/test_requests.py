"""Devices ask services: MQTT 5 request and response through the server, with the geo example as the service."""

import json
import os
import pathlib
import signal
import struct
import subprocess

import pytest

from device import V5, V311, Device
from server import PATIENCE_S, PEER, ROOT, binary, free_port, openssl, until
from test_access import password_line

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="services of stadium")

NOT_AUTHORIZED, TOPIC_NAME_INVALID, QUOTA_EXCEEDED = 0x87, 0x90, 0x97


def geo_binary():
    named = os.environ.get("STADIUM_GEO")
    path = pathlib.Path(named) if named else ROOT / "target/debug/geo-service"
    assert path.is_file(), f"{path} is not there: run `cargo build -p stadium-example-geo`, or name it in STADIUM_GEO"
    return path


def state(task):
    """The state of one of a process' threads, a letter."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


class Geo:
    """A running geo-service; `address` is where it listens."""

    def __init__(self, *flags, listen="127.0.0.1:0"):
        command = [geo_binary(), "--listen", listen, "--log-level", "warn", *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]

    def pause(self):
        """Stops it; returns when each of its threads stands still, which a signal does not wait for."""
        self.process.send_signal(signal.SIGSTOP)
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        until("all threads to stand still", lambda: all(state(task) == "T" for task in tasks.iterdir()))

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def geo():
    started = []

    def make(*flags, **plan):
        started.append(Geo(*flags, **plan))
        return started[-1]

    yield make
    for each in started:
        each.stop()


def settings(geo, more=""):
    return f'[discovery]\nbackend = "static"\nservices = ["geo/1={geo.address}"]\n{more}'


@pytest.fixture
def device():
    """Makes devices, MQTT 5 where nothing else is asked for, and closes them afterwards."""
    made = []

    def make(on, props=None, **plan):
        made.append(Device(on, **{"version": V5, **plan}))
        made[-1].connect(**(props or {}))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def asking(start, geo):
    """A server, the service behind it, and devices of the server."""

    class Asking:
        def __init__(self):
            self.geo = geo()
            self.server = start(settings=settings(self.geo))

    return Asking()


def event(device_id, latitude=37.9, longitude=23.7, timestamp_ms=1_000):
    """A geo.v1.GeoEvent by hand: the suite needs no generated code."""
    name = device_id.encode()
    return (
        bytes([0x0A, len(name)]) + name
        + b"\x10" + varint(timestamp_ms)
        + b"\x19" + struct.pack("<d", latitude)
        + b"\x21" + struct.pack("<d", longitude)
    )


def whose(device_id):
    """A geo.v1.Device."""
    return bytes([0x0A, len(device_id)]) + device_id.encode()


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def told(message):
    """The user properties of an answer."""
    return dict(getattr(message.properties, "UserProperty", []))


def ask(device, route, payload=b"", to=None, qos=1, **props):
    """Asks, and returns the reason code of the acknowledgement."""
    props.setdefault("CorrelationData", b"c-1")
    return device.publish(f"rpc/{route}", payload, qos=qos, ResponseTopic=to or f"inbox/{device.id}", **props)


def ask_for_nobody(device, route):
    """Asks a service that there is not. The first one to ask may have to wait for discovery, and gets an answer then."""
    if ask(device, route) != TOPIC_NAME_INVALID:
        assert told(device.take())["code"] == "RPC-NO-SERVICE"


def metric(server, name):
    _, text = server.call("GET", "/metrics")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"stadium_{name} "))


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_answer_comes_with_its_correlation_data(asking, device, qos):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}", qos=2)
    assert ask(phone, "geo/Store", event(phone.id), qos=qos, CorrelationData=b"store-1") == 0
    stored = phone.take()
    assert (stored.topic, stored.qos, told(stored)["status"]) == (f"inbox/{phone.id}", qos, "ok")
    assert stored.properties.CorrelationData == b"store-1"
    assert ask(phone, "geo/Last", whose(phone.id), qos=qos, CorrelationData=b"last-1") == 0
    last = phone.take()
    assert last.payload.startswith(whose(phone.id)) and last.properties.CorrelationData == b"last-1"


def test_many_requests_are_under_way_at_once(asking, device):
    phones = [device(on=asking.server) for _ in range(4)]
    for phone in phones:
        phone.subscribe(f"inbox/{phone.id}/#")
    for number in range(16):
        for phone in phones:
            to = f"inbox/{phone.id}/{number}"
            phone.send("rpc/geo/Store", event(phone.id), ResponseTopic=to, CorrelationData=bytes([number]))
    for phone in phones:
        answers = [phone.take() for _ in range(16)]
        assert {(each.topic, each.properties.CorrelationData) for each in answers} == {
            (f"inbox/{phone.id}/{number}", bytes([number])) for number in range(16)
        }
        assert {told(each)["status"] for each in answers} == {"ok"}


def test_a_rejected_request_has_the_reason(asking, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}")
    assert ask(phone, "geo/Store", event(phone.id, latitude=95)) == 0
    answer = told(phone.take())
    assert (answer["status"], answer["code"]) == ("rejected", "GEO-001")
    assert "95" in answer["reason"]


def test_an_unknown_service_is_refused(asking, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}")
    ask_for_nobody(phone, "nowhere/Go")
    assert ask(phone, "nowhere/Go") == TOPIC_NAME_INVALID
    assert ask(phone, "nowhere/Go", qos=0) == 0
    answer = told(phone.take())
    assert (answer["status"], answer["code"]) == ("rejected", "RPC-NO-SERVICE")


def test_made_up_names_do_not_keep_others_from_services(asking, device):
    nosy, phone = device(on=asking.server), device(on=asking.server)
    for each in (nosy, phone):
        each.subscribe(f"inbox/{each.id}")
    for number in range(1_100):
        ask_for_nobody(nosy, f"made-up-{number}/Go")
    assert ask(phone, "geo/Store", event(phone.id)) == 0
    assert told(phone.take())["status"] == "ok"


@pytest.mark.parametrize("topic", ["geo", "geo/", "geo/Store/now"])
def test_a_topic_that_names_no_method_is_refused(asking, device, topic):
    assert ask(device(on=asking.server), topic) == TOPIC_NAME_INVALID


def test_an_unknown_method_is_rejected(asking, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}")
    assert ask(phone, "geo/Forget") == 0
    answer = told(phone.take())
    assert answer["status"] == "rejected" and answer["code"].startswith("RPC-")


@pytest.mark.parametrize("method", ["quiesce", "log-level", "describe"])
def test_routes_of_every_service_are_not_for_devices(asking, device, method):
    phone = device(on=asking.server)
    assert ask(phone, f"geo/{method}") == NOT_AUTHORIZED
    assert ask(phone, f"stadium/{method}") == NOT_AUTHORIZED


def test_a_device_cannot_push_by_the_servers_own_service(asking, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}", "channels/everybody")
    assert ask(phone, "stadium/Push", b"\x20\x01\x2a\x02hi") == 0
    answer = phone.take()
    assert (told(answer)["status"], told(answer)["code"]) == ("rejected", "NODE-009")


def test_an_answer_reaches_nobody_else(asking, device):
    phone, neighbour = device(on=asking.server), device(on=asking.server)
    for each in (phone, neighbour):
        each.subscribe("channels/news")
    assert ask(phone, "geo/Store", event(phone.id), to="channels/news") == 0
    assert told(phone.take())["status"] == "ok"
    assert neighbour.until_fence(sender=phone) == []


def test_without_response_topic_there_is_no_answer(asking, device):
    old, new = device(on=asking.server, version=V311), device(on=asking.server)
    new.subscribe(f"inbox/{new.id}")
    assert old.publish("rpc/geo/Store", event("tracker"), qos=1) == 0

    def seen():
        assert ask(new, "geo/Last", whose("tracker")) == 0
        return told(new.take())["status"] == "ok"

    until("the event to be stored", seen)


def test_a_retained_request_is_refused(asking, device):
    phone = device(on=asking.server)
    assert phone.publish("rpc/geo/Store", event(phone.id), qos=1, retain=True) >= 0x80


def test_more_than_a_device_may_have_under_way_is_busy(start, geo, device):
    service = geo()
    server = start(settings=settings(service, "[rpc.devices]\nper_device_max = 2\nbusy_retry_after_ms = 70\n"))
    phone = device(on=server)
    phone.subscribe(f"inbox/{phone.id}")
    service.pause()
    assert [ask(phone, "geo/Store", event(phone.id)) for _ in range(3)] == [0, 0, QUOTA_EXCEEDED]
    # Without an acknowledgement the answer shows it.
    assert ask(phone, "geo/Store", event(phone.id), qos=0) == 0
    answer = told(phone.take())
    assert (answer["status"], answer["retry-after-ms"]) == ("busy", "70")
    service.go_on()
    assert [told(phone.take())["status"] for _ in range(2)] == ["ok", "ok"]
    until("room", lambda: metric(server, "device_requests_in_flight") == 0)
    assert ask(phone, "geo/Store", event(phone.id)) == 0
    assert told(phone.take())["status"] == "ok"


def test_a_service_that_is_full_answers_busy(start, geo, device):
    server = start(settings=settings(geo("--devices-max", "1")))
    phone = device(on=server)
    phone.subscribe(f"inbox/{phone.id}")
    assert ask(phone, "geo/Store", event("first")) == 0
    assert told(phone.take())["status"] == "ok"
    assert ask(phone, "geo/Store", event("second")) == 0
    answer = told(phone.take())
    assert answer["status"] == "busy" and int(answer["retry-after-ms"]) > 0


def test_the_message_expiry_is_the_deadline(asking, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}")
    assert ask(phone, "geo/Store", event(phone.id)) == 0
    assert told(phone.take())["status"] == "ok"
    asking.geo.pause()
    assert ask(phone, "geo/Store", event(phone.id), MessageExpiryInterval=1) == 0
    assert told(phone.take())["status"] == "deadline"


def test_an_answer_for_a_device_that_has_gone_is_dropped(asking, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}")
    asking.geo.pause()
    assert ask(phone, "geo/Store", event(phone.id)) == 0
    phone.disconnect()
    until("the device to be gone", lambda: metric(asking.server, "connections") == 0)
    asking.geo.go_on()
    until("the answer to be dropped", lambda: metric(asking.server, "device_answers_dropped_total") == 1)


def test_an_answer_waits_for_a_device_that_is_away(asking, device):
    phone = device(on=asking.server, clean=False, props={"SessionExpiryInterval": 60})
    phone.subscribe(f"inbox/{phone.id}", qos=1)
    asking.geo.pause()
    assert ask(phone, "geo/Store", event(phone.id)) == 0
    phone.disconnect()
    until("the device to be gone", lambda: metric(asking.server, "connections") == 0)
    asking.geo.go_on()
    until("the answer to be kept", lambda: metric(asking.server, "device_answers_total") == 1)
    back = device(on=asking.server, id=phone.id, clean=False, props={"SessionExpiryInterval": 60})
    assert told(back.take())["status"] == "ok"


def test_a_service_that_comes_back_is_called_again(asking, geo, device):
    phone = device(on=asking.server)
    phone.subscribe(f"inbox/{phone.id}")

    def status():
        assert ask(phone, "geo/Store", event(phone.id), MessageExpiryInterval=2) == 0
        return told(phone.take())["status"]

    assert status() == "ok"
    asking.geo.stop()
    assert status() in ("busy", "deadline", "unknown")
    geo(listen=asking.geo.address)
    until("the service to be called again", lambda: status() == "ok")


RULES = """
[[rule]]
allow = ["publish"]
topics = ["rpc/geo/Last"]

[[rule]]
allow = ["subscribe"]
topics = ["inbox/%c", "inbox/%c/#"]
"""


@pytest.fixture
def guarded(start, geo):
    """A server with rules, where ann and bob have passwords."""

    def make(rules):
        passwords = password_line("ann", "ann's own") + "\n" + password_line("bob", "bob's own") + "\n"
        files = {"passwords": passwords, "rules.toml": rules}
        named = '[auth]\nrules_file = "@rules.toml"\n' if rules else ""
        more = f'{named}[auth.password]\nfile = "@passwords"\n'
        return start(trial=False, settings=settings(geo(), more), files=files)

    return make


def ann(server):
    made = Device(server, id="ann")
    made.client.username_pw_set("ann", "ann's own")
    made.connect()
    return made


def test_a_device_may_ask_only_for_routes_that_a_rule_allows(guarded):
    phone = ann(guarded(RULES))
    try:
        phone.subscribe("inbox/ann")
        assert ask(phone, "geo/Store", event("ann")) == NOT_AUTHORIZED
        assert ask(phone, "geo/Last", whose("ann"), to="inbox/bob") == NOT_AUTHORIZED
        assert ask(phone, "geo/Last", whose("ann")) == 0
        assert told(phone.take())["code"] == "GEO-004"
    finally:
        phone.close()


def test_by_default_no_device_may_ask(guarded):
    phone = ann(guarded(""))
    try:
        assert ask(phone, "geo/Last", whose("ann")) == NOT_AUTHORIZED
    finally:
        phone.close()


def test_where_devices_may_not_ask_the_topics_are_like_any_other(start, device):
    server = start(settings="[rpc.devices]\nenabled = false\n")
    listener, sender = device(on=server), device(on=server)
    listener.subscribe("rpc/#")
    sender.publish("rpc/geo/Store", b"hello", qos=1)
    assert listener.take(PATIENCE_S).payload == b"hello"


class Etcd:
    """A real etcd of one member."""

    def __init__(self, folder):
        client, peer = free_port(), free_port()
        self.url = f"http://127.0.0.1:{client}"
        self.discovery = f"etcd://127.0.0.1:{client}"
        own = f"http://127.0.0.1:{peer}"
        command = ["etcd", "--name", "m", "--data-dir", folder, "--logger", "zap", "--log-level", "error"]
        command += ["--listen-client-urls", self.url, "--advertise-client-urls", self.url]
        command += ["--listen-peer-urls", own, "--initial-advertise-peer-urls", own, "--initial-cluster", f"m={own}"]
        try:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            raise AssertionError("cannot run etcd; install the Debian package etcd-server") from None

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def etcd(tmp_path):
    running = Etcd(tmp_path / "etcd")
    yield running
    running.stop()


# What a server registers of its own.
OWN = {"stadium": 1, "queue": 1, "wallet": 1, "push": 1}


def listed(etcd):
    """The services that discovery knows, each with its number of instances."""
    command = [binary(), "service", "list", "--json", "--discovery", etcd.discovery]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return {}
    return {each["name"]: len(each["instances"]) for each in json.loads(asked.stdout)["services"]}


def test_services_find_each_other_in_etcd(etcd, start, geo, device):
    first = geo("--etcd", etcd.url)
    server = start(settings=f'[discovery]\nbackend = "etcd"\nendpoints = ["{etcd.url}"]\nsession_ttl_s = 5\n')
    until("both to be registered", lambda: listed(etcd) == {"geo": 1, **OWN})
    phone = device(on=server)
    phone.subscribe(f"inbox/{phone.id}")

    def status():
        assert ask(phone, "geo/Store", event(phone.id)) == 0
        return told(phone.take())["status"]

    until("the service to be known", lambda: ask(phone, "geo/Store", event(phone.id)) == 0)
    assert told(phone.take())["status"] in ("ok", "busy")
    until("the service to be connected", lambda: status() == "ok")

    # Another instance takes over while requests go on: none is lost to the one that leaves.
    geo("--etcd", etcd.url)
    until("the second instance", lambda: listed(etcd).get("geo") == 2)
    first.process.send_signal(signal.SIGTERM)
    answers = [status() for _ in range(20)]
    until("the first to be gone", lambda: first.process.poll() is not None)
    answers += [status() for _ in range(20)]
    assert set(answers) == {"ok"}, answers

    # Discovery is away: what was known last is called.
    etcd.stop()
    assert [status() for _ in range(20)] == ["ok"] * 20


def test_a_server_that_leaves_is_gone_from_discovery(etcd, start):
    server = start(settings=f'[discovery]\nbackend = "etcd"\nendpoints = ["{etcd.url}"]\n')
    until("it to be registered", lambda: listed(etcd) == OWN)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE_S) == 0
    assert listed(etcd) == {}


def issue(folder):
    """An authority, and a certificate for services.internal that it signed, in `folder`."""
    ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    ca = ["-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority"]
    openssl("req", "-x509", *ec, *ca, cwd=folder)
    openssl("req", *ec, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=services", cwd=folder)
    (folder / "names").write_text("subjectAltName=DNS:services.internal\n")
    signed = ["-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"]
    openssl("x509", *signed, "-extfile", "names", "-out", "own.pem", cwd=folder)


def test_services_that_know_each_other_by_certificate(start, device, tmp_path):
    issue(tmp_path)
    server = start(
        settings=(
            f'[rpc]\ncertificate = "{tmp_path}/own.pem"\nkey = "{tmp_path}/own.key"\n'
            f'client_certificates = "required"\nclient_ca = "{tmp_path}/ca.pem"\n'
            f'calls_ca = "{tmp_path}/ca.pem"\ncalls_server_name = "services.internal"\n'
        )
    )
    # A device's request goes over TLS to the server's own service, which answers that it carries no key.
    phone = device(on=server)
    phone.subscribe(f"inbox/{phone.id}")

    def answered():
        assert ask(phone, "stadium/Push", b"\x20\x01\x2a\x02hi") == 0
        return told(phone.take()).get("code") == "NODE-009"

    until("the service to answer", answered)

    running = json.loads((server.folder / "data/running.json").read_text())
    address = next(each["address"] for each in running["listeners"] if each["name"] == "rpc")
    health = [binary(), "service", "health", "stadium", "--instance", address, "--deadline", "1s"]
    known = ["--ca", tmp_path / "ca.pem", "--server-name", "services.internal"]
    shown = ["--certificate", tmp_path / "own.pem", "--key-file", tmp_path / "own.key"]

    def code(*arguments):
        return subprocess.run([*health, *arguments], capture_output=True, check=False).returncode

    assert (code(*known, *shown), code(*known), code()) == (0, 69, 69)
