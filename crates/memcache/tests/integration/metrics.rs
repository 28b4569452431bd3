//! Numbers and the hook for tracing.
//!
//! They agree with what happened, and each operation is counted and reported once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stadium_memcache::{Client, Config, Ending, Error, Event, Expiry, Figures, Observer, Operation};

use crate::memcached::{Memcached, free_port};

const NEVER: Expiry = Expiry::Never;

fn figures(client: &Client) -> Figures {
    client.metrics().servers.remove(0).figures
}

/// The events of an observer: operation, ending, hash of the key, and time.
type Seen = Arc<Mutex<Vec<(Operation, Ending, u64, Duration)>>>;

fn observed(server: &Memcached, timeout: Duration) -> (Client, Seen) {
    let seen = Seen::default();
    let observer: Arc<dyn Observer> = Arc::new({
        let seen = Arc::clone(&seen);
        move |event: &Event<'_>| {
            let one = (event.operation, event.ending, event.key_hash, event.duration);
            seen.lock().unwrap().push(one);
        }
    });
    let config = Config { observer: Some(observer), timeout, ..server.config() };
    (Client::with(config).unwrap(), seen)
}

/// Every operation once, some of them twice.
fn operate(client: &Client) {
    client.set("k", "v", NEVER).unwrap().ignore();
    assert!(client.get("k").unwrap().is_some());
    assert!(client.get("missing").unwrap().is_none());
    client.multiget(&["k", "missing", "other"]);
    let cas = client.gets("k").unwrap().unwrap().cas.unwrap();
    client.cas("k", "w", cas, NEVER).unwrap().wait().unwrap();
    client.cas("k", "w", cas, NEVER).unwrap().wait().unwrap();
    client.add("k", "w", NEVER).unwrap().wait().unwrap();
    client.touch("k", Duration::from_secs(9)).unwrap().wait().unwrap();
    client.incr("k", 1).unwrap().wait().unwrap_err();
    client.delete("k").unwrap().wait().unwrap();
    client.stats("").unwrap().remove(0).1.unwrap();
}

/// The operations of [`operate`].
const OPERATED: &[(Operation, Ending, u64)] = &[
    (Operation::Set, Ending::Done, 1),
    (Operation::Get, Ending::Done, 2),
    (Operation::Get, Ending::Missing, 3),
    (Operation::Gets, Ending::Done, 1),
    (Operation::Cas, Ending::Done, 1),
    (Operation::Cas, Ending::Changed, 1),
    (Operation::Add, Ending::NotStored, 1),
    (Operation::Touch, Ending::Done, 1),
    (Operation::Arithmetic, Ending::Client, 1),
    (Operation::Delete, Ending::Done, 1),
    (Operation::Statistics, Ending::Done, 1),
];

#[test]
fn operations_are_counted_by_kind_and_ending_and_reported_once() {
    let server = Memcached::unix(&[]);
    let (client, seen) = observed(&server, Duration::from_secs(5));
    operate(&client);
    let figures = figures(&client);
    let seen = seen.lock().unwrap();
    for operation in Operation::ALL {
        for ending in Ending::ALL {
            let expected = OPERATED.iter().find(|one| (one.0, one.1) == (operation, ending));
            let expected = expected.map_or(0, |one| one.2);
            assert_eq!(figures.count(operation, ending), expected, "{operation:?} {ending:?}");
            let reported = seen.iter().filter(|one| (one.0, one.1) == (operation, ending)).count();
            assert_eq!(reported as u64, expected, "{operation:?} {ending:?}");
        }
    }
    assert_eq!(figures.reads.count(), 7);
    assert_eq!(figures.writes.count(), 7);
    assert!(seen.iter().all(|one| one.3 < Duration::from_secs(5)));
    assert!(figures.reads.quantile(1.0) > Duration::ZERO && figures.reads.sum_ns > 0);
    // FNV-1a of "k".
    assert_eq!(seen.iter().find(|one| one.0 == Operation::Delete).unwrap().2, 0xaf63_e64c_8601_fd8a);
    assert!(figures.bytes_sent > 100 && figures.bytes_received > 1_000);
    assert!(figures.sends > 5 && figures.receives > 5 && figures.connects == 1);
    assert_eq!((figures.disconnects, figures.connect_failures), (0, 0));
}

