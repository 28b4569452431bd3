//! The topic: made as it must be, or refused with all that is wrong.

use stadium_journal_kafka::{Error, Replication, Settings, make_or_check, topic_name};
use stadium_testing::kafka::Listener;
use stadium_testing::ports;

use crate::stage::{self, brokers};

/// The settings that a topic is made with, as the brokers show them.
const WANTED: &[(&str, &str)] = &[
    ("min.insync.replicas", "2"),
    ("unclean.leader.election.enable", "false"),
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.bytes", "-1"),
    ("max.message.bytes", "17825792"),
    ("compression.type", "producer"),
    ("message.timestamp.type", "LogAppendTime"),
    ("segment.bytes", "134217728"),
];

#[test]
fn a_topic_is_made_once_with_its_settings() {
    let kafka = brokers();
    let settings = Settings::new(kafka.bootstrap(Listener::Plain), "made");
    let made = make_or_check(&settings, 5, Replication::Three).expect("a topic");
    // Kafka 4.1 keeps eligible leader replicas, and the test's brokers fail over in 2 s.
    assert_eq!((made.is_made, made.warnings), (true, vec![]));
    let again = make_or_check(&settings, 5, Replication::Three).expect("it is as it must be");
    assert!(!again.is_made);
    let shown = kafka
        .tool("org.apache.kafka.tools.TopicCommand", &["--describe", "--topic", &settings.topic()])
        .expect("a description");
    assert!(shown.contains("PartitionCount: 5\tReplicationFactor: 3"), "{shown}");
    for (setting, value) in WANTED {
        assert!(shown.contains(&format!("{setting}={value}")), "{setting}: {shown}");
    }
}

#[test]
fn each_wrong_setting_is_named_with_what_mends_it() {
    let kafka = brokers();
    let bad = [
        ("min.insync.replicas", "1"),
        ("unclean.leader.election.enable", "true"),
        ("cleanup.policy", "compact"),
        ("retention.ms", "604800000"),
        ("retention.bytes", "1073741824"),
        ("max.message.bytes", "1048588"),
        ("compression.type", "gzip"),
        ("message.timestamp.type", "CreateTime"),
        ("segment.bytes", "16777216"),
    ];
    let with = |but: Option<(&'static str, &'static str)>| {
        let value = |(setting, value): &(&'static str, &'static str)| match but {
            Some((bad, instead)) if bad == *setting => (*setting, instead),
            _ => (*setting, *value),
        };
        WANTED.iter().map(value).collect::<Vec<_>>()
    };
    let name = |number: usize| topic_name(&format!("wrong-{number}"));
    let mut topics: Vec<_> =
        (0..).zip(bad).map(|(number, bad)| (name(number), 2, 3, with(Some(bad)))).collect();
    let (few_partitions, few_replicas, all) = (topics.len(), topics.len() + 1, topics.len() + 2);
    topics.push((name(few_partitions), 1, 3, with(None)));
    topics.push((name(few_replicas), 2, 2, with(None)));
    topics.push((name(all), 3, 1, bad.to_vec()));
    stage::make(&kafka, &topics);

    let check = |number: usize| {
        let settings = Settings::new(kafka.bootstrap(Listener::Plain), &format!("wrong-{number}"));
        make_or_check(&settings, 2, Replication::Three)
    };
    let wrong = |number| match check(number) {
        Err(Error::Wrong { wrong, .. }) => wrong,
        other => panic!("topic {number}: {other:?}"),
    };
    for (number, (setting, value)) in bad.into_iter().enumerate() {
        let [only] = &wrong(number)[..] else { panic!("{setting} alone: {:?}", wrong(number)) };
        assert_eq!((&only.setting[..], &only.found[..]), (setting, value));
        assert!(only.mend.contains(&format!("--add-config {setting}=")), "{}", only.mend);
    }
    let [partitions] = &wrong(few_partitions)[..] else { panic!("{:?}", wrong(few_partitions)) };
    assert_eq!((&partitions.setting[..], &partitions.found[..]), ("partitions", "1"));
    let [replicas] = &wrong(few_replicas)[..] else { panic!("{:?}", wrong(few_replicas)) };
    assert_eq!((&replicas.setting[..], &replicas.found[..]), ("replicas", "2"));
    let error = check(all).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1 + bad.len() + 2, "{error}");
    assert!(error.starts_with("topic stadium.wrong-11.log cannot hold the log (KFK-008)\n"), "{error}");

    // The command that is named mends it.
    let mend = wrong(0).remove(0).mend;
    let arguments: Vec<_> = mend.split(' ').skip(3).collect();
    assert!(mend.starts_with("kafka-configs.sh --bootstrap-server "), "{mend}");
    kafka.tool("kafka.admin.ConfigCommand", &arguments).expect("it runs");
    check(0).expect("it is mended");
}

#[test]
fn brokers_that_are_not_there_are_named() {
    let nobody = ports::free().expect("a port");
    let settings = Settings::new(vec![nobody.to_string()], "away");
    let Err(Error::Failed(failure)) = make_or_check(&settings, 1, Replication::Three) else {
        panic!("nobody is there")
    };
    assert!(failure.is_temporary, "{failure}");
    assert!(failure.what.contains(&nobody.to_string()) && failure.what.contains("(KFK-002)"), "{failure}");
}
