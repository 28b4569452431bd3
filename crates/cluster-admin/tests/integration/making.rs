//! `init`, and what is refused.

use std::time::{Duration, Instant};

use stadium_cluster_admin::{Area, Error, NewCluster, Verdict};
use stadium_membership::Error as Membership;
use stadium_testing::etcd;

use crate::fixture::{admin, node, settings};

const NEW: NewCluster = NewCluster { shards: 4, id: None };

#[test]
fn a_cluster_is_made_once_and_again_by_its_id() {
    let etcd = etcd::Cluster::start(1);
    let settings = settings("made", &etcd);
    let mut admin = admin(&settings);
    let Err(Error::Membership(Membership::Missing(why))) = admin.status() else { panic!("nothing was made") };
    assert!(why.contains("\"made\"") && why.contains(&etcd.endpoints()[0]), "{why}");

    let made = admin.init(NEW).expect("a cluster");
    assert_eq!((made.cluster.shards, made.is_topic_made), (4, true));
    let key = etcd.key("/stadium/made/cluster").expect("the key").value;
    assert!(key.contains(&String::from(made.cluster.id)), "{key}");

    let refused = admin.init(NEW).expect_err("it exists").to_string();
    let id = String::from(made.cluster.id);
    assert!(
        refused.contains(&id) && refused.contains("4 shards") && refused.contains("CLU-102"),
        "{refused}"
    );
    assert_eq!(etcd.key("/stadium/made/cluster").expect("the key").value, key);

    // No node is there: nothing is served, and each shard is named.
    let status = admin.status().expect("a status");
    assert!(!status.is_healthy && status.nodes.is_empty());
    assert_eq!((status.without_owner.len(), status.owners.len()), (4, 4));

    // etcd lost it. Another number of shards does not fit the topic, and writes nothing.
    etcd.delete("/stadium/made/cluster");
    let refused = admin.init(NewCluster { shards: 5, ..NEW }).expect_err("the topic has 4 partitions");
    assert!(refused.to_string().contains("KFK-008"), "{refused}");
    assert!(etcd.key("/stadium/made/cluster").is_none());
    let again = admin.init(NewCluster { id: Some(made.cluster.id), ..NEW }).expect("a cluster");
    assert_eq!((again.cluster.id, again.is_topic_made), (made.cluster.id, false));
    assert!(!again.warnings.iter().any(|warning| warning.contains("existed")), "{:?}", again.warnings);
}

#[test]
fn a_topic_of_a_former_cluster_is_warned_of() {
    let etcd = etcd::Cluster::start(1);
    let mut admin = admin(&settings("former", &etcd));
    admin.init(NEW).expect("a cluster");
    etcd.delete("/stadium/former/cluster");
    let again = admin.init(NEW).expect("a cluster with another id");
    assert!(again.warnings.iter().any(|warning| warning.contains("former id")), "{:?}", again.warnings);
}

#[test]
fn an_etcd_that_is_away_is_named_soon() {
    let mut etcd = etcd::Cluster::start(1);
    let settings = settings("away", &etcd);
    let endpoint = etcd.endpoints()[0].clone();
    // Connections are taken and never answered; then they are refused.
    etcd.pause(0);
    let mut admin = admin(&settings);
    let asked = Instant::now();
    let Err(Error::Membership(Membership::Away(why))) = admin.nodes() else { panic!("it is stopped") };
    assert!(why.contains(&endpoint), "{why}");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    etcd.kill(0);
    let Err(Error::Membership(Membership::Away(why))) = admin.drain(&node("a"), None) else {
        panic!("it is gone")
    };
    assert!(why.contains(&endpoint), "{why}");

    let report = admin.examine().expect("a report");
    let is_problem = |area| {
        let of = report.checks.iter().filter(move |one| (one.area, one.verdict) == (area, Verdict::Problem));
        of.map(|check| check.finding.as_str()).collect::<Vec<_>>()
    };
    let ([member], [topic]) = (&is_problem(Area::Etcd)[..], &is_problem(Area::Kafka)[..]) else {
        panic!("{:#?}", report.checks)
    };
    assert!(member.contains(&endpoint) && topic.contains("stadium.away.log"), "{member} {topic}");
    assert_eq!(report.problems, 2);
}
