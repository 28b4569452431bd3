"""The additions of MQTT 5: aliases, properties, flow control, options, identifiers, reason codes."""

import pytest

from device import Refused
from server import until


def test_connack_states_the_limits_of_the_server(device):
    # 3.2.2.3
    _, _, props = device(props={"SessionExpiryInterval": 60}).connack
    assert props.TopicAliasMaximum > 0
    for flag in ("RetainAvailable", "WildcardSubscriptionAvailable", "SubscriptionIdentifierAvailable"):
        assert getattr(props, flag, 1) == 1
    assert getattr(props, "SharedSubscriptionAvailable", 1) == 1
    assert getattr(props, "MaximumQoS", 2) == 2


def test_a_device_without_an_id_is_given_one(device):
    # [MQTT-3.2.2-16]
    first, second = device(id=""), device(id="")
    ids = {each.connack[2].AssignedClientIdentifier for each in (first, second)}
    assert len(ids) == 2 and all(ids)


def test_an_assigned_id_names_the_session(device, topic):
    first = device(id="", clean=True, props={"SessionExpiryInterval": 100})
    first.subscribe(topic, qos=1)
    id = first.connack[2].AssignedClientIdentifier
    first.disconnect()
    assert device(id=id, clean=False, props={"SessionExpiryInterval": 100}).session_present


def test_topic_aliases_of_a_device_stand_for_their_topics(device, topic):
    # [MQTT-3.3.2-12]
    reader, writer = device(), device()
    reader.subscribe(f"{topic}/#", qos=1)
    writer.publish(f"{topic}/one", b"1", qos=1, TopicAlias=1)
    writer.publish(f"{topic}/two", b"2", qos=1, TopicAlias=2)
    writer.publish("", b"3", qos=1, TopicAlias=1)
    writer.publish(f"{topic}/new", b"4", qos=1, TopicAlias=1)
    writer.publish("", b"5", qos=1, TopicAlias=1)
    writer.publish("", b"6", qos=1, TopicAlias=2)
    got = [(message.topic.rsplit("/", 1)[1], message.payload) for message in (reader.take() for _ in range(6))]
    assert got == [("one", b"1"), ("two", b"2"), ("one", b"3"), ("new", b"4"), ("new", b"5"), ("two", b"6")]


@pytest.mark.parametrize("alias", ["beyond", "unknown"])
def test_a_wrong_topic_alias_ends_the_connection(device, topic, alias):
    # [MQTT-3.3.2-9]: beyond the maximum is 0x94; one that was never set is a Protocol Error (3.3.2.3.4), 0x82 or 0x94
    writer = device()
    maximum = writer.connack[2].TopicAliasMaximum
    if alias == "beyond":
        writer.send(topic, b"", qos=1, TopicAlias=maximum + 1)
    else:
        writer.send("", b"", qos=1, TopicAlias=1)
    assert writer.goodbye().value in ((0x94,) if alias == "beyond" else (0x82, 0x94))


def test_topics_arrive_whole_whatever_aliases_the_device_allows(device, topic):
    # 3.1.2.11.5
    reader = device(props={"TopicAliasMaximum": 2})
    known = {}
    reader.subscribe(f"{topic}/#", qos=1)
    writer = device()
    for number in range(30):
        writer.publish(f"{topic}/{number % 5}", str(number), qos=1)
    for number in range(30):
        message = reader.take()
        alias = getattr(message.properties, "TopicAlias", None)
        assert alias is None or 1 <= alias <= 2
        name = message.topic or known[alias]
        if alias:
            known[alias] = name
        assert (name, message.payload) == (f"{topic}/{number % 5}", str(number).encode())


def test_properties_of_a_message_travel_unaltered(device, transport, topic):
    # [MQTT-3.3.2-17], [MQTT-3.3.2-18], [MQTT-3.3.2-20]
    reader, writer = device(), device()
    reader.subscribe(topic, qos=1)
    pairs = [("b", "2"), ("a", "1"), ("b", "2"), ("ü", "😀"), ("", "")]
    writer.publish(
        topic, "text", qos=1, PayloadFormatIndicator=1, ContentType="text/plain", UserProperty=pairs,
        ResponseTopic="answers/here", CorrelationData=b"\x00\xff\x01",
    )
    props = reader.take().properties
    assert props.UserProperty == pairs
    assert (props.PayloadFormatIndicator, props.ContentType) == (1, "text/plain")
    assert (props.ResponseTopic, props.CorrelationData) == ("answers/here", b"\x00\xff\x01")


def test_a_request_finds_its_response(device, topic):
    # 4.10
    server, client = device(), device()
    server.subscribe(f"{topic}/ask", qos=1)
    client.subscribe(f"{topic}/answers/{client.id}", qos=1, noLocal=True)
    for number in range(10):
        client.publish(
            f"{topic}/ask", str(number), qos=1,
            ResponseTopic=f"{topic}/answers/{client.id}", CorrelationData=bytes([number]),
        )
    for number in range(10):
        asked = server.take()
        server.publish(asked.properties.ResponseTopic, b"re " + asked.payload, qos=1,
                       CorrelationData=asked.properties.CorrelationData)
    for number in range(10):
        answer = client.take()
        assert (answer.payload, answer.properties.CorrelationData) == (f"re {number}".encode(), bytes([number]))


