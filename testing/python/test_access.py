"""Outside trial mode: who may connect, and what they may do. Nothing is allowed that no rule names."""

import hashlib
import hmac
import json
import subprocess
import time

import pytest

from device import V5, V311, Device, Refused
from server import PEER, b64url, binary

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="settings of stadium")

SECRET = "a-secret-of-at-least-thirty-two-bytes"
BAD_LOGIN, NOT_AUTHORIZED = 0x86, 0x87


def password_line(user, password):
    made = subprocess.run(
        [binary(), "device", "passwd", "--print", user], input=password + "\n", capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return next(line for line in made.stdout.splitlines() if line.startswith(f"{user}:"))


def token(secret=SECRET, **claims):
    claims.setdefault("exp", int(time.time()) + 600)
    parts = [b64url(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signed = ".".join(parts)
    return f"{signed}.{b64url(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest())}"


@pytest.fixture
def login():
    made = []

    def make(server, id, user=None, password=None, version=V5, **arguments):
        each = Device(server, id=id, version=version, **arguments)
        if user is not None or password is not None:
            each.client.username_pw_set(user or "", password)
        made.append(each)
        each.connect()
        return each

    yield make
    for each in made:
        each.close()


@pytest.fixture
def closed(start):
    """A server with a password file for ann and bob, and tokens."""
    return start(
        trial=False,
        settings=(
            '[auth.password]\nfile = "@passwords"\n'
            '[auth.token]\nkeys = ["hs256 @secret"]\n'
        ),
        files={
            "passwords": password_line("ann", "ann's own") + "\n" + password_line("bob", "bob's own") + "\n",
            "secret": SECRET,
        },
    )


@pytest.mark.parametrize("version", [V311, V5], ids=["v3.1.1", "v5"])
def test_only_the_right_password_lets_a_device_in(closed, login, version):
    login(closed, "ann", "ann", "ann's own", version=version)
    wrong = [("ann", "bob's own"), ("nobody", "ann's own"), ("ann", "")]
    for user, password in wrong:
        with pytest.raises(Refused) as refusal:
            login(closed, "ann", user, password, version=version)
        # 3.1.1 has 4 or 5; paho translates them to the codes of MQTT 5
        assert refusal.value.code in (BAD_LOGIN, NOT_AUTHORIZED)


@pytest.mark.parametrize("version", [V311, V5], ids=["v3.1.1", "v5"])
def test_nobody_gets_in_without_credentials(closed, login, version):
    with pytest.raises(Refused) as refusal:
        login(closed, "ann", version=version)
    assert refusal.value.code in (BAD_LOGIN, NOT_AUTHORIZED)


def test_a_user_may_not_take_anothers_client_id(closed, login):
    with pytest.raises(Refused):
        login(closed, "bob", "ann", "ann's own")


def test_a_signed_token_lets_a_device_in(closed, login):
    login(closed, "phone-1", "", token(sub="phone-1"))


def test_a_device_is_cut_when_its_token_expires(start, login):
    server = start(
        trial=False, settings='[auth.token]\nkeys = ["hs256 @secret"]\nleeway_s = 0\n', files={"secret": SECRET}
    )
    phone = login(server, "phone-1", "", token(sub="phone-1", exp=int(time.time()) + 3))
    assert phone.goodbye().is_failure


WRONG_TOKENS = [
    ("of another key", lambda: token("another-secret-of-thirty-two-bytes!!", sub="phone-1")),
    ("that has expired", lambda: token(sub="phone-1", exp=int(time.time()) - 3600)),
    ("for another device", lambda: token(sub="phone-2")),
    ("that is cut", lambda: token(sub="phone-1")[:-3]),
    ("unsigned", lambda: b64url(b'{"alg":"none"}') + "." + b64url(b'{"sub":"phone-1","exp":99999999999}') + "."),
]


@pytest.mark.parametrize("make", [make for _, make in WRONG_TOKENS], ids=[name for name, _ in WRONG_TOKENS])
def test_a_token_is_refused(closed, login, make):
    with pytest.raises(Refused) as refusal:
        login(closed, "phone-1", "", make())
    assert refusal.value.code in (BAD_LOGIN, NOT_AUTHORIZED)


def test_a_device_reads_its_inbox_and_channels_and_nothing_else(closed, login):
    ann = login(closed, "ann", "ann", "ann's own")
    allowed = ["inbox/ann", "inbox/ann/#", "channels/news", "channels/+"]
    assert ann.subscribe(*allowed, qos=1) == [1] * len(allowed)
    forbidden = ["inbox/bob", "inbox/+", "inbox/#", "#", "+/+", "channels/#", "other", "$SYS/#", "$share/g/inbox/bob"]
    assert ann.subscribe(*forbidden, qos=1) == [NOT_AUTHORIZED] * len(forbidden)


def test_a_device_of_3_1_1_gets_failure(closed, login):
    # [MQTT-3.8.4-5] of 3.1.1: 0x80
    ann = login(closed, "ann", "ann", "ann's own", version=V311)
    assert ann.subscribe("inbox/ann", "inbox/bob", qos=1) == [1, 0x80]


def test_a_device_writes_its_uplink_and_nothing_else(closed, login):
    ann = login(closed, "ann", "ann", "ann's own")
    bob = login(closed, "bob", "bob", "bob's own")
    bob.subscribe("inbox/bob", "channels/news", qos=1)
    assert ann.publish("uplink/ann/seat", b"12F", qos=1) in (0, 0x10)
    for topic in ("uplink/bob/seat", "inbox/bob", "channels/news", "other"):
        assert ann.publish(topic, b"no", qos=1) == NOT_AUTHORIZED
        # PUBREC has it; paho goes on with PUBREL all the same, and reports what PUBCOMP answers to that.
        assert ann.publish(topic, b"no", qos=2) in (NOT_AUTHORIZED, 0x92)
    status, answer = closed.call("POST", "/api/push", {"to": {"device": "bob"}, "message": "fence", "qos": 1})
    assert status == 202, answer
    assert bob.take().payload == b"fence"


def test_a_will_needs_the_right_to_publish(closed, login):
    ann = Device(closed, id="ann", version=V5)
    ann.client.username_pw_set("ann", "ann's own")
    ann.client.will_set("inbox/bob", b"never", 1)
    bob = login(closed, "bob", "bob", "bob's own")
    bob.subscribe("inbox/bob", qos=1)
    try:
        ann.connect()
        ann.cut()
    except Refused as refusal:
        assert refusal.code == NOT_AUTHORIZED
    finally:
        ann.close()
    closed.call("POST", "/api/push", {"to": {"device": "bob"}, "message": "fence", "qos": 1})
    assert bob.take().payload == b"fence"


def test_rules_of_ones_own_replace_the_defaults(start, login):
    server = start(
        trial=False,
        settings='[auth]\nanonymous = "without-credentials"\nrules_file = "@rules.toml"\n',
        files={
            "rules.toml": (
                '[[rule]]\ndeny = ["publish"]\ntopics = ["scores/final"]\n'
                '[[rule]]\nallow = ["publish", "subscribe"]\ntopics = ["scores/#", "seat/%c"]\n'
            )
        },
    )
    one = login(server, "one")
    assert one.subscribe("scores/#", "seat/one", "seat/two", "inbox/one", qos=1) == [1, 1, 0x87, 0x87]
    assert one.publish("scores/final", b"", qos=1) == NOT_AUTHORIZED
    assert one.publish("scores/half", b"1:0", qos=1) == 0
    assert one.take().payload == b"1:0"


@pytest.mark.parametrize("version", [V311, V5], ids=["v3.1.1", "v5"])
def test_a_rule_may_allow_to_publish_and_not_to_retain(start, login, version):
    server = start(
        trial=False,
        settings='[auth]\nanonymous = "without-credentials"\nrules_file = "@rules.toml"\n',
        files={
            "rules.toml": (
                '[[rule]]\nallow = ["publish"]\ntopics = ["chat/#"]\nretain = false\n'
                '[[rule]]\nallow = ["publish", "subscribe"]\ntopics = ["state/%c"]\n'
                '[[rule]]\nallow = ["subscribe"]\ntopics = ["chat/#", "state/#"]\n'
                '[[rule]]\nallow = ["publish", "subscribe"]\ntopics = ["fence/#"]\n'
            )
        },
    )
    reader = login(server, "reader")
    assert reader.subscribe("chat/#", "state/#", qos=1) == [1, 1]
    writer = login(server, "writer", version=version)
    # 3.1.1 has no code for it: the message is acknowledged and dropped
    refused = NOT_AUTHORIZED if version == V5 else 0
    assert writer.publish("chat/room", b"kept", qos=1, retain=True) == refused
    assert writer.publish("chat/room", b"said", qos=1) == 0
    assert reader.take().payload == b"said"
    assert writer.publish("state/writer", b"on", qos=1, retain=True) == 0
    assert reader.take().payload == b"on"
    late = login(server, "late")
    late.subscribe("chat/#", "state/#", qos=1)
    message = late.take()
    assert (message.topic, message.payload, message.retain) == ("state/writer", b"on", True)
    assert late.until_fence(writer) == []


@pytest.mark.parametrize("id", ["#", "+", "a/b/c"])
def test_a_client_id_cannot_widen_a_rule(start, login, id):
    server = start(
        trial=False,
        settings='[auth]\nanonymous = "without-credentials"\nrules_file = "@rules.toml"\n',
        files={"rules.toml": '[[rule]]\nallow = ["subscribe"]\ntopics = ["seat/%c", "seat/%c/x"]\n'},
    )
    try:
        sly = login(server, id)
    except Refused:
        return
    for wanted in ("seat/#", "seat/+", "seat/a/b", "seat/other"):
        assert sly.subscribe(wanted, qos=1) == [NOT_AUTHORIZED]
