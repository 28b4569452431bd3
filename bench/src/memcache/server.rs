//! memcached with one thread, and every key of the load stored in it.
//!
//! The server counts the sets that reach it, so that a client that loses some is found out.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::services::{Service, Start, version};

/// Keys of the load. Key and value are those of bench/peers/memcache/rust/src/load.rs.
pub(super) const KEYS: usize = 10_000;
/// Bytes of a value.
pub(super) const VALUE_BYTES: usize = 100;
/// Time for sets that the server has not executed when the load's last get is answered.
const SETS_MAX: Duration = Duration::from_secs(2);
/// Time for an answer of the server.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Its package.
pub(super) fn version() -> String {
    version::of("memcached")
}

/// A running memcached.
pub(super) struct Memcached {
    pub(super) service: Service,
    control: BufReader<TcpStream>,
}

impl Memcached {
    /// Starts it with all keys.
    pub(super) fn start(start: &Start<'_>) -> Result<Self> {
        let service = start.service("memcached", |_, port| {
            let mut memcached = start.command("memcached");
            memcached.args(["-u", "root", "-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-t", "1"]);
            Ok(memcached)
        })?;
        service.await_port()?;
        let control = TcpStream::connect(service.address())?;
        control.set_read_timeout(Some(ANSWER_MAX))?;
        let mut memcached = Self { service, control: BufReader::new(control) };
        memcached.store_keys()?;
        Ok(memcached)
    }

    /// Sets since its start.
    pub(super) fn sets(&mut self) -> Result<u64> {
        self.control.get_mut().write_all(b"stats\r\n")?;
        let mut sets = None;
        loop {
            let mut line = String::new();
            if self.control.read_line(&mut line)? == 0 {
                bail!("memcached has ended");
            }
            match line.trim_end() {
                "END" => return sets.context("memcached counts no sets"),
                line => sets = line.strip_prefix("STAT cmd_set ").map(str::parse).transpose()?.or(sets),
            }
        }
    }

    /// Waits until it has executed so many sets since its start; an error when there are fewer or more.
    pub(super) fn await_sets(&mut self, expected: u64) -> Result<()> {
        let begun = Instant::now();
        loop {
            let sets = self.sets()?;
            if sets == expected {
                return Ok(());
            }
            if sets > expected || begun.elapsed() > SETS_MAX {
                bail!("memcached has executed {sets} sets in place of {expected}");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn store_keys(&mut self) -> Result<()> {
        let mut commands = Vec::new();
        for key in 0..KEYS {
            let name = name(key);
            commands.extend_from_slice(format!("set {name} 0 0 {VALUE_BYTES} noreply\r\n").as_bytes());
            commands.extend(name.bytes().cycle().take(VALUE_BYTES));
            commands.extend_from_slice(b"\r\n");
        }
        commands.extend_from_slice(b"mn\r\n");
        self.control.get_mut().write_all(&commands)?;
        let mut answer = [0; 4];
        self.control.read_exact(&mut answer)?;
        if answer != *b"MN\r\n" {
            bail!("memcached refuses a set");
        }
        Ok(())
    }
}

/// A key.
pub(super) fn name(key: usize) -> String {
    format!("key:{key:08}")
}
