//! A node without logs, for tests that kill it: `node NAME ENDPOINT,ENDPOINT`.
//!
//! It joins the cluster `test`, serves what it is to serve, and ends only by a signal.

#[allow(dead_code, reason = "the suites use more of it")]
#[path = "../tests/integration/fixture/runner.rs"]
mod runner;

use std::collections::BTreeMap;
use std::time::Duration;

use stadium_membership::{Node, Settings, Versions};
use stadium_membership_etcd::{Access, Config};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().unwrap_or_else(|| panic!("give {what}"));
    let node = next("a name").parse().expect("a good name");
    let endpoints = next("endpoints").split(',').map(str::to_owned).collect();
    let versions = Versions { program: "test".to_owned(), level_min: 1, level_max: 1 };
    let config = Config {
        etcd: Access { endpoints, user: None, tls: None },
        cluster: "test".to_owned(),
        expected: None,
        node,
        about: Node::new(BTreeMap::new(), None, versions),
        planner: Settings { settle: Duration::from_millis(500), ..Settings::default() },
    };
    let _node = runner::Runner::start(config);
    loop {
        std::thread::park();
    }
}
