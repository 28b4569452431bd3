//! The servers that a command is about, and what their errors are to a script.

use std::time::Duration;

use clap::{Args, ValueEnum};
use stadium_memcache::{Client, Config, Error, Routing};

use crate::failure::Failure;
use crate::span;

/// Bytes of a value that a command carries: as a payload of a queue. The server's own bound (`-I`) is 1 MiB
/// unless raised.
pub(super) const VALUE_BYTES_MAX: usize = 64 << 20;

/// The servers, and how keys are assigned to them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Servers")]
pub(super) struct Servers {
    /// HOST:PORT, HOST for port 11211, or the path of a Unix socket; several with commas, or repeated
    #[arg(
        long,
        value_name = "SERVER",
        env = "STADIUM_MEMCACHE",
        value_delimiter = ',',
        default_value = "127.0.0.1:11211"
    )]
    servers: Vec<String>,
    /// Which server has a key, as your applications have it
    #[arg(long, value_enum, default_value_t = By::Rendezvous)]
    routing: By,
    /// Put before every key, such as `stadium:`
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    namespace: String,
    /// Longest wait for an answer: 50ms, 1s
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = timeout)]
    timeout: u64,
}

/// The rule that assigns keys to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// As Stadium's clients do unless set otherwise
    Rendezvous,
    /// The ring of libmemcached and Xmemcached
    Ketama,
}

fn timeout(text: &str) -> Result<u64, String> {
    match span::parse(text)? {
        milliseconds @ 1..=3_600_000 => Ok(milliseconds),
        _ => Err("must be 1ms to 1h".to_owned()),
    }
}

impl Servers {
    /// A client of them, which has connected to none yet.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let timeout = Duration::from_millis(self.timeout);
        let wrong = |error: Error| Failure::Usage(format!("--servers: {error}"));
        let servers = self.servers.iter().map(|server| server.trim()).filter(|server| !server.is_empty());
        let config = Config {
            routing: match self.routing {
                By::Rendezvous => Routing::Rendezvous,
                By::Ketama => Routing::Ketama,
            },
            prefix: self.namespace.clone().into_bytes(),
            timeout,
            connect_timeout: timeout,
            stall: timeout,
            value_bytes_max: VALUE_BYTES_MAX,
            unsent_bytes_max: 2 * VALUE_BYTES_MAX,
            ..Config::for_servers(servers).map_err(wrong)?
        };
        Client::with(config).map_err(wrong)
    }
}

/// An error of the client, as an exit code.
pub(super) fn failure(what: impl std::fmt::Display, error: &Error) -> Failure {
    let text = format!("{what}: {error}");
    match error {
        Error::Timeout => Failure::Deadline(text),
        Error::Disconnected(_) | Error::Protocol(_) | Error::Uncertain(_) => Failure::Unavailable(text),
        Error::Busy => Failure::Busy(text),
        Error::Client(_) | Error::TooLarge { .. } => Failure::Rejected(text),
        Error::BadKey(_) | Error::Config(_) => Failure::Usage(text),
        _ => Failure::Failed(text),
    }
}
