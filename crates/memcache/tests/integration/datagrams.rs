//! Gets over UDP.
//!
//! With a real server, a relay that loses, doubles, delays and reorders, and servers that lie.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stadium_memcache::{Client, Config, Credentials, Ending, Error, Expiry, Operation, ServerConfig};

use crate::memcached::{Memcached, SOON, free_port};

const NEVER: Expiry = Expiry::Never;

/// A server with a UDP port.
fn server() -> (Memcached, u16) {
    let port = free_port();
    (Memcached::tcp(&["-U", &port.to_string()]), port)
}

fn client(servers: &[(&str, u16)], change: impl FnOnce(&mut Config)) -> Client {
    let mut config = Config::for_servers(servers.iter().map(|one| one.0)).unwrap();
    for (server, (_, port)) in config.servers.iter_mut().zip(servers) {
        server.udp = Some(*port);
    }
    config.timeout = Duration::from_secs(5);
    config.udp_timeout = Duration::from_secs(2);
    change(&mut config);
    Client::with(config).unwrap()
}

#[test]
fn values_of_every_size_and_key_come() {
    let (first, first_port) = server();
    let (second, second_port) = server();
    let servers = [(first.address.as_str(), first_port), (second.address.as_str(), second_port)];
    let client = client(&servers, |config| {
        config.prefix = b"space:".to_vec();
        config.compress_from = Some(1_000);
    });
    assert_eq!(client.lossy_get("missing"), Ok(None));
    let mut random = fastrand::Rng::with_seed(5);
    for bytes in [0, 1, 1_370, 1_400, 5_000, 60_000] {
        let value: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        for key in [&b"key"[..], b"a key\nwith spaces"] {
            client.set_flagged(key, &value, 9, NEVER).unwrap().wait().unwrap();
            let read = client.lossy_get(key).unwrap().unwrap();
            assert!((read.bytes, read.flags) == (value.clone(), 9), "{bytes}");
        }
    }
    client.set("key", [7; 5_000], NEVER).unwrap().wait().unwrap();
    assert_eq!(client.lossy_get("key").unwrap().unwrap().bytes, [7; 5_000], "it is compressed");

    let keys: Vec<String> = (0..300).map(|number| format!("k{number}")).collect();
    keys.iter().step_by(2).for_each(|key| client.set(key, key, NEVER).unwrap().ignore());
    client.multiget(&keys);
    let results = client.lossy_multiget(&keys);
    for (at, (key, result)) in keys.iter().zip(results).enumerate() {
        let read = result.unwrap().map(|value| value.bytes);
        assert_eq!(read.as_deref(), at.is_multiple_of(2).then_some(key.as_bytes()));
    }
    let counts = client.metrics().servers;
    let sum = |ending| counts.iter().map(|one| one.figures.count(Operation::LossyGet, ending)).sum::<u64>();
    assert_eq!((sum(Ending::Done), sum(Ending::Missing)), (163, 151));
}

/// A relay between one client and a server's UDP port, which treats each datagram as `treat` says:
/// copies of it, each after a delay.
struct Relay {
    port: u16,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    fn start(server: u16, mut treat: impl FnMut(&[u8]) -> Vec<Duration> + Send + 'static) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = front.local_addr().unwrap().port();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            let back = UdpSocket::bind("127.0.0.1:0").unwrap();
            back.connect(("127.0.0.1", server)).unwrap();
            front.set_nonblocking(true).unwrap();
            back.set_nonblocking(true).unwrap();
            let mut client = None;
            let mut waiting: Vec<(Instant, bool, Vec<u8>)> = Vec::new();
            let mut buffer = [0; 2_048];
            while !over.load(Ordering::Relaxed) {
                let now = Instant::now();
                if let Ok((bytes, from)) = front.recv_from(&mut buffer) {
                    client = Some(from);
                    let copies = treat(&buffer[..bytes]);
                    waiting.extend(copies.iter().map(|after| (now + *after, true, buffer[..bytes].to_vec())));
                } else if let Ok(bytes) = back.recv(&mut buffer) {
                    let copies = treat(&buffer[..bytes]);
                    waiting
                        .extend(copies.iter().map(|after| (now + *after, false, buffer[..bytes].to_vec())));
                } else {
                    thread::sleep(Duration::from_micros(100));
                }
                waiting.retain(|(at, is_request, bytes)| {
                    if *at > now {
                        return true;
                    }
                    match client {
                        _ if *is_request => drop(back.send(bytes)),
                        Some(client) => drop(front.send_to(bytes, client)),
                        None => {}
                    }
                    false
                });
            }
        });
        Self { port, is_over }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn lost_doubled_and_reordered_datagrams_give_the_value_or_a_timeout() {
    let (server, port) = server();
    let mut random = fastrand::Rng::with_seed(11);
    let relay = Relay::start(port, move |_| {
        let delay = Duration::from_micros(random.u64(0..3_000));
        match random.u8(0..20) {
            0 => Vec::new(),
            1..3 => vec![delay, delay * 2],
            _ => vec![delay],
        }
    });
    let patience = Duration::from_millis(60);
    let client = client(&[(&server.address, relay.port)], |config| config.udp_timeout = patience);
    let value = |number: usize| format!("{number}:").repeat(1 + number * 20).into_bytes();
    let keys: Vec<String> = (0..50).map(|number| format!("k{number}")).collect();
    for (number, key) in keys.iter().enumerate() {
        client.set(key, value(number), NEVER).unwrap().ignore();
    }
    client.multiget(&keys);
    let (mut whole, mut lost) = (0, 0);
    for _ in 0..4 {
        let begun = Instant::now();
        for (number, result) in client.lossy_multiget(&keys).into_iter().enumerate() {
            match result {
                Ok(read) => {
                    assert_eq!(read.unwrap().bytes, value(number));
                    whole += 1;
                }
                Err(error) => {
                    assert_eq!(error, Error::Timeout);
                    lost += 1;
                }
            }
        }
        assert!(begun.elapsed() < patience + Duration::from_millis(300));
    }
    assert!(whole > 50 && lost > 10, "{whole} whole, {lost} lost");
    let figures = client.metrics().servers.remove(0).figures;
    assert_eq!(figures.count(Operation::LossyGet, Ending::Timeout), lost);
}

