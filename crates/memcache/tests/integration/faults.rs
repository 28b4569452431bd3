//! Servers that are killed, paused, full, or not there: every call ends by its deadline.
//!
//! The server is a real one wherever it can be; only garbage needs an impostor.

use std::thread;
use std::time::{Duration, Instant};

use stadium_memcache::{Client, Config, Error, Expiry};

use crate::memcached::{Memcached, SOON, free_port, impostor};

const NEVER: Expiry = Expiry::Never;

fn until_it_works(client: &Client) {
    let begun = Instant::now();
    while let Err(error) = client.get("k") {
        assert!(begun.elapsed() < SOON, "{error}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn nobody_listens() {
    let client = Client::new([format!("127.0.0.1:{}", free_port())]).unwrap();
    assert!(matches!(client.get("k"), Err(Error::Disconnected(_))));
    let begun = Instant::now();
    assert!(matches!(client.set("k", "v", NEVER).map(drop), Err(Error::Disconnected(_))));
    assert!(begun.elapsed() < Duration::from_millis(500), "it fails at once between tries");
    assert!(Client::new(["/nonexistent/memcached.sock"]).unwrap().get("k").is_err());
    assert!(matches!(Client::new(Vec::<String>::new()), Err(Error::Config(_))));
}

#[test]
fn a_killed_server_ends_calls_and_a_new_one_is_found() {
    let mut server = Memcached::tcp(&[]);
    let client = server.client();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let begun = Instant::now();
                // Until the kill shows; each call ends in any case.
                while client.get("k").is_ok() {
                    assert!(begun.elapsed() < SOON);
                }
            });
        }
        thread::sleep(Duration::from_millis(30));
        server.kill();
    });
    server.restart();
    until_it_works(&client);
    assert_eq!(client.get("k").unwrap(), None);
}

#[test]
fn a_restart_while_the_client_is_idle_is_not_noticed() {
    let mut server = Memcached::tcp(&[]);
    let client = server.client();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
    server.restart();
    assert_eq!(client.get("k").unwrap(), None);
}

#[test]
fn a_paused_server_times_out_and_is_used_again() {
    let server = Memcached::tcp(&[]);
    let config =
        Config { timeout: Duration::from_millis(60), stall: Duration::from_secs(30), ..server.config() };
    let client = Client::with(config).unwrap();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
    server.pause();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let begun = Instant::now();
                assert_eq!(client.get("k").unwrap_err(), Error::Timeout);
                assert_eq!(client.set("k", "w", NEVER).unwrap().wait().unwrap_err(), Error::Timeout);
                assert!(begun.elapsed() < Duration::from_secs(1));
            });
        }
    });
    server.resume();
    let client = client.with_timeout(SOON);
    assert_eq!(client.get("k").unwrap().unwrap().bytes, b"w", "late answers went nowhere");
}

/// Callers sleep without a timer of their own: the one that turns keeps the deadlines of all, also
/// those that are before its own, and when it leaves another one does.
#[test]
fn each_caller_ends_at_its_own_deadline_while_others_wait_longer() {
    let server = Memcached::tcp(&[]);
    let config = Config { timeout: SOON, stall: SOON, ..server.config() };
    let client = Client::with(config).unwrap();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
    server.pause();
    let until = |timeout_ms: u64| {
        let timeout = Duration::from_millis(timeout_ms);
        let client = client.with_timeout(timeout);
        move || {
            let begun = Instant::now();
            assert_eq!(client.get("k").unwrap_err(), Error::Timeout);
            let (took, slack) = (begun.elapsed(), Duration::from_millis(400));
            assert!(took >= timeout && took < timeout + slack, "{took:?} of {timeout:?}");
        }
    };
    thread::scope(|scope| {
        // The longest one turns first, the shortest one comes last.
        for timeout_ms in (1..=40).rev().map(|at| at * 20) {
            scope.spawn(until(timeout_ms));
        }
    });
    server.resume();
    assert_eq!(client.get("k").unwrap().unwrap().bytes, b"v");
}

