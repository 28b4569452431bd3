//! Reads see the writes before them, from any number of threads on one connection.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::{Duration, Instant};

use stadium_memcache::protocol::Dialect;
use stadium_memcache::{Client, Config, Error, Expiry};

use crate::memcached::{Memcached, SOON};

const NEVER: Expiry = Expiry::Never;

/// Each thread writes and reads its own keys at random and knows what it must read.
fn mixed_load(client: &Client, thread_at: u64, rounds: u32) {
    let mut random = fastrand::Rng::with_seed(thread_at);
    let mut known: Vec<Option<u64>> = vec![None; 5];
    for round in 0..rounds {
        let at = random.usize(..known.len());
        let key = format!("{thread_at}:{at}");
        match random.u32(..10) {
            0..4 => {
                let number = u64::from(round);
                client.set(&key, number.to_string(), NEVER).unwrap().ignore();
                known[at] = Some(number);
            }
            4 => {
                client.delete(&key).unwrap().ignore();
                known[at] = None;
            }
            5 => {
                let expected = known[at].map(|number| number + 3);
                assert_eq!(client.incr(&key, 3).unwrap().wait(), Ok(expected), "{key}");
                known[at] = expected;
            }
            6 => {
                // A get that is not waited for yet, and a write behind it.
                let get = client.fetch(&key).unwrap();
                client.set(&key, "1", NEVER).unwrap().ignore();
                let read = get.wait().unwrap().map(|value| String::from_utf8(value.bytes).unwrap());
                assert_eq!(read, known[at].map(|number| number.to_string()), "{key}");
                known[at] = Some(1);
            }
            _ => {
                let read = client.get(&key).unwrap().map(|value| String::from_utf8(value.bytes).unwrap());
                assert_eq!(read, known[at].map(|number| number.to_string()), "{key}");
            }
        }
    }
}

#[test]
fn eight_threads_read_their_own_writes() {
    for dialect in [None, Some(Dialect::Classic)] {
        let server = Memcached::tcp(&[]);
        let client = Client::with(Config { dialect, ..server.config() }).unwrap();
        thread::scope(|scope| {
            for thread_at in 0..8 {
                let client = &client;
                scope.spawn(move || mixed_load(client, thread_at, 1_500));
            }
        });
    }
}

#[test]
fn a_counter_of_eight_threads_loses_nothing() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    client.set("n", "0", NEVER).unwrap().wait().unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let pending: Vec<_> = (0..200).map(|_| client.incr("n", 1).unwrap()).collect();
                let numbers: Vec<u64> = pending.into_iter().map(|one| one.wait().unwrap().unwrap()).collect();
                assert!(numbers.is_sorted(), "the order of one thread is kept");
            });
        }
    });
    assert_eq!(client.get("n").unwrap().unwrap().bytes, b"1600");
}

#[test]
fn a_thousand_operations_are_in_flight() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    let mut pending = VecDeque::new();
    for number in 0..20_000_u32 {
        let key = format!("k{}", number % 3_000);
        client.set(&key, number.to_string(), NEVER).unwrap().ignore();
        pending.push_back((number, client.fetch(&key).unwrap()));
        if pending.len() > 1_000
            && let Some((number, get)) = pending.pop_front()
        {
            assert_eq!(get.wait().unwrap().unwrap().bytes, number.to_string().into_bytes());
        }
    }
}

/// Wakes a thread that polls.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(SOON),
        }
    }
}

#[test]
fn tasks_await_operations_on_any_executor() {
    let server = Memcached::unix(&[]);
    let client = server.client();
    block_on(async {
        for number in 0..200_u32 {
            client.set("k", number.to_string(), NEVER).unwrap().await.unwrap();
            let value = client.fetch("k").unwrap().await.unwrap().unwrap();
            assert_eq!(value.bytes, number.to_string().into_bytes());
        }
    });
    server.pause();
    let begun = Instant::now();
    let late = client.with_timeout(Duration::from_millis(50)).fetch("k").unwrap();
    assert_eq!(block_on(late).unwrap_err(), Error::Timeout);
    assert!(begun.elapsed() < Duration::from_secs(1));
    server.resume();
}
