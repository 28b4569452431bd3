//! Every operation, in both dialects, over TCP and Unix sockets.
//!
//! Faults are in [`crate::faults`], the order of operations in [`crate::order`].

use std::time::Duration;

use stadium_memcache::protocol::{Arithmetic, Dialect, Direction, KeyError};
use stadium_memcache::{Client, Config, Error, Expiry, Stored, Utf8};

use crate::memcached::Memcached;

const NEVER: Expiry = Expiry::Never;

pub(crate) fn every_operation(client: &Client) {
    let value = |key: &str| client.get(key).unwrap().map(|value| String::from_utf8(value.bytes).unwrap());
    assert_eq!(client.get("missing").unwrap(), None);
    client.set("a", "1", NEVER).unwrap().wait().unwrap();
    assert_eq!(value("a").as_deref(), Some("1"));

    client.set_flagged("flagged", "x", 4_000_000_000, Duration::from_secs(60)).unwrap().ignore();
    assert_eq!(client.get("flagged").unwrap().unwrap().flags, 4_000_000_000);

    assert_eq!(client.add("a", "2", NEVER).unwrap().wait(), Ok(Stored::NotStored));
    assert_eq!(client.add("b", "2", NEVER).unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(client.replace("none", "2", NEVER).unwrap().wait(), Ok(Stored::NotStored));
    assert_eq!(client.replace("b", "3", NEVER).unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(client.append("b", "4").unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(client.prepend("b", "2").unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(value("b").as_deref(), Some("234"));
    assert_eq!(client.append("none", "4").unwrap().wait(), Ok(Stored::NotStored));

    assert_eq!(client.incr("b", 6).unwrap().wait(), Ok(Some(240)));
    assert_eq!(client.decr("b", 300).unwrap().wait(), Ok(Some(0)));
    assert_eq!(client.incr("none", 1).unwrap().wait(), Ok(None));
    client.set("word", "x", NEVER).unwrap().ignore();
    assert!(matches!(client.incr("word", 1).unwrap().wait(), Err(Error::Client(_))));

    let read = client.gets("a").unwrap().unwrap();
    let cas = read.cas.unwrap();
    assert_eq!(client.cas("a", "5", cas, NEVER).unwrap().wait(), Ok(Stored::Stored));
    assert_eq!(client.cas("a", "6", cas, NEVER).unwrap().wait(), Ok(Stored::Changed));
    assert_eq!(client.cas("none", "6", cas, NEVER).unwrap().wait(), Ok(Stored::Missing));
    assert_eq!(client.gets("none").unwrap(), None);

    assert_eq!(client.touch("a", Duration::from_secs(100)).unwrap().wait(), Ok(true));
    assert_eq!(client.touch("none", Duration::from_secs(100)).unwrap().wait(), Ok(false));
    assert_eq!(client.delete("a").unwrap().wait(), Ok(true));
    assert_eq!(client.delete("a").unwrap().wait(), Ok(false));
    client.set("gone", "x", Duration::ZERO).unwrap().ignore();
    assert_eq!(value("gone"), None);

    client.set("b", "7", NEVER).unwrap().ignore();
    let many = client.multiget(&["b", "none", "word", "b"]);
    let many: Vec<_> = many.into_iter().map(|one| one.unwrap().map(|value| value.bytes)).collect();
    assert_eq!(many, [Some(b"7".to_vec()), None, Some(b"x".to_vec()), Some(b"7".to_vec())]);

    client.set_as(&Utf8, "text", &"grüße".to_owned(), NEVER).unwrap().ignore();
    assert_eq!(client.read_as(&Utf8, "text").unwrap().as_deref(), Some("grüße"));
    assert!(matches!(client.read_as(&Utf8, "flagged"), Err(Error::Format(_))));

    let mut buffer = b"old".to_vec();
    assert_eq!(client.get_into("b", &mut buffer), Ok(Some(0)));
    assert_eq!(buffer, b"7");
    assert_eq!(client.get_into("none", &mut buffer), Ok(None));

    let (_, statistics) = client.stats("").unwrap().remove(0);
    let statistics = statistics.unwrap();
    assert!(statistics["cmd_get"].parse::<u64>().unwrap() > 0, "{statistics:?}");
    assert_eq!(client.versions().remove(0).1.as_deref(), Ok(statistics["version"].as_str()));
    assert!(client.stats("items\r\nflush_all").is_err());
}

#[test]
fn every_operation_works_in_both_dialects_over_tcp_and_unix_sockets() {
    for dialect in [None, Some(Dialect::Meta), Some(Dialect::Classic)] {
        for server in [Memcached::tcp(&[]), Memcached::unix(&[])] {
            every_operation(&Client::with(Config { dialect, ..server.config() }).unwrap());
        }
    }
}

#[test]
fn keys_of_any_bytes_work_with_the_meta_protocol() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    let keys: Vec<Vec<u8>> =
        vec![b"a b".to_vec(), vec![0, 13, 10, 255], "schlüssel".into(), vec![7; 186], vec![b'k'; 250]];
    for (at, key) in keys.iter().enumerate() {
        client.set(key, at.to_string(), NEVER).unwrap().ignore();
    }
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(client.get(key).unwrap().unwrap().bytes, at.to_string().into_bytes());
        assert_eq!(client.incr(key, 10).unwrap().wait(), Ok(Some(at as u64 + 10)));
        assert!(client.gets(key).unwrap().unwrap().cas.is_some());
        assert_eq!(client.delete(key).unwrap().wait(), Ok(true));
    }
    assert_eq!(client.get("").unwrap_err(), Error::BadKey(KeyError::Empty));
    assert!(matches!(client.get([b'k'; 251]), Err(Error::BadKey(KeyError::TooLong { bytes: 251 }))));
    let classic = Client::with(Config { dialect: Some(Dialect::Classic), ..server.config() }).unwrap();
    assert_eq!(classic.get("a b").unwrap_err(), Error::BadKey(KeyError::NeedsMeta));
}

#[test]
fn numbers_are_made_where_there_is_none() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    let how = Arithmetic { direction: Direction::Increment, delta: 2, initial: Some((40, 0)) };
    assert_eq!(client.arithmetic("n", how).unwrap().wait(), Ok(Some(40)));
    assert_eq!(client.arithmetic("n", how).unwrap().wait(), Ok(Some(42)));
    let classic = Client::with(Config { dialect: Some(Dialect::Classic), ..server.config() }).unwrap();
    assert!(matches!(classic.arithmetic("n", how), Err(Error::NeedsMeta(_))));
}

#[test]
fn a_namespace_keeps_keys_apart() {
    let server = Memcached::unix(&[]);
    let (plain, spaced) =
        (server.client(), Client::with(Config { prefix: b"app:".to_vec(), ..server.config() }).unwrap());
    spaced.set("k", "1", NEVER).unwrap().wait().unwrap();
    assert_eq!(plain.get("k").unwrap(), None);
    assert_eq!(plain.get("app:k").unwrap().unwrap().bytes, b"1");
    assert!(matches!(spaced.get([b'k'; 247]), Err(Error::BadKey(_))));
    assert_eq!(spaced.get("").unwrap_err(), Error::BadKey(KeyError::Empty));
}

#[test]
fn values_go_up_to_the_servers_limit() {
    let server = Memcached::unix(&["-I", "4m", "-m", "64"]);
    let client =
        Client::with(Config { value_bytes_max: 5 << 20, unsent_bytes_max: 8 << 20, ..server.config() });
    let client = client.unwrap();
    let value: Vec<u8> = (0..(4 << 20) - 200).map(|at: u32| (at / 7) as u8).collect();
    client.set("large", &value, NEVER).unwrap().wait().unwrap();
    assert!(client.get("large").unwrap().unwrap().bytes == value);
    let mut too_large = value.clone();
    too_large.resize(4 << 20, 0);
    let error = client.set("larger", &too_large, NEVER).unwrap().wait().unwrap_err();
    assert!(matches!(&error, Error::Server(text) if text.contains("too large")), "{error:?}");
    too_large.resize(6 << 20, 0);
    let error = client.set("larger", &too_large, NEVER).err();
    assert_eq!(error, Some(Error::TooLarge { bytes: 6 << 20, bytes_max: 5 << 20 }));
    assert!(client.get("large").unwrap().unwrap().bytes == value);
}

#[test]
fn a_write_that_nobody_waits_for_leaves_and_is_confirmed() {
    let server = Memcached::unix(&[]);
    let (writer, reader) = (server.client(), server.client());
    let pending = writer.set("k", "v", NEVER).unwrap();
    let begun = std::time::Instant::now();
    while !pending.is_done() {
        assert!(begun.elapsed() < crate::memcached::SOON);
        std::thread::yield_now();
    }
    assert_eq!(reader.get("k").unwrap().unwrap().bytes, b"v");
    assert_eq!(pending.wait(), Ok(()));
    writer.set("last", "v", NEVER).unwrap().ignore();
    drop(writer);
    let begun = std::time::Instant::now();
    while reader.get("last").unwrap().is_none() {
        assert!(begun.elapsed() < crate::memcached::SOON, "a set before the client's end is lost");
    }
}
