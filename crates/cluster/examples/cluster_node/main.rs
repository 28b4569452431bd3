//! A node of a cluster as a process, for tests that kill and stop it:
//! `node NAME ETCD,.. BROKER,.. FOLDER CLUSTER SHARDS LISTEN CERTIFICATE KEY AUTHORITY [STORE]`.
//!
//! It reads requests from its input, each a line of a number and one of `serves`, `checkpoint`,
//! `archive`, `drain` or those of [`asks`]. It answers each by a line `NUMBER ok ..`, `NUMBER busy CODE`
//! or `NUMBER unknown CODE`, in any order. It ends with its input. `RUST_LOG` sets what it logs to its
//! stderr.

mod asks;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stadium_cluster::{ArchiveSettings, ClusterNode, LinkSettings, NodeSettings};
use stadium_journal::Options;
use stadium_journal_kafka::{Client, Settings as KafkaSettings, open};
use stadium_links::TlsSettings;
use stadium_membership::{Cluster, ClusterId, Formats, Node, Settings as PlannerSettings, Shard, Versions};
use stadium_membership_etcd::{Access, Config};
use stadium_shard::{Settings, Shards};

use self::asks::ANSWERED_WITHIN;

fn main() {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().unwrap_or_else(|| panic!("give {what}"));
    let name = next("a name");
    let list = |text: String| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let (etcd, brokers) = (list(next("members of etcd")), list(next("brokers")));
    let folder = PathBuf::from(next("a folder"));
    let cluster = next("the name of the cluster");
    let count: u16 = next("the number of shards").parse().expect("a number");
    let topic = open(Client::ALL[0], &KafkaSettings::new(brokers, &cluster), count.into()).expect("a topic");
    let mut settings = Settings::in_directory(folder.join("data"), count);
    settings.journal = mirror();
    let shards = Shards::open_none(settings).expect("threads");
    let listen: SocketAddr = next("where it listens for nodes").parse().expect("an address");
    let [certificate, key, authority] = ["a certificate", "its key", "an authority"]
        .map(|what| std::fs::read(next(what)).unwrap_or_else(|why| panic!("{what}: {why}")));
    let tls = TlsSettings::from_pem(&certificate, &key, &authority).expect("they fit");
    let links = Some(LinkSettings { listen, tls, loops: 1, tracer: stadium_telemetry::Tracer::off() });
    let archive = arguments.next().map(ArchiveSettings::new);
    let membership = config(&name, listen, etcd, cluster, count);
    let settings = NodeSettings { membership, folder, mirror: mirror(), archive, links };
    let node = Arc::new(parking_lot::Mutex::new(Some(
        ClusterNode::start(settings, &shards, topic).expect("a node"),
    )));
    for line in std::io::stdin().lines() {
        let line = line.expect("text");
        let (shards, node) = (shards.clone(), Arc::clone(&node));
        // A shard that pauses must not hold up requests to others.
        std::thread::spawn(move || {
            let (number, request) = line.split_once(' ').expect("a number and a request");
            let words: Vec<&str> = request.split(' ').collect();
            let answer = match words[..] {
                ["serves"] => node
                    .lock()
                    .as_ref()
                    .map_or_else(String::new, |node| format!("ok {} {}", node.serves(), node.is_certain())),
                ["checkpoint"] => {
                    shards.checkpoint_soon();
                    "ok".to_owned()
                }
                ["archive"] => format!("ok {}", node.lock().as_ref().map_or_else(String::new, archive_of)),
                ["drain"] => {
                    let node = node.lock().take().expect("a node that was not drained");
                    format!("ok {}", node.drain(Duration::from_secs(30)))
                }
                _ => asks::ask(&shards, &words).unwrap_or_else(|| panic!("{line:?} is no request")),
            };
            writeln!(std::io::stdout(), "{number} {answer}").expect("somebody reads the answer");
        });
    }
    drop(node.lock().take());
    shards.stop(ANSWERED_WITHIN);
}

/// Words `SHARD:TRIMMED:FAILS` of the shards that the node serves, where it has stored or tried to.
fn archive_of(node: &ClusterNode) -> String {
    let figures = node.archive().unwrap_or_default();
    let serves = node.serves();
    let mut words = Vec::new();
    for (shard, figures) in
        figures.shards.iter().filter(|(shard, _)| serves.contains(Shard((**shard).into())))
    {
        let trimmed = figures.trimmed.map_or(0, |position| position.0);
        let fails = figures.error.is_some() && figures.behind_since.is_some();
        words.push(format!("{shard}:{trimmed}:{fails}"));
    }
    words.join(" ")
}

fn mirror() -> Options {
    Options {
        segment_bytes: 1 << 20,
        reserve_bytes: 256 << 10,
        record_bytes_max: 256 << 10,
        waiting_bytes_max: 512 << 10,
        tail_bytes: 1 << 20,
        ..Options::default()
    }
}

fn config(name: &str, listen: SocketAddr, endpoints: Vec<String>, cluster: String, shards: u16) -> Config {
    let formats = Formats { log: 1, checkpoint: 1 };
    Config {
        etcd: Access { endpoints, user: None, tls: None },
        cluster,
        expected: Some(Cluster { id: ClusterId(7), shards: shards.into(), formats, feature_level: 1 }),
        node: name.parse().expect("a good name"),
        about: Node::new(
            BTreeMap::from([("links".to_owned(), listen.to_string())]),
            None,
            Versions { program: "test".to_owned(), level_min: 1, level_max: 1 },
        ),
        planner: PlannerSettings { settle: Duration::from_secs(1), ..PlannerSettings::default() },
    }
}
