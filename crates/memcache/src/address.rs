//! Addresses of servers: a host and a port, or a Unix socket.
//!
//! A name is looked up when a connection is made, not here.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::Error;

/// The port where an address names none.
const PORT: u16 = 11_211;

/// The address of a server.
///
/// Read from text: `host`, `host:port`, `[::1]:port`, or the path of a Unix socket, which begins
/// with `/`. The port is 11211 where none is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP port. The name is looked up at each connect.
    Tcp {
        /// A name or an IP address.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Config(format!("`{text}` is no address of a server").into());
        if text.starts_with('/') {
            return Ok(Self::Unix(text.into()));
        }
        let (host, port) = match text.rsplit_once(':') {
            // An IPv6 address without brackets has no port.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, PORT),
            Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
            None => (text, PORT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self::Tcp { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(out, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(out, "{host}:{port}"),
            Self::Unix(path) => write!(out, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown() {
        for (text, shown) in [
            ("cache", "cache:11211"),
            ("cache:5", "cache:5"),
            ("[::1]:5", "[::1]:5"),
            ("::1", "[::1]:11211"),
            ("/run/memcached.sock", "/run/memcached.sock"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
        for text in ["", ":5", "cache:", "cache:0", "cache:99999"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
