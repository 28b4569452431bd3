//! The example service geo, as a process: it follows devices, and forgets them when it ends.
//!
//! `STADIUM_GEO` names its binary; without it the development build is used, and built first. Events are stored by frames and
//! Protocol Buffers written by hand.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::rsocket::{Raw, kind, request};

/// A running service. Killed when dropped.
#[derive(Debug)]
pub struct Geo {
    child: Child,
    /// Its later output goes nowhere, but into a pipe that somebody holds.
    _out: BufReader<ChildStdout>,
    calls: Raw,
    stream: u32,
}

/// Where a device is seen.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its MQTT client id.
    pub device: &'a str,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Degrees.
    pub latitude: f64,
    /// Degrees.
    pub longitude: f64,
}

impl Geo {
    /// Starts it at an address, and waits until it listens.
    pub fn start(address: SocketAddr) -> Result<Self> {
        let mut child = Command::new(binary()?)
            .args(["--listen", &address.to_string(), "--log-level", "warn"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start geo-service")?;
        let mut out = BufReader::new(child.stdout.take().context("standard output is a pipe")?);
        let mut line = String::new();
        out.read_line(&mut line)?;
        if line.trim_end() != format!("geo 1 listens on {address}") {
            // It is of no use without an address.
            let _ = child.kill();
            let _ = child.wait();
            anyhow::bail!("geo-service printed {line:?}");
        }
        Ok(Self { child, _out: out, calls: Raw::set_up(address)?, stream: 1 })
    }

    /// Stores an event, which must be taken.
    pub fn store(&mut self, event: &Event<'_>) -> Result<()> {
        let stream = self.stream;
        self.stream += 2;
        self.calls.send(&request(stream, "geo/Store", &event.encode()))?;
        let answer = self.calls.frame_of(stream)?;
        ensure!(answer.kind == kind::PAYLOAD, "{event:?}: {}", String::from_utf8_lossy(&answer.body));
        Ok(())
    }

    /// Kills it: its locations are gone.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Geo {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Event<'_> {
    /// As a geo.v1.GeoEvent that is significant.
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![0x0a, u8::try_from(self.device.len()).expect("a short id")];
        out.extend_from_slice(self.device.as_bytes());
        out.push(0x10);
        let mut left = self.at_ms;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
        for (tag, degrees) in [(0x19, self.latitude), (0x21, self.longitude)] {
            out.push(tag);
            out.extend_from_slice(&degrees.to_le_bytes());
        }
        out.extend_from_slice(&[0x28, 1]);
        out
    }
}

fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("STADIUM_GEO") {
        let named = PathBuf::from(named);
        ensure!(named.is_file(), "STADIUM_GEO = {} is not there", named.display());
        return Ok(named);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("testing/ is in the workspace")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--quiet", "--package", "stadium-example-geo", "--bins"])
        .status()
        .context("cannot run cargo; name the binary in STADIUM_GEO")?;
    ensure!(built.success(), "`cargo build --package stadium-example-geo` failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let binary = target.join("debug/geo-service");
    ensure!(binary.is_file(), "{} was not built", binary.display());
    Ok(binary)
}
