//! Seeded faults between the client and real servers: every call ends by its deadline, no acknowledged
//! write is lost, and operations on a key keep their order.
//!
//! The servers live; a relay before each stalls, slows, cuts, or answers garbage. It takes a next
//! connection when the server has read all of the one before: what arrives later than a newer write
//! cannot be told from a client that reorders.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stadium_memcache::{Client, Config, Error, Expiry, Value};
use tokio::runtime::{Builder, Runtime};

use crate::memcached::{Memcached, SOON};

const PASS: u8 = 0;
const STALL: u8 = 1;
const SLOW: u8 = 2;
const CUT: u8 = 3;
const GARBAGE: u8 = 4;

const TIMEOUT: Duration = Duration::from_millis(60);

/// Above its deadline a call may take this long on a busy machine.
const SLACK: Duration = Duration::from_millis(400);

/// Time for which faults come.
const FAULTS: Duration = Duration::from_millis(900);

/// A relay before a server.
struct Relay {
    address: String,
    fault: Arc<AtomicU8>,
    is_over: Arc<AtomicBool>,
}

impl Relay {
    fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let relay =
            Self { address, fault: Arc::new(AtomicU8::new(PASS)), is_over: Arc::new(AtomicBool::new(false)) };
        let (fault, is_over, server) =
            (Arc::clone(&relay.fault), Arc::clone(&relay.is_over), server.to_owned());
        thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((front, _)) => pass_on(front, &server, &fault, &is_over),
                    Err(_) => thread::sleep(Duration::from_micros(200)),
                }
            }
        });
        relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// One connection, to its end.