#[test]
fn late_answers_are_dropped() {
    let (server, port) = server();
    // The first answers come while the later requests wait for theirs.
    let mut number = 0;
    let relay = Relay::start(port, move |bytes| {
        let is_answer = !bytes[8..].starts_with(b"get ");
        number += u32::from(is_answer);
        vec![Duration::from_millis(if is_answer && number <= 3 { 90 } else { 0 })]
    });
    let patience = Duration::from_millis(30);
    let client = client(&[(&server.address, relay.port)], |config| config.udp_timeout = patience);
    for key in ["a", "b", "c", "d"] {
        client.set(key, key, NEVER).unwrap().wait().unwrap();
    }
    for key in ["a", "b", "c"] {
        assert_eq!(client.lossy_get(key), Err(Error::Timeout));
    }
    let begun = Instant::now();
    let mut read = 0;
    while begun.elapsed() < Duration::from_millis(120) || read == 0 {
        assert!(begun.elapsed() < SOON);
        // On a busy machine one may be late by itself.
        if let Ok(value) = client.lossy_get("d") {
            assert_eq!(value.unwrap().bytes, b"d");
            read += 1;
        }
    }
}

#[test]
fn a_paused_server_and_one_that_is_not_there_end_by_the_deadline() {
    let (server, port) = server();
    let patience = Duration::from_millis(40);
    let impatient = client(&[(&server.address, port)], |config| config.udp_timeout = patience);
    impatient.set("k", "v", NEVER).unwrap().wait().unwrap();
    server.pause();
    let begun = Instant::now();
    assert_eq!(impatient.lossy_get("k"), Err(Error::Timeout));
    assert!((patience..Duration::from_millis(500)).contains(&begun.elapsed()));
    let deadline = impatient.with_timeout(Duration::from_millis(5));
    let begun = Instant::now();
    assert_eq!(deadline.lossy_get("k"), Err(Error::Timeout));
    assert!(begun.elapsed() < patience);
    server.resume();

    let nobody = client(&[(&server.address, free_port())], |_| {});
    let results = nobody.lossy_multiget(&["a", "b", "c"]);
    assert!(results.iter().all(|one| matches!(one, Err(Error::Disconnected(_)))), "{results:?}");
    let none = server.client();
    assert!(matches!(none.lossy_get("k"), Err(Error::Config(_))));
    let credentials = Some(Credentials::new("ada", "secret").unwrap());
    let mut config = Config { credentials, ..server.config() };
    config.servers[0].udp = Some(port);
    assert!(matches!(Client::with(config).map(drop), Err(Error::Config(_))));
    assert!(matches!(nobody.lossy_get(""), Err(Error::BadKey(_))));
    let address = "/run/memcached.sock".parse().unwrap();
    let unix = ServerConfig { address, weight: 1, udp: Some(1) };
    let client = Client::with(Config { servers: vec![unix], ..Config::default() }).unwrap();
    assert!(matches!(client.lossy_get("k"), Err(Error::Config(_))));
}

#[test]
fn hostile_datagrams_are_ignored_or_typed_errors() {
    let (server, _) = server();
    let whole = |text: &str| [&[0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
    let ignored: &[&[u8]] = &[
        b"",
        b"\0",
        &[0; 5],
        &[0, 0, 0, 0, 0, 0],
        &[0, 1, 0, 1, 0, 0, b'E'],
        &[0, 0, 0xff, 0xff, 0, 0, b'E'],
        &[0, 0, 0, 2, 0, 0, b'E'],
    ];
    let wrong = [
        whole(""),
        whole("END"),
        whole("END\r\nEND\r\n"),
        whole("VALUE k 0 99999999999\r\n"),
        whole("VALUE other 0 1\r\nx\r\nEND\r\n"),
        whole("VALUE k 0 1\r\nx\r\n"),
        whole("STORED\r\n"),
        whole("\u{fffd}"),
    ];
    let mut cases: Vec<(Vec<u8>, bool)> = ignored.iter().map(|one| (one.to_vec(), true)).collect();
    cases.extend(wrong.into_iter().map(|one| (one, false)));
    let liar = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = liar.local_addr().unwrap().port();
    let answers = cases.clone();
    thread::spawn(move || {
        let mut buffer = [0; 2_048];
        for (answer, _) in answers {
            let (_, from) = liar.recv_from(&mut buffer).unwrap();
            // With the right number, where there is room for one; and before it another one's.
            let other = [&[buffer[0], buffer[1] ^ 1, 0, 0, 0, 1, 0, 0], &b"VALUE k 0 1\r\nx\r\nEND\r\n"[..]];
            liar.send_to(&other.concat(), from).unwrap();
            let answer = if answer.len() < 2 { answer } else { [&buffer[..2], &answer].concat() };
            liar.send_to(&answer, from).unwrap();
        }
    });
    let patience = Duration::from_millis(25);
    let client = client(&[(&server.address, port)], |config| config.udp_timeout = patience);
    for (answer, is_ignored) in cases {
        match client.lossy_get("k") {
            Err(Error::Timeout) if is_ignored => {}
            Err(Error::Protocol(_)) if !is_ignored => {}
            result => panic!("{answer:?} {result:?}"),
        }
    }
}
