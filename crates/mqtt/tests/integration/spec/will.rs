//! Sections 3.1.2.5, 3.1.3.2 and 3.14.4: wills.

use crate::spec::support::*;

fn with_watcher() -> (Stage, Link) {
    let mut stage = Stage::new();
    let watcher = stage.client("watcher", V5);
    let as_published = SubscriptionOptions { retain_as_published: true, ..options(ExactlyOnce) };
    stage.subscribe_as(watcher, "gone", as_published, None);
    (stage, watcher)
}

/// [MQTT-3.1.2-7] [MQTT-3.1.2-8] [3.1.1 MQTT-3.1.2-8]
#[test]
fn a_will_is_published_when_its_connection_breaks() {
    for version in BOTH {
        for qos in [AtMostOnce, AtLeastOnce, ExactlyOnce] {
            let (mut stage, watcher) = with_watcher();
            let link = stage
                .connect(Connect { will: Some(Will { qos, ..will("gone", b"w") }), ..clean("c", version) });
            assert_eq!(stage.messages(watcher), []);
            stage.server.cut(link);
            let heard = stage.messages(watcher);
            assert_eq!(heard.iter().map(|m| (m.payload, m.qos)).collect::<Vec<_>>(), [(&b"w"[..], qos)]);
        }
    }
}

/// [MQTT-3.1.2-8]
#[test]
fn a_delayed_will_waits_for_its_delay_or_the_end_of_its_session() {
    for (delay_s, expiry_s, due_s) in [(10, 600, 10), (600, 20, 20), (10, 0, 0)] {
        let (mut stage, watcher) = with_watcher();
        let link = stage.connect(Connect {
            session_expiry_s: Some(expiry_s),
            will: Some(Will { delay_s, ..will("gone", b"w") }),
            ..clean("c", V5)
        });
        stage.server.cut(link);
        if due_s > 0 {
            stage.server.advance_ms(due_s * 1000 - 1);
            assert_eq!(stage.messages(watcher), []);
        }
        stage.server.advance_ms(1);
        assert_eq!(stage.payloads(watcher), ["w"]);
    }
}

/// [MQTT-3.1.2-10] [3.1.1 MQTT-3.1.2-10]
#[test]
fn a_will_is_published_once() {
    for version in BOTH {
        let (mut stage, watcher) = with_watcher();
        let link = stage.connect(Connect { will: Some(will("gone", b"w")), ..staying("c", version) });
        stage.server.cut(link);
        assert_eq!(stage.payloads(watcher), ["w"]);
        let link = stage.connect(staying("c", version));
        stage.server.cut(link);
        stage.server.advance_ms(25 * 3600 * 1000);
        assert_eq!(stage.messages(watcher), []);
    }
}

/// [3.1.1 MQTT-3.1.2-12]
#[test]
fn without_a_will_flag_nothing_is_published() {
    let (mut stage, watcher) = with_watcher();
    let link = stage.client("c", V311);
    stage.server.cut(link);
    assert_eq!(stage.messages(watcher), []);
}

/// [MQTT-3.1.2-14] [MQTT-3.1.2-15] [3.1.1 MQTT-3.1.2-16] [3.1.1 MQTT-3.1.2-17]
#[test]
fn a_will_is_retained_if_it_says_so() {
    for version in BOTH {
        for retain in [false, true] {
            let (mut stage, watcher) = with_watcher();
            let link = stage.connect(Connect {
                will: Some(Will { retain, ..will("gone", b"w") }),
                ..clean("c", version)
            });
            stage.server.cut(link);
            assert_eq!(stage.messages(watcher)[0].retain, retain);
            let late = stage.client("late", V5);
            let (_, retained) = stage.subscribe_as(late, "gone", options(AtMostOnce), None);
            assert_eq!(retained.len(), usize::from(retain));
        }
    }
}

/// [MQTT-3.1.3-9]
#[test]
fn a_client_back_within_the_delay_has_its_will_withdrawn() {
    let (mut stage, watcher) = with_watcher();
    let link =
        stage.connect(Connect { will: Some(Will { delay_s: 30, ..will("gone", b"w") }), ..staying("c", V5) });
    stage.server.cut(link);
    stage.server.advance_ms(29_000);
    stage.connect(staying("c", V5));
    stage.server.advance_ms(60_000);
    assert_eq!(stage.messages(watcher), []);
}

/// [MQTT-3.1.3-10]
#[test]
fn the_user_properties_of_a_will_keep_their_order() {
    let (mut stage, watcher) = with_watcher();
    let mut words = UserPropertiesBuffer::default();
    for (name, value) in [("z", "1"), ("a", "2"), ("z", "0"), ("a", "1")] {
        words.push(name, value);
    }
    let properties = PublishProperties {
        content_type: Some("text/plain"),
        user_properties: words.properties(),
        ..PublishProperties::default()
    };
    let link =
        stage.connect(Connect { will: Some(Will { properties, ..will("gone", b"w") }), ..clean("c", V5) });
    stage.server.cut(link);
    let heard = stage.messages(watcher);
    assert_eq!(heard[0].properties.user_properties, words.properties());
    assert_eq!(heard[0].properties.content_type, Some("text/plain"));
}

/// [MQTT-3.14.4-3] [3.1.1 MQTT-3.14.4-3]
#[test]
fn a_client_that_says_goodbye_leaves_no_will() {
    for version in BOTH {
        let (mut stage, watcher) = with_watcher();
        let link = stage.connect(Connect { will: Some(will("gone", b"w")), ..clean("c", version) });
        stage.say(link, Packet::Disconnect(Disconnect::default()));
        assert_eq!(stage.server.close_reason(link), Some(Close::Asked));
        stage.server.advance_ms(3_600_000);
        assert_eq!(stage.messages(watcher), []);
    }
    // Unless it asks for its will.
    let (mut stage, watcher) = with_watcher();
    let link = stage.connect(Connect { will: Some(will("gone", b"w")), ..clean("c", V5) });
    stage.say(
        link,
        Packet::Disconnect(Disconnect { reason: ReasonCode::DisconnectWithWill, ..Disconnect::default() }),
    );
    assert_eq!(stage.payloads(watcher), ["w"]);
}
