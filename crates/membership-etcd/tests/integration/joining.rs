//! Making a cluster and joining it.

use std::time::Duration;

use stadium_membership::Error;
use stadium_membership_etcd::{Access, Connection, Membership, Tls, User, create};
use stadium_testing::etcd::Cluster as Etcd;

use super::fixture::runner::Runner;
use super::fixture::{NAME, access, cluster, config, init, is_settled, node, until, until_true};

#[test]
fn a_cluster_is_made_once() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 4);
    init(etcd.endpoints(), 4);
    let why = create(access(etcd.endpoints()), NAME, &cluster(8)).expect_err("another number of shards");
    assert!(matches!(why, Error::Differs(_)), "{why}");
    assert_eq!(why.code(), "CLU-102");
    let why = create(access(etcd.endpoints()), "a/b", &cluster(8)).expect_err("no name");
    assert_eq!(why.code(), "CLU-101");
}

#[test]
fn a_node_does_not_join_a_cluster_that_is_not_its_own() {
    let etcd = Etcd::start(1);
    let refused = |membership: &Membership| {
        until("a refusal", || match &membership.snapshot().connection {
            Connection::Refused(why) => Some(why.code()),
            _ => None,
        })
    };
    let early = Membership::start(config("a", access(etcd.endpoints())), || ()).expect("membership");
    assert_eq!(refused(&early), "CLU-103", "there is none yet");
    init(etcd.endpoints(), 4);
    until_true("it to join once there is one", || early.snapshot().incarnation.is_some());

    let mut stranger = config("b", access(etcd.endpoints()));
    stranger.expected = Some(cluster(8));
    let stranger = Membership::start(stranger, || ()).expect("membership");
    assert_eq!(refused(&stranger), "CLU-102");
    assert!(!stranger.snapshot().view.nodes.contains_key(&"b".parse().expect("a name")));

    let twin = Membership::start(config("a", access(etcd.endpoints())), || ()).expect("membership");
    assert_eq!(refused(&twin), "CLU-104");
}

#[test]
fn a_node_that_leaves_is_gone_at_once_and_comes_back_as_another_incarnation() {
    let etcd = Etcd::start(1);
    init(etcd.endpoints(), 4);
    let a = node("a", etcd.endpoints());
    let b = node("b", etcd.endpoints());
    until_true("both to settle", || is_settled(&a.snapshot().view, 4) && a.snapshot().view.nodes.len() == 2);
    let first = b.snapshot().incarnation;
    let certainty = b.membership.certainty();
    let left = std::time::Instant::now();
    drop(b);
    assert!(!certainty.is_certain());
    until_true("b to be gone", || a.snapshot().view.nodes.len() == 1);
    assert!(left.elapsed() < Duration::from_millis(1_500), "its lease was not waited for");
    until_true("a to serve all", || a.served().len() == 4);
    let b = node("b", etcd.endpoints());
    until_true("b to register", || b.snapshot().incarnation.is_some_and(|one| Some(one) != first));
}

#[test]
fn it_speaks_tls_and_logs_in() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.path().join("etcd.crt"), folder.path().join("etcd.key"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let etcd = Etcd::start_with_tls(certificate.clone(), key);
    etcd.enable_authentication("stadium", "secret", "/stadium");
    let access = |password: &str| Access {
        endpoints: vec![format!("https://localhost:{}", etcd.secure_port())],
        user: Some(User { name: "stadium".to_owned(), password: password.to_owned() }),
        tls: Some(Tls { authorities: certificate.clone(), identity: None, server_name: None }),
    };
    create(access("secret"), NAME, &cluster(4)).expect("a cluster");
    let a = Runner::start(config("a", access("secret")));
    until_true("it to serve", || a.served().len() == 4);
    let stranger = Membership::start(config("b", access("wrong")), || ()).expect("membership");
    until_true(
        "it to be refused",
        || matches!(&stranger.snapshot().connection, Connection::Away(why) if why.contains("authentication")),
    );
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let etcd = vec!["http://127.0.0.1:1".to_owned()];
    let refused = |config| Membership::start(config, || ()).err().map(|why| why.code());
    assert_eq!(refused(config("a", access(Vec::new()))), Some("CLU-101"));
    assert_eq!(refused(config("a", access(vec!["127.0.0.1:1".to_owned()]))), Some("CLU-101"));
    let mut zone = config("a", access(etcd.clone()));
    zone.about.zone = Some("z".repeat(65));
    assert_eq!(refused(zone), Some("CLU-101"));
    let mut name = config("a", access(etcd));
    name.cluster = String::new();
    assert_eq!(refused(name), Some("CLU-101"));
}
