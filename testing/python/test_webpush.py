"""Web Push with the sender library that applications use (pywebpush), to a device on paho that decrypts what it gets (http-ece)."""

import base64
import json
import os

import http_ece
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02
from pywebpush import WebPushException, webpush

from device import V5, Device, unique
from server import PATIENCE_S, b64url, until


def public(key):
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


class Phone:
    """A registered device with the keys of a Web Push receiver. Its session outlives its connection."""

    def __init__(self, server, vapid=None):
        self.id = unique("phone")
        self.server = server
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)
        self.path = f"/api/apps/default/devices/{self.id}"
        assert server.call("PUT", self.path, {})[0] == 201
        body = {"vapid_public_key": b64url(public(vapid.private_key))} if vapid else {}
        status, made = server.call("POST", self.path + "/webpush", body)
        assert status == 201, made
        self.endpoint, self.number = made["endpoint"], made["subscription"]
        self.device = None

    def come(self):
        """Connects and reads its inbox."""
        self.device = Device(self.server, version=V5, id=self.id)
        self.device.connect()
        assert self.device.subscribe(f"inbox/{self.id}", qos=1) == [1]

    def subscription(self):
        return {"endpoint": self.endpoint, "keys": {"p256dh": b64url(public(self.key)), "auth": b64url(self.auth)}}

    def take(self):
        """The next message's text and its user properties."""
        message = self.device.take()
        properties = dict(message.properties.UserProperty)
        return self.decrypt(message.payload, properties), properties

    def decrypt(self, payload, properties):
        encoding = properties["content-encoding"]
        if encoding == "aes128gcm":
            return http_ece.decrypt(payload, private_key=self.key, auth_secret=self.auth, version=encoding)
        fields = dict(each.split("=", 1) for each in properties["encryption"].split(";"))
        keys = dict(each.split("=", 1) for each in properties["crypto-key"].replace(",", ";").split(";"))
        unpadded = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return http_ece.decrypt(
            payload,
            salt=unpadded(fields["salt"]),
            private_key=self.key,
            dh=unpadded(keys["dh"]),
            auth_secret=self.auth,
            version="aesgcm",
        )

    def close(self):
        if self.device:
            self.device.close()


@pytest.fixture
def vapid():
    made = Vapid02()
    made.generate_keys()
    return made


@pytest.fixture
def phone(server):
    made = []

    def make(vapid=None):
        made.append(Phone(server, vapid))
        return made[-1]

    yield make
    for each in made:
        each.close()


def push(phone, text, vapid, ttl=60, encoding="aes128gcm", **headers):
    """Sends with pywebpush, as an application does."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    claims = {"sub": "mailto:ops@example.org"} if vapid else None
    return webpush(
        phone.subscription(),
        text,
        ttl=ttl,
        content_encoding=encoding,
        headers=names,
        vapid_private_key=vapid,
        vapid_claims=claims,
        timeout=PATIENCE_S,
    )


def became(answer, wait=10):
    return requests.get(answer.headers["location"], headers={"Prefer": f"wait={wait}"}, timeout=PATIENCE_S)


@pytest.mark.parametrize("encoding", ["aes128gcm", "aesgcm"])
def test_a_connected_device_decrypts_a_message_and_the_sender_sees_that_it_was_delivered(phone, vapid, encoding):
    phone = phone(vapid)
    phone.come()
    text = json.dumps({"goal": "2:1", "text": "Tör ⚽"}, ensure_ascii=False)
    answer = push(phone, text, vapid, encoding=encoding, urgency="high")
    assert answer.status_code == 201 and answer.headers["ttl"] == "60"
    got, properties = phone.take()
    assert got.decode() == text
    assert properties["subscription"] == phone.number
    assert became(answer).status_code == 204
    status, trace = phone.server.call("GET", f"/api/apps/default/pushes/{properties['push']}/devices/{phone.id}")
    assert (status, trace["state"]) == (200, "delivered"), trace


def test_a_device_that_was_away_gets_the_newest_of_a_topic_and_urgent_messages_first(phone, vapid):
    phone = phone(vapid)
    old = push(phone, "1:0", vapid, topic="score")
    push(phone, "news", vapid, urgency="low")
    push(phone, "2:0", vapid, topic="score")
    push(phone, "alarm", vapid, urgency="high")
    never = push(phone, "too late", vapid, ttl=0)
    assert became(old).status_code == 410
    assert became(never).status_code == 410
    phone.come()
    assert [phone.take()[0] for _ in range(3)] == [b"alarm", b"2:0", b"news"]
    assert phone.device.messages.empty()


def test_ttl_0_reaches_a_device_that_is_connected(phone, vapid):
    phone = phone(vapid)
    phone.come()
    answer = push(phone, "now", vapid, ttl=0, prefer="respond-async")
    assert answer.status_code == 202 and "urn:ietf:params:push:receipt" in answer.headers["link"]
    assert phone.take()[0] == b"now"
    assert became(answer).status_code == 204


def test_another_key_and_none_are_refused_where_the_subscription_is_for_one(phone, vapid):
    phone = phone(vapid)
    other = Vapid02()
    other.generate_keys()
    for key, status, code in [(other, 403, "WEB-008"), (None, 401, "WEB-007")]:
        with pytest.raises(WebPushException) as refused:
            push(phone, "spam", key)
        assert refused.value.response.status_code == status
        assert refused.value.response.json()["code"] == code
    assert phone.server.call("GET", phone.path)[1]["owed"] == 0


def test_a_revoked_subscription_is_gone_and_another_one_of_the_device_is_not(phone, vapid):
    phone = phone(vapid)
    status, second = phone.server.call("POST", phone.path + "/webpush", {})
    assert status == 201
    assert phone.server.call("DELETE", f"{phone.path}/webpush/{phone.number}")[0] == 204
    with pytest.raises(WebPushException) as refused:
        push(phone, "late", vapid)
    assert refused.value.response.status_code == 410
    phone.endpoint = second["endpoint"]
    phone.come()
    push(phone, "still here", None)
    got, properties = phone.take()
    assert (got, properties["subscription"]) == (b"still here", second["subscription"])


def test_endpoints_and_messages_outlive_a_restart(start, vapid):
    server = start(loops=1)
    phone = Phone(server, vapid)
    push(phone, "before", vapid)
    server.restart()
    push(phone, "after", vapid)
    phone.come()
    assert [phone.take()[0] for _ in range(2)] == [b"before", b"after"]
    until("both are acknowledged", lambda: server.call("GET", phone.path)[1]["owed"] == 0)
    phone.close()
