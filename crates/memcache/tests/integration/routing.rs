//! Several servers: who has a key, ejection, failover and probation.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use stadium_memcache::{Client, Config, Error, Expiry, Failover, Routing, ServerConfig};

use crate::memcached::{Memcached, SOON, vectors};

const NEVER: Expiry = Expiry::Never;

#[test]
fn ketama_puts_keys_where_libmemcached_does() {
    let text = std::fs::read_to_string(vectors().join("ketama.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let mut keys = 0;
    for ring in vectors["rings"].as_array().unwrap() {
        let server = |server: &Value| ServerConfig {
            address: format!("{}:{}", server["host"].as_str().unwrap(), server["port"]).parse().unwrap(),
            weight: server["weight"].as_u64().unwrap() as u32,
            udp: None,
        };
        let servers: Vec<ServerConfig> = ring["servers"].as_array().unwrap().iter().map(server).collect();
        let config = Config { servers: servers.clone(), routing: Routing::Ketama, ..Config::default() };
        let client = Client::with(config).unwrap();
        for one in ring["keys"].as_array().unwrap() {
            let expected = &servers[one["server"].as_u64().unwrap() as usize].address;
            assert_eq!(client.server_of(one["key"].as_str().unwrap()).unwrap(), expected, "{one}");
            keys += 1;
        }
    }
    assert_eq!(keys, 480);
}

/// The servers that rendezvous chooses must not change: whole caches would be lost.
#[test]
fn rendezvous_puts_keys_where_it_always_did() {
    let text = std::fs::read_to_string(vectors().join("rendezvous.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let server = |server: &Value| ServerConfig {
        address: server["address"].as_str().unwrap().parse().unwrap(),
        weight: server["weight"].as_u64().unwrap() as u32,
        udp: None,
    };
    let servers = vectors["servers"].as_array().unwrap().iter().map(server).collect();
    let client = Client::with(Config { servers, ..Config::default() }).unwrap();
    for (key, expected) in vectors["keys"].as_object().unwrap() {
        assert_eq!(client.server_of(key).unwrap().to_string(), expected.as_str().unwrap(), "{key}");
    }
}

fn three() -> (Vec<Memcached>, Config) {
    let servers: Vec<Memcached> = (0..3).map(|_| Memcached::tcp(&[])).collect();
    let config = Config {
        eject_after: 2,
        eject_for: Duration::from_millis(100),
        timeout: Duration::from_secs(2),
        backoff_min: Duration::from_millis(1),
        backoff_max: Duration::from_millis(5),
        ..Config::for_servers(servers.iter().map(|server| &server.address)).unwrap()
    };
    (servers, config)
}

fn keys() -> Vec<String> {
    (0..60).map(|number| format!("key:{number}")).collect()
}

#[test]
fn without_failover_only_the_keys_of_a_dead_server_fail() {
    let (mut servers, config) = three();
    let client = Client::with(config).unwrap();
    let keys = keys();
    for key in &keys {
        client.set(key, key, NEVER).unwrap().wait().unwrap();
    }
    let dead = servers[1].address.clone();
    servers[1].kill();
    let mut failed = 0;
    for (key, result) in keys.iter().zip(client.multiget(&keys)) {
        if client.server_of(key).unwrap().to_string() == dead {
            assert!(matches!(result, Err(Error::Disconnected(_))), "{result:?}");
            failed += 1;
        } else {
            assert_eq!(result.unwrap().unwrap().bytes, key.as_bytes());
        }
    }
    assert!(failed > 5);
    assert_eq!(client.ejected().len(), 1);
    assert!(client.stats("").unwrap().iter().filter(|(_, result)| result.is_ok()).count() == 2);

    // A trial finds it back.
    servers[1].restart();
    let key = keys.iter().find(|key| client.server_of(key).unwrap().to_string() == dead).unwrap();
    let begun = Instant::now();
    while client.get(key).is_err() {
        assert!(begun.elapsed() < SOON);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(client.ejected().is_empty());
}

#[test]
fn with_failover_the_next_server_takes_the_keys() {
    let (mut servers, config) = three();
    let client =
        Client::with(Config { failover: Failover::Next, routing: Routing::Ketama, ..config }).unwrap();
    servers[2].kill();
    let keys = keys();
    let begun = Instant::now();
    while client.ejected().is_empty() {
        assert!(begun.elapsed() < SOON);
        keys.iter().for_each(|key| drop(client.get(key)));
    }
    let mut stored = 0;
    for key in &keys {
        // A trial may fail; the next try goes elsewhere.
        stored += usize::from(client.set(key, key, NEVER).and_then(|one| one.wait()).is_ok());
    }
    assert!(stored >= keys.len() - 5, "{stored}");
}
