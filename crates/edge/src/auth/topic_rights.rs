//! The right that each use of a topic asks for: the table of the MQTT door.

/// Uses of topics by devices, each with the right that the rules must grant.
///
/// A name in braces stands for a part of the packet. In a SUBSCRIBE it is the filter, that of a
/// shared subscription without its `$share/GROUP/`.
pub const TOPIC_RIGHTS: &[(&str, &str)] = &[
    ("PUBLISH without RETAIN", "stream.publish:{topic}"),
    ("PUBLISH with RETAIN", "stream.retain:{topic}"),
    ("Will without Will Retain", "stream.publish:{topic}"),
    ("Will with Will Retain", "stream.retain:{topic}"),
    ("SUBSCRIBE", "stream.subscribe:{filter}"),
    ("SUBSCRIBE to `$share/GROUP/FILTER`", "stream.subscribe:{filter}"),
    ("delivery of a message", "stream.subscribe:{topic}"),
    ("delivery of a retained message", "stream.subscribe:{topic}"),
    ("delivery of a message that a session kept", "stream.subscribe:{topic}"),
    ("PUBLISH to `rpc/SERVICE/METHOD`", "stream.publish:rpc/{service}/{method}"),
    ("answer to a request", "stream.subscribe:{response topic}"),
    ("PUBLISH to `me/REQUEST`, unless a rule denies it", "stream.publish:me/{request}"),
];