#[test]
fn timeouts_refusals_and_lost_connections_are_counted_once() {
    let mut server = Memcached::tcp(&[]);
    let (client, seen) = observed(&server, Duration::from_millis(30));
    client.connect().unwrap();
    server.pause();
    assert_eq!(client.get("k"), Err(Error::Timeout));
    assert_eq!(client.set("k", "v", NEVER).unwrap().wait(), Err(Error::Timeout));
    let now = client.metrics().servers.remove(0);
    assert_eq!((now.operations, now.is_connected), (2, true), "answers are owed");
    server.resume();
    client.with_timeout(Duration::from_secs(5)).get("k").unwrap().unwrap();
    assert!(matches!(client.set("k", vec![0; 2 << 20], NEVER).map(drop), Err(Error::TooLarge { .. })));
    server.kill();
    assert!(matches!(client.get("k"), Err(Error::Disconnected(_))));
    let figures = figures(&client);
    assert_eq!(figures.count(Operation::Get, Ending::Timeout), 1);
    assert_eq!(figures.count(Operation::Set, Ending::Timeout), 1);
    assert_eq!(figures.count(Operation::Set, Ending::Refused), 1);
    assert_eq!(figures.count(Operation::Get, Ending::Done), 1, "late answers do not count");
    assert_eq!(figures.count(Operation::Set, Ending::Done), 0);
    // The lost connection, and the try on a new one.
    assert_eq!(figures.ended(Ending::Disconnected), 2);
    assert_eq!((figures.connects, figures.disconnects), (1, 1));
    assert!(figures.connect_failures >= 1);
    assert_eq!(
        seen.lock().unwrap().len() as u64,
        Ending::ALL.iter().map(|one| figures.ended(*one)).sum::<u64>()
    );
}

#[test]
fn an_observer_that_panics_or_uses_the_client_disturbs_nobody() {
    let server = Memcached::unix(&[]);
    let inner = server.client();
    let same = inner.clone();
    let observer = move |event: &Event<'_>| {
        same.incr("seen", 1).unwrap().ignore();
        assert_ne!(event.operation, Operation::Gets, "this panic is expected");
    };
    let config = Config { observer: Some(Arc::new(observer)), ..server.config() };
    let client = Client::with(config).unwrap();
    client.set("seen", "0", NEVER).unwrap().wait().unwrap();
    for _ in 0..3 {
        client.get("k").unwrap();
        client.gets("k").unwrap();
        client.touch("k", NEVER).unwrap().wait().unwrap();
    }
    // The set itself is reported before or after it is done.
    let seen = String::from_utf8(inner.get("seen").unwrap().unwrap().bytes).unwrap();
    assert!(["9", "10"].contains(&seen.as_str()), "{seen}");
}

#[test]
fn prometheus_reads_the_text() {
    let server = Memcached::tcp(&[]);
    let client = Client::new([server.address.clone(), format!("127.0.0.1:{}", free_port())]).unwrap();
    for number in 0..40 {
        // Half of them fail: a server is away.
        client.get(format!("k{number}")).ok();
    }
    let text = client.metrics().prometheus();
    let label = format!("server=\"{}\"", server.address);
    assert!(text.contains(&format!("stadium_memcache_connected{{{label}}} 1\n")), "{text}");
    assert!(text.contains("# TYPE stadium_memcache_latency_seconds histogram\n"));
    assert!(text.contains("operation=\"get\",ending=\"missing\"}"));
    assert!(text.contains("operation=\"get\",ending=\"disconnected\"}"));
    let ejections = text.lines().filter(|line| line.starts_with("stadium_memcache_ejections_total"));
    let ejections: Vec<_> = ejections.map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert_eq!(ejections, ["0", "1"]);
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name) && line.contains("kind=\"read\""));
        count(line.unwrap())
    };
    let inf = text.lines().find(|line| line.contains("le=\"+Inf\"")).unwrap();
    assert_eq!(count(inf), of("stadium_memcache_latency_seconds_count"));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("stadium_memcache_") && name.ends_with('}'), "{line}");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}
