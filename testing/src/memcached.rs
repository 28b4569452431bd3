//! A memcached of a suite's own: killed, started again at the same port, paused, filled, forged.
//!
//! It is the real one, of the package `memcached`. [`Memcached::ask`] speaks its text protocol, so that a suite
//! sees, and changes, what anybody on the network could.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::certificates::{Authority, Identity};
use crate::deadline::{PATIENCE, until};
use crate::mortal::{Mortal, command};
use crate::ports;

/// Bytes of a value that fills a server quickly.
const FILLING_BYTES: usize = 8_000;

/// A server process on loopback.
#[derive(Debug)]
pub struct Memcached {
    process: Option<Mortal>,
    arguments: Vec<String>,
    /// Its address.
    pub address: SocketAddr,
}

impl Memcached {
    /// Starts one and waits until it answers.
    pub fn start(arguments: &[&str]) -> Result<Self> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let mut server = Self { process: None, arguments, address: ports::free()? };
        server.restart()?;
        Ok(server)
    }

    /// Starts one with TLS (`-Z`), which asks for certificates of this authority.
    pub fn with_tls(authority: &Authority, identity: &Identity, arguments: &[&str]) -> Result<Self> {
        let options = format!(
            "ssl_chain_cert={},ssl_key={},ssl_verify_mode=2,ssl_ca_cert={}",
            identity.certificate.display(),
            identity.key.display(),
            authority.file().display()
        );
        Self::start(&[&["-Z", "-o", &options][..], arguments].concat())
    }

    /// Starts it where it does not run, at the same address and empty.
    pub fn restart(&mut self) -> Result<()> {
        self.kill();
        let mut command = command("memcached");
        command.args(["-u", "root", "-t", "1", "-U", "0", "-l", "127.0.0.1", "-p"]);
        command.arg(self.address.port().to_string()).args(&self.arguments);
        self.process = Some(Mortal::start(&mut command));
        until(PATIENCE, "memcached", || Ok(Some(self.answers()?)))
    }

    /// Fails while it does not run yet. With `-Z` it can only be connected to here.
    fn answers(&self) -> Result<()> {
        if self.arguments.iter().any(|argument| argument == "-Z") {
            return Ok(TcpStream::connect_timeout(&self.address, PATIENCE).map(drop)?);
        }
        self.ask("mn\r\n", "\r\n").map(drop)
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Stops it where it stands, until [`Self::resume`].
    pub fn pause(&self) {
        self.process.as_ref().expect("it runs").pause();
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.process.as_ref().expect("it runs").go_on();
    }

    /// Sends this, and reads until the answer ends so.
    pub fn ask(&self, text: impl AsRef<[u8]>, end: &str) -> Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(text.as_ref())?;
        let mut answer = Vec::new();
        let mut buffer = [0; 16_384];
        while !answer.ends_with(end.as_bytes()) {
            let read = stream.read(&mut buffer).context("no whole answer")?;
            ensure!(read > 0, "the connection ended after {:?}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&buffer[..read]);
        }
        Ok(answer)
    }

    /// A number in the answer to `stats`.
    pub fn statistic(&self, name: &str) -> Result<u64> {
        let text = String::from_utf8(self.ask("stats\r\n", "END\r\n")?)?;
        let line = format!("STAT {name} ");
        let value = text.lines().find_map(|found| found.strip_prefix(&line)).context("no such statistic")?;
        Ok(value.trim().parse()?)
    }

    /// Every key, in no order. Not while others write: the server lists what they moved once more.
    pub fn keys(&self) -> Result<Vec<String>> {
        let dump = String::from_utf8(self.ask("lru_crawler metadump all\r\n", "END\r\n")?)?;
        let key = |line: &str| Some(plain(line.strip_prefix("key=")?.split(' ').next()?));
        Ok(dump.lines().filter_map(key).collect())
    }

    /// A value; none where there is none.
    pub fn value(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let answer = self.ask(format!("get {key}\r\n"), "END\r\n")?;
        let Some(head) = answer.windows(2).position(|two| two == b"\r\n") else { bail!("no line") };
        let line = std::str::from_utf8(&answer[..head])?;
        let Some(bytes) = line.strip_prefix("VALUE ").and_then(|line| line.rsplit(' ').next()) else {
            return Ok(None);
        };
        let bytes: usize = bytes.parse()?;
        Ok(Some(answer[head + 2..head + 2 + bytes].to_vec()))
    }

    /// Puts a value under a key, as anybody could.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<()> {
        let mut text = format!("set {key} 0 0 {}\r\n", value.len()).into_bytes();
        text.extend_from_slice(value);
        text.extend_from_slice(b"\r\n");
        self.ask(text, "STORED\r\n").map(drop)
    }

    /// Fills it with values of all sizes until it takes none any more; it needs `-M`.
    pub fn fill(&self) -> Result<()> {
        for bytes in [FILLING_BYTES, 1_000, 300, 150, 60, 1] {
            let value = "x".repeat(bytes);
            let store = |n: u64| {
                let answer = self.ask(format!("set fill:{bytes}:{n} 0 0 {bytes}\r\n{value}\r\n"), "\r\n")?;
                Ok::<_, anyhow::Error>(answer.starts_with(b"SERVER_ERROR"))
            };
            let mut n = 0;
            while !store(n)? {
                n += 1;
                ensure!(n < 100_000, "it takes everything: start it with -M");
            }
        }
        Ok(())
    }
}

/// A key without its percent-encoding.
fn plain(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(part.len().min(2));
        plain.push(u8::from_str_radix(digits, 16).map_or('%', char::from));
        plain.push_str(rest);
    }
    plain
}
