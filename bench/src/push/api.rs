//! The public HTTP API, asked one thing at a time over a connection that waits for its answer. It
//! only prepares a measurement; the measured loads have clients of their own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

use super::platform::Platform;
use crate::wire::http;

/// A server that takes longer for one request has failed.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Whatever a server does by itself is done by then.
const SETTLE_MAX: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Nobody may keep a connection quiet for longer, so that it is made anew.
const QUIET_MAX: Duration = Duration::from_secs(3);

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// A caller of the API.
pub(super) struct Api<'a> {
    platform: &'a Platform,
    stream: Box<dyn Stream>,
    used: Instant,
    out: Vec<u8>,
    input: Vec<u8>,
}

/// When something was asked, and when the answer was there.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) asked: Instant,
    pub(super) answered: Instant,
}

impl<'a> Api<'a> {
    /// Connects.
    pub(super) fn connect(platform: &'a Platform) -> Result<Self> {
        let stream = connect(platform)?;
        Ok(Self { platform, stream, used: Instant::now(), out: Vec::new(), input: Vec::new() })
    }

    /// What a path shows.
    pub(super) fn look(&mut self, path: &str) -> Result<Value> {
        self.ask("GET", path, "").map(|(value, _)| value)
    }

    /// Asks; an error unless the answer is 2xx. It retries where the answer asks for it.
    pub(super) fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<(Value, Times)> {
        loop {
            let (status, answer, times) = self.exchange(method, path, body)?;
            match status {
                200..300 => return Ok((serde_json::from_slice(&answer)?, times)),
                503 => std::thread::sleep(LOOK_EVERY),
                _ => bail!("{method} {path} was answered {status}: {}", String::from_utf8_lossy(&answer)),
            }
        }
    }

    /// The sum of a metric over its labels.
    pub(super) fn metric(&mut self, name: &str) -> Result<f64> {
        let (status, answer, _) = self.exchange("GET", "/metrics", "")?;
        let text = String::from_utf8(answer)?;
        if status != 200 {
            bail!("GET /metrics was answered {status}: {text}");
        }
        let values = text.lines().filter_map(|line| {
            let (of, value) = line.rsplit_once(' ')?;
            (of.split('{').next() == Some(name)).then(|| value.parse::<f64>())
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        if values.is_empty() {
            bail!("the server has no metric {name}");
        }
        Ok(values.iter().sum())
    }

    /// A metric once it has not changed for a second.
    pub(super) fn settled_metric(&mut self, name: &str) -> Result<f64> {
        let until = Instant::now() + SETTLE_MAX;
        let mut last = self.metric(name)?;
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.metric(name)?;
            if now == last {
                return Ok(now);
            }
            if Instant::now() > until {
                bail!("{name} does not come to rest");
            }
            last = now;
        }
    }

    /// Looks at `path` until what it shows is `as_it_must_be`.
    pub(super) fn wait_until(
        &mut self,
        path: &str,
        what: &str,
        as_it_must_be: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let until = Instant::now() + SETTLE_MAX;
        loop {
            let shown = self.look(path)?;
            if as_it_must_be(&shown) {
                return Ok(shown);
            }
            if Instant::now() > until {
                bail!("{what} did not come within {SETTLE_MAX:?}: {shown}");
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, Vec<u8>, Times)> {
        if self.used.elapsed() > QUIET_MAX {
            self.stream = connect(self.platform)?;
            self.input.clear();
        }
        self.out.clear();
        http::request(method, path, Some(self.platform.server.key()), body.as_bytes(), &mut self.out);
        let asked = Instant::now();
        self.stream.write_all(&self.out)?;
        self.stream.flush()?;
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some((answer, length)) = http::parse(&self.input)? {
                let answered = Instant::now();
                let (status, body) = (answer.status, answer.body.to_vec());
                self.input.drain(..length);
                self.used = answered;
                return Ok((status, body, Times { asked, answered }));
            }
            let read = self.stream.read(&mut chunk).with_context(|| format!("{method} {path}"))?;
            if read == 0 {
                bail!("{method} {path}: the server closed the connection");
            }
            self.input.extend_from_slice(&chunk[..read]);
        }
    }
}

fn connect(platform: &Platform) -> Result<Box<dyn Stream>> {
    let address = platform.server.http();
    let socket = TcpStream::connect(address).with_context(|| format!("connect to {address}"))?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(ANSWER_MAX))?;
    Ok(match platform.tls() {
        None => Box::new(socket),
        Some(config) => {
            let tls = ClientConnection::new(Arc::clone(config), ServerName::try_from("localhost")?)?;
            let mut stream = StreamOwned::new(tls, socket);
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock)?;
            }
            Box::new(stream)
        }
    })
}
