//! `stadium cluster`: wrong usage, a standalone configuration, an etcd that is away, a build
//! without it.
//!
//! The effects of commands are tested with real parts, where they are carried out:
//! `stadium-cluster-admin`.

use crate::binary;

use binary::{err, out, run};

#[test]
fn each_command_explains_itself() {
    for command in ["init", "status", "nodes", "shards", "move", "drain", "balance", "doctor"] {
        let help = run(&["cluster", command, "--help"]);
        assert!(help.status.success() && out(&help).contains("--config <FILE>"), "{command}: {}", out(&help));
    }
    let help = out(&run(&["cluster", "--help"]));
    assert!(help.contains("no node needs to run") && help.contains("124 not done within"), "{help}");
}

#[test]
fn wrong_usage_is_refused() {
    for (arguments, words) in [
        (&["status", "--loud"][..], "--loud"),
        (&["move", "1"], "--to <NODE>"),
        (&["move", "1", "--to", "b", "--undo"], "cannot be used with"),
        (&["drain"], "<NODE>"),
        (&["drain", "b", "--no-wait", "--timeout", "3s"], "cannot be used with"),
        (&["init", "--shards", "1025"], "1..=1024"),
        (&["balance", "perhaps"], "[possible values: on, off]"),
    ] {
        let refused = run(&[&["cluster"], arguments].concat());
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}", err(&refused));
        assert!(err(&refused).contains(words), "{arguments:?}: {}", err(&refused));
    }
}

#[cfg(not(feature = "cluster"))]
#[test]
fn a_build_without_clusters_says_so() {
    let refused = run(&["cluster", "status"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("--features cluster"), "{}", err(&refused));
}

#[cfg(feature = "cluster")]
mod with_clusters {
    use super::*;

    /// The settings of a cluster whose etcd is at these endpoints.
    fn arguments<'a>(action: &[&'a str], endpoints: &'a str) -> Vec<&'a str> {
        let set = [
            "cluster.name=shop",
            "cluster.node=a",
            "cluster.kafka.brokers=[\"127.0.0.1:1\"]",
            "cluster.links.listen=127.0.0.1:7900",
            "cluster.links.certificate=a.pem",
            "cluster.links.key=a.key",
            "cluster.links.ca=ca.pem",
            endpoints,
        ];
        let mut arguments = [&["cluster"], action].concat();
        set.into_iter().for_each(|set| arguments.extend(["--set", set]));
        arguments
    }

    #[test]
    fn a_standalone_configuration_has_no_cluster() {
        let refused = run(&["cluster", "status"]);
        assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
        assert!(err(&refused).contains("cluster.name"), "{}", err(&refused));
    }

    #[test]
    fn an_etcd_that_is_away_is_named() {
        // A port that takes connections and never answers, and one that takes none.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let silent = listener.local_addr().expect("it is bound");
        let endpoints = format!("cluster.etcd.endpoints=[\"http://{silent}\",\"http://127.0.0.1:1\"]");
        for action in [&["status"][..], &["nodes"], &["shards"], &["move", "1", "--to", "b"], &["drain", "b"]]
        {
            let refused = run(&arguments(action, &endpoints));
            assert_eq!(refused.status.code(), Some(1), "{action:?}: {}", err(&refused));
            let said = err(&refused);
            assert!(said.contains(&format!("http://{silent}, http://127.0.0.1:1")), "{action:?}: {said}");
            assert!(said.contains("CLU-105"), "{action:?}: {said}");
        }
    }
}
