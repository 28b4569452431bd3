//! The settings that the topic must have, and how each is mended.
//!
//! docs/kafka.md says why. A topic is made with the same table that it is checked with.

use super::requests::Topic;
use crate::settings::BATCH_BYTES_MAX;

/// A setting of the topic that must be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// Its name.
    pub setting: String,
    /// Its value.
    pub found: String,
    /// The value that it must have.
    pub wanted: String,
    /// The command that changes it, from Kafka's own folder.
    pub mend: String,
}

/// The values that a setting may have.
enum Wanted {
    Exactly(&'static str),
    /// A number within these bounds; a topic is made with the first.
    Within(u64, u64),
}

/// A topic is trimmed by whole segments. Kafka's default of 1 GiB would hold a TiB for 1,024 shards;
/// a segment must have room for the largest batch.
const SEGMENT_BYTES: u64 = 128 * 1024 * 1024;

/// Name and values of each setting.
fn wanted(replication: i16) -> Vec<(&'static str, Wanted)> {
    let replicas = u64::from(replication.unsigned_abs());
    vec![
        ("min.insync.replicas", Wanted::Within(replicas.min(2), replicas.max(2))),
        ("unclean.leader.election.enable", Wanted::Exactly("false")),
        ("cleanup.policy", Wanted::Exactly("delete")),
        ("retention.ms", Wanted::Exactly("-1")),
        ("retention.bytes", Wanted::Exactly("-1")),
        ("max.message.bytes", Wanted::Within(BATCH_BYTES_MAX as u64, u64::MAX)),
        ("compression.type", Wanted::Exactly("producer")),
        // The broker's clock: it refuses messages of a node whose clock is an hour ahead otherwise.
        ("message.timestamp.type", Wanted::Exactly("LogAppendTime")),
        ("segment.bytes", Wanted::Within(SEGMENT_BYTES, 8 * SEGMENT_BYTES)),
    ]
}

impl Wanted {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Exactly(wanted) => value == *wanted,
            Self::Within(least, most) => {
                value.parse::<u64>().is_ok_and(|value| (least..=most).contains(&&value))
            }
        }
    }

    /// The value that it is made with or mended to.
    fn value(&self) -> String {
        match self {
            Self::Exactly(wanted) => (*wanted).to_owned(),
            Self::Within(least, _) => least.to_string(),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Within(least, most) if least == most => least.to_string(),
            Self::Within(least, u64::MAX) => format!("at least {least}"),
            Self::Within(least, most) => format!("{least} to {most}"),
            Self::Exactly(wanted) => (*wanted).to_owned(),
        }
    }
}

/// The settings that a topic is made with.
pub(super) fn to_make(replication: i16) -> Vec<(&'static str, String)> {
    wanted(replication).into_iter().map(|(name, wanted)| (name, wanted.value())).collect()
}

/// All that is wrong with a topic.
pub(super) fn wrong(
    bootstrap: &str,
    name: &str,
    topic: &Topic,
    values: &[(String, String)],
    shards: u32,
    replication: i16,
) -> Vec<Wrong> {
    let mut found = Vec::new();
    let mut add = |setting: &str, value: String, wanted: String, mend: String| {
        found.push(Wrong { setting: setting.to_owned(), found: value, wanted, mend });
    };
    let partitions = topic.partitions.len();
    if partitions != shards as usize {
        let mend = match partitions < shards as usize {
            true => format!(
                "kafka-topics.sh --bootstrap-server {bootstrap} --alter --topic {name} --partitions {shards}"
            ),
            false => "partitions cannot be taken away: the number of shards is another than when the \
                      cluster was made"
                .to_owned(),
        };
        add("partitions", partitions.to_string(), shards.to_string(), mend);
    }
    let replicas = topic.partitions.iter().map(|partition| partition.replicas).min().unwrap_or(0);
    if replicas < usize::from(replication.unsigned_abs()) {
        let mend = format!(
            "kafka-reassign-partitions.sh --bootstrap-server {bootstrap} --execute \
             --reassignment-json-file FILE, where FILE lists {replication} brokers for each partition"
        );
        add("replicas", replicas.to_string(), format!("at least {replication}"), mend);
    }
    for (setting, wanted) in wanted(replication) {
        let value = values.iter().find(|(name, _)| name == setting).map(|(_, value)| value.as_str());
        if !value.is_some_and(|value| wanted.holds(value)) {
            let mend = format!(
                "kafka-configs.sh --bootstrap-server {bootstrap} --alter --entity-type topics \
                 --entity-name {name} --add-config {setting}={}",
                wanted.value()
            );
            add(setting, value.unwrap_or("not shown").to_owned(), wanted.shown(), mend);
        }
    }
    found
}

/// Sentences about settings of a broker that slow the log down or are too narrow for it.
pub(super) fn broker_warnings(id: i32, values: &[(String, String)]) -> Vec<String> {
    let value = |setting: &str| {
        values.iter().find(|(name, _)| name == setting).and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let mut warnings = Vec::new();
    /// Longest pause of a partition after its broker died that a cluster should live with.
    const SESSION_MS_MAX: u64 = 3000;
    if let Some(session) = value("broker.session.timeout.ms").filter(|session| *session > SESSION_MS_MAX) {
        warnings.push(format!(
            "broker {id} has broker.session.timeout.ms={session}: the partitions of a broker that dies pause \
             for so long; 2000 is advised, with broker.heartbeat.interval.ms=500"
        ));
    }
    if let Some(most) = value("socket.request.max.bytes").filter(|most| *most < 2 * BATCH_BYTES_MAX as u64) {
        warnings.push(format!(
            "broker {id} has socket.request.max.bytes={most}: the longest messages do not fit"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::{broker_warnings, to_make, wrong};
    use crate::admin::requests::{PartitionState, Topic};

    fn topic(partitions: usize, replicas: usize) -> Topic {
        let partition = |_| PartitionState { has_leader: true, replicas, in_sync: replicas };
        Topic { partitions: (0..partitions).map(partition).collect() }
    }

    #[test]
    fn a_topic_as_it_is_made_has_nothing_wrong() {
        for replication in [1, 2, 3] {
            let made = to_make(replication);
            let values: Vec<_> = made.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            let replicas = usize::from(replication.unsigned_abs());
            assert_eq!(wrong("a:1", "t", &topic(4, replicas), &values, 4, replication), []);
            let few = wrong("a:1", "t", &topic(4, replicas - 1), &values, 5, replication);
            let settings: Vec<_> = few.iter().map(|wrong| wrong.setting.as_str()).collect();
            assert_eq!(settings, ["partitions", "replicas"]);
        }
    }

    #[test]
    fn a_setting_that_is_not_shown_is_wrong() {
        let found = wrong("a:1", "t", &topic(1, 3), &[], 1, 3);
        assert_eq!(found.len(), to_make(3).len());
        assert!(found.iter().all(|wrong| wrong.found == "not shown"), "{found:?}");
    }

    #[test]
    fn slow_and_narrow_brokers_are_warned_of() {
        let values = |session: &str, most: &str| {
            vec![
                ("broker.session.timeout.ms".to_owned(), session.to_owned()),
                ("socket.request.max.bytes".to_owned(), most.to_owned()),
            ]
        };
        assert!(broker_warnings(1, &values("2000", "104857600")).is_empty());
        assert_eq!(broker_warnings(1, &values("9000", "1048576")).len(), 2);
    }
}
