//! Section 4.7: topic names and topic filters.

use crate::spec::support::*;

fn reaches(version: Version, filter: &str, topic: &str) -> bool {
    let mut stage = Stage::new();
    let link = stage.client("c", version);
    assert!(stage.subscribe(link, filter, AtMostOnce) < 0x80, "{filter}");
    stage.somebody_publishes(topic, "x", AtMostOnce);
    let heard = !stage.messages(link).is_empty();
    // A retained message is found by the same rule.
    let source = stage.client("source", V5);
    stage.retain(source, topic, "x");
    let late = stage.client("late", version);
    let (_, retained) = stage.subscribe_as(late, filter, options(AtMostOnce), None);
    assert_eq!(!retained.is_empty(), heard, "retained: {filter} {topic}");
    heard
}

/// [MQTT-4.7.1-1] [MQTT-4.7.1-2] [3.1.1 MQTT-4.7.1-2] [3.1.1 MQTT-4.7.1-3]
#[test]
fn misplaced_wildcards_are_refused() {
    for version in BOTH {
        for filter in ["a#", "a/#/b", "#/", "##", "a+", "+a", "a/+b/c", "a/+#"] {
            let mut stage = Stage::new();
            let link = stage.client("c", version);
            stage.say_subscribe(link, 1, &[(filter, options(AtMostOnce))], None);
            match version {
                V311 => stage.assert_refused(link, ReasonCode::MalformedPacket),
                V5 => {
                    let Packet::Suback(suback) = stage.hear_one(link) else { panic!("no SUBACK") };
                    assert_eq!(suback.reasons, [ReasonCode::TopicFilterInvalid as u8]);
                }
            }
        }
    }
}

/// [MQTT-4.7.1-1] [MQTT-4.7.1-2] [3.1.1 MQTT-4.7.1-2] [3.1.1 MQTT-4.7.1-3]
#[test]
fn wildcards_select_as_the_specification_says() {
    for (filter, topic, expected) in [
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
        ("sport/#", "sport", true),
        ("#", "sport/tennis", true),
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false),
        ("sport/+", "sport/", true),
        ("+/+", "/finance", true),
        ("/+", "/finance", true),
        ("+", "/finance", false),
        ("+/tennis/#", "sport/tennis", true),
        ("a/+/c/#", "a/b/c", true),
        ("a/+/c/#", "a/b/d", false),
    ] {
        for version in BOTH {
            assert_eq!(reaches(version, filter, topic), expected, "{filter} {topic}");
        }
    }
}

/// [MQTT-4.7.2-1] [3.1.1 MQTT-4.7.2-1]
#[test]
fn a_leading_wildcard_selects_no_topic_that_starts_with_a_dollar() {
    for (filter, topic, expected) in [
        ("#", "$any/uptime", false),
        ("+/uptime", "$any/uptime", false),
        ("+/#", "$any/uptime", false),
        ("$any/#", "$any/uptime", true),
        ("$any/+", "$any/uptime", true),
        ("a/#", "a/$SYS", true),
    ] {
        assert_eq!(reaches(V5, filter, topic), expected, "{filter} {topic}");
    }
}

/// [MQTT-4.7.3-1] [3.1.1 MQTT-4.7.3-1]
#[test]
fn topics_and_filters_have_at_least_one_character() {
    for version in BOTH {
        let mut stage = Stage::new();
        let link = stage.client("c", version);
        stage.publish(link, "", "x");
        stage.assert_refused(link, ReasonCode::ProtocolError);
        let link = stage.client("d", version);
        stage.say_subscribe(link, 1, &[("", options(AtMostOnce))], None);
        match version {
            V311 => stage.assert_refused(link, ReasonCode::MalformedPacket),
            V5 => {
                let Packet::Suback(suback) = stage.hear_one(link) else { panic!("no SUBACK") };
                assert_eq!(suback.reasons, [ReasonCode::TopicFilterInvalid as u8]);
            }
        }
    }
}

/// [MQTT-4.7.3-3] [3.1.1 MQTT-4.7.3-3]
#[test]
fn the_longest_topic_is_65535_bytes() {
    for version in BOTH {
        let topic = "x".repeat(65_535);
        assert!(reaches(version, &topic, &topic));
    }
}

/// [MQTT-4.7.3-4] [3.1.1 MQTT-4.7.3-4]
#[test]
fn topics_are_compared_byte_by_byte() {
    for (filter, topic) in [
        ("ACCOUNTS", "Accounts"),
        ("a//b", "a/b"),
        ("a/b/", "a/b"),
        ("/a", "a"),
        ("\u{E9}", "e\u{301}"),
        ("a b", "a  b"),
    ] {
        for version in BOTH {
            assert!(!reaches(version, filter, topic), "{filter} {topic}");
            assert!(reaches(version, filter, filter));
        }
    }
}
