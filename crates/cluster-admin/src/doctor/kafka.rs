//! Kafka: the brokers, their racks, and the topic.

use std::collections::BTreeSet;

use stadium_journal_kafka::{BrokerState, Inspection, Replication, TopicState, Wrong, inspect};

use super::check::{Area, Findings};
use crate::admin::Settings;

/// Looks at Kafka. `shards` is unknown where the cluster's key is.
pub(super) fn examine(settings: &Settings, shards: Option<u32>, findings: &mut Findings) {
    let Inspection { brokers, topic, warnings } =
        match inspect(&settings.kafka, shards.unwrap_or(1), settings.replication) {
            Ok(inspection) => inspection,
            Err(error) => {
                let error = error.to_string();
                let remedy = remedy(&error);
                return findings.problem(Area::Kafka, error, remedy);
            }
        };
    examine_brokers(&brokers, settings.replication, findings);
    for warning in warnings {
        findings.warning(Area::Kafka, warning, "see the settings of brokers in docs/kafka.md");
    }
    match topic {
        Some(topic) => examine_topic(topic, shards, findings),
        None => findings.problem(
            Area::Kafka,
            format_args!("there is no topic {}", settings.kafka.topic()),
            match shards {
                None => "if the cluster was not made yet, `stadium cluster init` makes both",
                Some(_) => {
                    "if it was deleted, its records are gone: keep the nodes' data, and stop them before you \
                     make another topic"
                }
            },
        ),
    }
}

/// The remedy for a failure with a code, where there is a better one than its section.
fn remedy(failure: &str) -> &'static str {
    let remedies = [
        (
            "(KFK-002)",
            "start the brokers, or correct cluster.kafka.brokers; each broker's advertised.listeners must be an \
             address that this machine reaches",
        ),
        (
            "(KFK-003)",
            "correct cluster.kafka.ca, certificate and key; see docs/kafka.md for the brokers' side",
        ),
        (
            "(KFK-004)",
            "correct cluster.kafka.sasl, cluster.kafka.user and cluster.kafka.password_file, or give the user this \
             password with kafka-configs.sh",
        ),
        ("(KFK-005)", "grant the user the rights of docs/kafka.md#rights with kafka-acls.sh"),
        ("(KFK-010)", "see whether the brokers run, their disks and the network"),
    ];
    let of_code = remedies.iter().find(|(code, _)| failure.contains(code));
    let section = "see docs/reference/errors/kafka.md, and cluster.kafka in the configuration file";
    of_code.map_or(section, |(_, remedy)| remedy)
}

fn examine_brokers(brokers: &[BrokerState], replication: Replication, findings: &mut Findings) {
    for BrokerState { id, address, rack, answered } in brokers {
        match answered {
            Ok(took) => {
                let rack = rack.as_ref().map(|rack| format!(", rack {rack}")).unwrap_or_default();
                findings
                    .ok(Area::Kafka, format_args!("broker {id} at {address}{rack}, answered in {took:.1?}"));
            }
            Err(why) => findings.problem(
                Area::Kafka,
                format_args!("broker {id} at {address} does not answer: {why}"),
                "start this broker: the next one that is lost may stop the shards",
            ),
        }
    }
    let alive = brokers.iter().filter(|broker| broker.answered.is_ok()).count();
    if replication != Replication::Three {
        findings.warning(
            Area::Kafka,
            "the settings allow fewer than three replicas of a partition",
            "run three brokers and set cluster.kafka.replication = 3",
        );
    } else if alive < 3 {
        findings.problem(
            Area::Kafka,
            format_args!("{alive} broker(s) answer, and three are needed"),
            "run three brokers in three zones",
        );
    }
    let racks: BTreeSet<&str> = brokers.iter().filter_map(|broker| broker.rack.as_deref()).collect();
    let named = brokers.iter().filter(|broker| broker.rack.is_some()).count();
    if brokers.len() > 1 && (named < brokers.len() || racks.len() < brokers.len().min(3)) {
        let (remedy, count) = ("set broker.rack on each broker, in three zones", brokers.len());
        let finding =
            format!("{named} of {count} brokers name a rack, {} in all: replicas may share one", racks.len());
        findings.warning(Area::Kafka, finding, remedy);
    }
}

fn examine_topic(topic: TopicState, shards: Option<u32>, findings: &mut Findings) {
    let TopicState { name, partitions, without_leader, out_of_sync, wrong } = topic;
    // How many partitions are right is known only with the cluster's key.
    let is_known = |wrong: &Wrong| shards.is_some() || wrong.setting != "partitions";
    let wrong: Vec<Wrong> = wrong.into_iter().filter(is_known).collect();
    if wrong.is_empty() {
        findings.ok(
            Area::Kafka,
            format_args!("topic {name}, {partitions} partitions, with the settings that it must have"),
        );
    }
    for Wrong { setting, found, wanted, mend } in wrong {
        findings.problem(
            Area::Kafka,
            format_args!("topic {name}: {setting} is {found}, and must be {wanted}"),
            mend,
        );
    }
    if without_leader > 0 {
        findings.problem(
            Area::Kafka,
            format_args!(
                "{without_leader} of {partitions} partitions have no leader: their shards stand still"
            ),
            "start the brokers that are away",
        );
    }
    if out_of_sync > 0 {
        findings.warning(
            Area::Kafka,
            format_args!("{out_of_sync} of {partitions} partitions have replicas that are not in sync"),
            "wait until the brokers have caught up, or start those that are away",
        );
    }
}