def test_no_local_keeps_a_devices_own_messages_away(device, topic):
    # [MQTT-3.8.3-3]
    chatty, other = device(), device()
    chatty.subscribe(topic, qos=1, noLocal=True)
    chatty.publish(topic, b"mine", qos=1)
    other.publish(topic, b"theirs", qos=1)
    assert [each.payload for each in chatty.until_fence(other)] == [b"theirs"]


def test_subscription_identifiers_say_which_subscription_matched(device, topic):
    # [MQTT-3.3.4-3], [MQTT-3.3.4-4], [MQTT-3.3.4-5]
    reader, writer = device(), device()
    reader.subscribe(f"{topic}/+", qos=1, id=7)
    reader.subscribe(f"{topic}/#", qos=1, id=268_435_455)
    reader.subscribe(f"{topic}/a", qos=1)
    writer.publish(f"{topic}/a", b"x", qos=1)
    got = reader.until_fence(writer)
    ids = sorted(id for message in got for id in getattr(message.properties, "SubscriptionIdentifier", []))
    assert ids == [7, 268_435_455]


def test_a_repeated_subscription_changes_its_identifier(device, topic):
    reader, writer = device(), device()
    reader.subscribe(topic, qos=1, id=1)
    reader.subscribe(topic, qos=1, id=2)
    writer.publish(topic, b"x", qos=1)
    assert reader.take().properties.SubscriptionIdentifier == [2]


@pytest.mark.parametrize("qos", [1, 2])
def test_no_more_messages_are_in_flight_than_the_device_receives(device, topic, qos):
    # [MQTT-3.3.4-9]: with nothing acknowledged, Receive Maximum messages come and no more
    reader = device(ack=False, props={"ReceiveMaximum": 3})
    reader.subscribe(topic, qos=qos)
    writer = device()
    for number in range(10):
        writer.publish(topic, str(number), qos=qos)
    first = [reader.take() for _ in range(3)]
    # QoS 0 is not held back by it: a fence of QoS 0 proves that no fourth message is on its way.
    reader.subscribe(topic + "/fence", qos=0)
    writer.publish(topic + "/fence", b"", qos=0)
    if qos == 1:
        assert reader.take().topic == topic + "/fence"
        for message in first:
            reader.client.ack(message.mid, message.qos)
        rest = []
        while len(rest) < 7:
            message = reader.take()
            reader.client.ack(message.mid, message.qos)
            rest.append(message.payload)
        assert rest == [str(number).encode() for number in range(3, 10)]


def test_a_message_larger_than_the_device_takes_is_not_sent(device, topic):
    # [MQTT-3.1.2-24], [MQTT-3.1.2-25]
    reader = device(props={"MaximumPacketSize": 1_000})
    reader.subscribe(topic, qos=1)
    writer = device()
    writer.publish(topic, b"x" * 2_000, qos=1)
    writer.publish(topic, b"small", qos=1)
    assert [each.payload for each in reader.until_fence(writer)] == [b"small"]


def test_a_packet_larger_than_the_server_takes_ends_the_connection(device, topic):
    # [MQTT-3.2.2-15]: 0x95
    writer = device()
    limit = writer.connack[2].MaximumPacketSize
    writer.send(topic, b"x" * limit, qos=1)
    assert writer.goodbye().value == 0x95


def test_a_long_keep_alive_is_replaced_by_the_servers(device):
    # [MQTT-3.1.2-21]; trial settings have keep_alive_s_max = 600
    asking = device(props={"keepalive": 65_535})
    assert 0 < asking.connack[2].ServerKeepAlive <= 660


def test_publishing_to_nobody_is_reported(device, topic):
    # 3.4.2.1: 0x10 No matching subscribers; 0x00 is allowed
    assert device().publish(topic, b"", qos=1) in (0, 0x10)


def test_unsubscribing_from_nothing_is_reported(device, topic):
    # 3.11.3: 0x11 No subscription existed
    asking = device()
    asking.subscribe(topic)
    assert asking.unsubscribe(topic, topic) == [0x00, 0x11]


@pytest.mark.parametrize("wrong", ["a/#/b", "a#", "a+", "+a/b", ""])
def test_a_malformed_filter_is_refused(device, wrong):
    # [MQTT-4.7.1-1], [MQTT-4.7.1-2], [MQTT-4.7.3-1]: SUBACK 0x8F, or DISCONNECT 0x81, 0x82 or 0x8F
    assert device().subscribe_to_anything(wrong) in (0x81, 0x82, 0x8F)


def test_enhanced_authentication_that_nobody_offers_is_refused(device):
    # [MQTT-4.12.0-1]: 0x8C Bad authentication method
    asking = device(connect=False)
    with pytest.raises(Refused) as refusal:
        asking.connect(AuthenticationMethod="SCRAM-SHA-256", AuthenticationData=b"n,,n=u,r=x")
    assert refusal.value.code == 0x8C


def test_messages_expire_by_the_time_they_spent_here(device, topic):
    # [MQTT-3.3.2-6]: what is delivered at once keeps its interval
    reader, writer = device(), device()
    reader.subscribe(topic, qos=1)
    writer.publish(topic, b"x", qos=1, MessageExpiryInterval=100)
    assert reader.take().properties.MessageExpiryInterval in (99, 100)
