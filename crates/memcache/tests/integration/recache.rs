//! One caller makes a value anew; the others keep the old one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use stadium_memcache::{Error, Expiry, Lookup, Recache, Value};

use crate::memcached::Memcached;

const HOW: Recache = Recache { lease: Duration::from_secs(30), early: Duration::from_secs(10) };

fn bytes(lookup: &Lookup) -> &[u8] {
    match lookup {
        Lookup::Fresh(value) | Lookup::Won(value) | Lookup::Stale(value) => &value.bytes,
        Lookup::Make { .. } | Lookup::Made => &[],
    }
}

#[test]
fn one_caller_makes_a_missing_value_and_then_a_stale_one() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    let Lookup::Make { cas } = client.lookup("k", &HOW).unwrap() else { panic!("it is missing") };
    assert_eq!(client.lookup("k", &HOW).unwrap(), Lookup::Made);
    client.cas("k", "v1", cas, Expiry::Never).unwrap().wait().unwrap();
    let fresh = client.lookup("k", &HOW).unwrap();
    assert!(matches!(&fresh, Lookup::Fresh(Value { bytes, .. }) if bytes == b"v1"), "{fresh:?}");

    assert_eq!(client.invalidate("k", Some(Duration::from_secs(60))).unwrap().wait(), Ok(true));
    let won = client.lookup("k", &HOW).unwrap();
    assert!(matches!(won, Lookup::Won(_)) && bytes(&won) == b"v1", "{won:?}");
    let stale = client.lookup("k", &HOW).unwrap();
    assert!(matches!(stale, Lookup::Stale(_)) && bytes(&stale) == b"v1", "{stale:?}");
    assert_eq!(client.invalidate("none", None).unwrap().wait(), Ok(false));
}

#[test]
fn one_caller_makes_a_value_that_is_about_to_expire() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    client.set("k", "v", Duration::from_secs(5)).unwrap().wait().unwrap();
    assert!(matches!(client.lookup("k", &HOW).unwrap(), Lookup::Won(_)));
    assert!(matches!(client.lookup("k", &HOW).unwrap(), Lookup::Stale(_)));
}

#[test]
fn eight_readers_make_a_value_once() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    let made = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let value = client.read_through("k", &HOW, Expiry::Never, || {
                    made.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, Error>(b"costly".to_vec())
                });
                assert_eq!(value.unwrap().bytes, b"costly");
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
}