fn pass_on(mut front: TcpStream, server: &str, fault: &AtomicU8, is_over: &AtomicBool) {
    let mut back = TcpStream::connect(server).unwrap();
    front.set_nonblocking(true).unwrap();
    back.set_nonblocking(true).unwrap();
    let mut buffer = [0; 8_192];
    'connection: while !is_over.load(Ordering::Relaxed) {
        let bytes_max = match fault.load(Ordering::Relaxed) {
            // Once: the next connection is a good one again.
            CUT => {
                fault.store(PASS, Ordering::Relaxed);
                break;
            }
            GARBAGE => {
                fault.store(PASS, Ordering::Relaxed);
                let _ = front.write_all(&[0xff; 64]);
                let _ = front.write_all(b"\r\n");
                break;
            }
            STALL => {
                // The client may leave meanwhile.
                match front.peek(&mut buffer[..1]) {
                    Ok(0) => break,
                    Err(error) if error.kind() != ErrorKind::WouldBlock => break,
                    _ => thread::sleep(Duration::from_micros(500)),
                }
                continue;
            }
            SLOW => 7,
            _ => buffer.len(),
        };
        let mut is_idle = true;
        for is_request in [true, false] {
            let (from, to) = if is_request { (&mut front, &mut back) } else { (&mut back, &mut front) };
            match from.read(&mut buffer[..bytes_max]) {
                Ok(0) => break 'connection,
                Ok(bytes) => {
                    is_idle = false;
                    let mut rest = &buffer[..bytes];
                    while !rest.is_empty() {
                        match to.write(rest) {
                            Ok(bytes) => rest = &rest[bytes..],
                            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
                            Err(_) => break 'connection,
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => break 'connection,
            }
        }
        if is_idle || bytes_max < buffer.len() {
            thread::sleep(Duration::from_micros(50));
        }
    }
    drop(front);
    // The server has read everything when it closes its end.
    back.set_nonblocking(false).unwrap();
    back.set_read_timeout(Some(SOON)).unwrap();
    let _ = back.shutdown(Shutdown::Write);
    while back.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {}
}

/// A caller in either form of the client.
enum Caller {
    Thread(Client),
    Task(Runtime, stadium_memcache::tokio::Client),
}

impl Caller {
    fn get(&self, key: &str) -> Result<Option<Value>, Error> {
        match self {
            Self::Thread(client) => client.get(key),
            Self::Task(runtime, client) => runtime.block_on(client.get(key)),
        }
    }

    fn set(&self, key: &str, value: u64, is_waited_for: bool) -> Result<(), Error> {
        let value = value.to_string();
        match self {
            Self::Thread(client) => {
                let pending = client.set(key, value, Expiry::Never)?;
                if is_waited_for {
                    return pending.wait();
                }
                pending.ignore();
                Ok(())
            }
            Self::Task(runtime, client) => runtime.block_on(async {
                let pending = client.set(key, value, Expiry::Never).await?;
                if is_waited_for {
                    return pending.await;
                }
                pending.ignore();
                Ok(())
            }),
        }
    }
}

/// A key of one caller: what it wrote, and what it knows of the server.
#[derive(Default)]
struct Known {
    key: String,
    written: u64,
    /// The greatest value that is acknowledged or was read.
    sure: u64,
}

impl Known {
    fn read(&mut self, caller: &Caller, context: &str) -> Result<(), Error> {
        let value = caller.get(&self.key)?.map_or(0, |value| {
            let text = String::from_utf8(value.bytes).expect("it is a number");
            text.parse().expect("it is a number")
        });
        let range = self.sure..=self.written;
        assert!(range.contains(&value), "{context}: {} has {value}, not {range:?}", self.key);
        self.sure = value;
        Ok(())
    }

    fn write(&mut self, caller: &Caller, is_waited_for: bool) -> Result<(), Error> {
        // One that failed may be written nevertheless.
        self.written += 1;
        caller.set(&self.key, self.written, is_waited_for)?;
        if is_waited_for {
            self.sure = self.written;
        }
        Ok(())
    }
}

fn run(seed: u64) {
    let servers = [Memcached::tcp(&[]), Memcached::tcp(&[])];
    let relays: Vec<Relay> = servers.iter().map(|server| Relay::start(&server.address)).collect();
    let config = Config {
        timeout: TIMEOUT,
        stall: Duration::from_millis(90),
        connect_timeout: Duration::from_millis(60),
        backoff_max: Duration::from_millis(50),
        eject_after: 3,
        eject_for: Duration::from_millis(50),
        ..Config::for_servers(relays.iter().map(|relay| &relay.address)).unwrap()
    };
    let client = Client::with(config).unwrap();
    let is_over = AtomicBool::new(false);
    let (mut succeeded, mut failed) = (0, 0);
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4_u64)
            .map(|number| {
                let (client, is_over) = (client.clone(), &is_over);
                let caller = if number < 3 {
                    Caller::Thread(client)
                } else {
                    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                    Caller::Task(runtime, client.into())
                };
                scope.spawn(move || call(&caller, number, seed, is_over))
            })
            .collect();
        let mut random = fastrand::Rng::with_seed(seed);
        let begun = Instant::now();
        while begun.elapsed() < FAULTS {
            let fault = [PASS, PASS, STALL, SLOW, CUT, GARBAGE][random.usize(0..6)];
            relays[random.usize(0..2)].fault.store(fault, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(random.u64(2..60)));
        }
        relays.iter().for_each(|relay| relay.fault.store(PASS, Ordering::Relaxed));
        is_over.store(true, Ordering::Relaxed);
        for caller in callers {
            let (good, bad) = caller.join().expect("its invariants hold");
            succeeded += good;
            failed += bad;
        }
    });
    println!("seed {seed}: {succeeded} operations succeeded, {failed} failed");
    assert!(succeeded > 100 && failed > 0, "seed {seed}: {succeeded}, {failed}");
    let begun = Instant::now();
    while client.metrics().servers.iter().any(|server| server.operations > 0) {
        assert!(begun.elapsed() < SOON, "seed {seed}: operations never end");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Calls until the faults are over, then checks what is there.
fn call(caller: &Caller, number: u64, seed: u64, is_over: &AtomicBool) -> (u32, u32) {
    let context = format!("seed {seed}, caller {number}");
    let mut random = fastrand::Rng::with_seed(seed ^ (number + 1) << 32);
    let mut keys: Vec<Known> =
        (0..3).map(|key| Known { key: format!("{number}:{key}"), ..Known::default() }).collect();
    let (mut succeeded, mut failed) = (0, 0);
    while !is_over.load(Ordering::Relaxed) {
        let known = &mut keys[random.usize(0..3)];
        let begun = Instant::now();
        let result = match random.u8(0..4) {
            0 => known.write(caller, true),
            1 => known.write(caller, false),
            _ => known.read(caller, &context),
        };
        let elapsed = begun.elapsed();
        assert!(elapsed < TIMEOUT + SLACK, "{context}: {elapsed:?}");
        match result {
            Ok(()) => succeeded += 1,
            Err(Error::Timeout | Error::Disconnected(_) | Error::Protocol(_) | Error::Busy) => {
                failed += 1;
                thread::sleep(Duration::from_micros(500));
            }
            Err(error) => panic!("{context}: {error:?}"),
        }
    }
    let begun = Instant::now();
    for known in &mut keys {
        for is_write in [false, true, false] {
            while if is_write { known.write(caller, true) } else { known.read(caller, &context) }.is_err() {
                assert!(begun.elapsed() < SOON, "{context}: it never works again");
                thread::sleep(Duration::from_millis(2));
            }
        }
        assert_eq!(known.sure, known.written);
    }
    (succeeded, failed)
}

#[test]
fn faults_at_random_break_no_promise() {
    // Together: each waits most of the time.
    thread::scope(|scope| {
        for seed in 1..=3 {
            scope.spawn(move || run(seed));
        }
    });
}