#[test]
fn a_stalled_server_is_disconnected() {
    let server = Memcached::tcp(&[]);
    let config = Config {
        stall: Duration::from_millis(80),
        connect_timeout: Duration::from_millis(80),
        ..server.config()
    };
    let client = Client::with(config).unwrap();
    client.set("k", "v", NEVER).unwrap().wait().unwrap();
    server.pause();
    let error = client.set("k", "w", NEVER).unwrap().wait().unwrap_err();
    assert!(matches!(&error, Error::Disconnected(text) if text.contains("sent nothing")), "{error:?}");
    assert!(matches!(client.get("k"), Err(Error::Disconnected(_))), "connecting fails too");
    server.resume();
    until_it_works(&client);
}

#[test]
fn too_much_for_a_paused_server_is_busy() {
    let server = Memcached::tcp(&[]);
    let config = Config { operations_max: 500, unsent_bytes_max: 100_000, ..server.config() };
    let client = Client::with(config).unwrap();
    client.connect().unwrap();
    server.pause();
    let mut results = (0..501).map(|_| client.set("k", "v", NEVER).map(drop));
    assert_eq!(results.find(Result::is_err), Some(Err(Error::Busy)));
    server.resume();
    client.set("k", "v", NEVER).err();
    until_it_works(&client);
    server.pause();
    let value = vec![7; 100_000];
    let mut results = (0..400).map(|_| client.set("k", &value, NEVER).map(drop));
    assert_eq!(results.find(Result::is_err), Some(Err(Error::Busy)));
    server.resume();
    assert_eq!(client.get("k").map(|value| value.is_some()), Ok(true));
}

#[test]
fn a_full_server_reports_which_set_failed() {
    let server = Memcached::unix(&["-M", "-m", "2"]);
    let client = server.client();
    let value = vec![b'x'; 6_000];
    let mut failures = 0;
    for number in 0..1_500 {
        match client.set(format!("k{number}"), &value, NEVER).unwrap().wait() {
            Ok(()) => assert!(client.get(format!("k{number}")).unwrap().is_some()),
            Err(Error::Server(text)) => {
                assert!(text.contains("out of memory"), "{text}");
                assert!(client.get(format!("k{number}")).unwrap().is_none());
                failures += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(failures > 10, "{failures}");

    // Together, none that failed is reported as stored.
    let client = server.client();
    let pending: Vec<_> =
        (0..100).map(|number| (number, client.set(format!("n{number}"), &value, NEVER).unwrap())).collect();
    let mut failures = 0;
    for (number, one) in pending {
        match one.wait() {
            Ok(()) => assert!(client.get(format!("n{number}")).unwrap().is_some()),
            Err(Error::Server(_) | Error::Uncertain(_)) => failures += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(failures > 0);
}

#[test]
fn servers_that_answer_garbage_end_calls_with_an_error() {
    let answers: &[&[u8]] = &[
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"VALUE k 0 99999999999999999999\r\n",
        b"VALUE other 0 1\r\nx\r\nEND\r\n",
        b"VA 1 O9\r\nx\r\n",
        b"STORED\r\n",
        b"\xff\xfe\r\n",
    ];
    for answer in answers {
        let client = Client::new([impostor(answer.to_vec(), false)]).unwrap();
        let begun = Instant::now();
        let result = (0..3).map(|_| client.get("k")).find(Result::is_err);
        assert!(matches!(result, Some(Err(Error::Protocol(_)))), "{answer:?} {result:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    // Cut lines: one that goes on never, and one that ends with the connection.
    let client = Client::new([impostor(b"VALUE k 0 5\r\nab".to_vec(), false)]).unwrap();
    let client = client.with_timeout(Duration::from_millis(50));
    assert_eq!(client.get("k").unwrap_err(), Error::Timeout);
    let client = Client::new([impostor(b"VALUE k 0 5\r\nab".to_vec(), true)]).unwrap();
    assert!(matches!(client.get("k"), Err(Error::Disconnected(_))));
}
