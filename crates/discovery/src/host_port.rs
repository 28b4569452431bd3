//! `HOST:PORT`: where something listens, by IP address or by name.
//!
//! One that was read here can be connected to or looked up, and is never checked again. Looking names up is
//! [`crate::Resolver`]'s business.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Bytes of a host's name, RFC 1035 section 2.3.4.
const HOST_BYTES_MAX: usize = 253;
/// Bytes of one part of a host's name between two dots, RFC 1035 section 2.3.4.
const LABEL_BYTES_MAX: usize = 63;

/// `HOST:PORT`, where HOST is an IP address (IPv6 in brackets) or a name.
///
/// ```
/// use stadium_discovery::HostPort;
///
/// let by_name: HostPort = "geo.internal:7800".parse()?;
/// assert_eq!((by_name.host(), by_name.address()), ("geo.internal".to_owned(), None));
/// let error = "geo.internal".parse::<HostPort>().expect_err("there is no port");
/// assert_eq!(error.to_string(), "\"geo.internal\" is not HOST:PORT: the port is missing");
/// # Ok::<(), stadium_discovery::HostPortError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Address(SocketAddr),
    Name { host: String, port: u16 },
}

/// Why a text is not `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPortError {
    text: String,
    why: &'static str,
}

impl fmt::Display for HostPortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not HOST:PORT: {}", self.text, self.why)
    }
}

impl std::error::Error for HostPortError {}

impl HostPort {
    /// The address, where the host is one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match self.0 {
            Kind::Address(address) => Some(address),
            Kind::Name { .. } => None,
        }
    }

    /// The host without the port, and without the brackets of an IPv6 address.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.0 {
            Kind::Address(address) => address.ip().to_string(),
            Kind::Name { host, .. } => host.clone(),
        }
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self(Kind::Address(address))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Address(address) => write!(f, "{address}"),
            Kind::Name { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, HostPortError> {
        read(text).map(Self).map_err(|why| HostPortError {
            // A refused text may be long or hostile: only its beginning is repeated.
            text: text.chars().take(HOST_BYTES_MAX).collect(),
            why,
        })
    }
}

fn read(text: &str) -> Result<Kind, &'static str> {
    const NO_PORT: &str = "the port is missing";
    if let Ok(address) = text.parse::<SocketAddr>() {
        return if address.port() == 0 { Err(BAD_PORT) } else { Ok(Kind::Address(address)) };
    }
    let (host, port) = text.rsplit_once(':').ok_or(NO_PORT)?;
    let bare =
        host.contains(':') && host.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
    if host.starts_with('[') || bare {
        return Err("an IPv6 address is written as [ADDRESS]:PORT");
    }
    if host.is_empty() {
        return Err("the host is missing");
    }
    if port.is_empty() {
        return Err(NO_PORT);
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| digits && *port != 0).ok_or(BAD_PORT)?;
    check_host(host)?;
    Ok(Kind::Name { host: host.to_owned(), port })
}

const BAD_PORT: &str = "the port is not a number from 1 to 65535";

fn check_host(host: &str) -> Result<(), &'static str> {
    // The dot at the end of a name marks it as complete: nothing is searched for behind it.
    let labels = host.strip_suffix('.').unwrap_or(host);
    if labels.len() > HOST_BYTES_MAX {
        return Err("the host has more than 253 bytes");
    }
    for label in labels.split('.') {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !label.bytes().all(allowed) {
            return Err("the host has something other than letters, digits, `-`, `_` and `.`");
        }
        if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            return Err("each part of the host between two dots has 1 to 63 bytes");
        }
    }
    // The system would read `10.1` as 10.0.0.1. A user that writes so means an address and has it
    // wrong.
    let last = labels.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    if last.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err("the host ends in a number, and is no IP address");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_read_back_as_they_were_written() {
        for text in [
            "geo.internal:7800",
            "localhost:1",
            "geo_1:65535",
            "geo.internal.:80",
            "10-0-0-7.pods:80",
            "10.0.0.7:7800",
            "[2001:db8::7]:7800",
        ] {
            let read: HostPort = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.to_string(), text);
        }
        let by_address: HostPort = "[::1]:7800".parse().expect("an address");
        assert_eq!((by_address.host(), by_address.address()), ("::1".to_owned(), "[::1]:7800".parse().ok()));
    }

    #[test]
    fn bad_input_is_refused_with_what_is_wrong() {
        let label = format!("{}.internal:80", "n".repeat(64));
        let long = format!("{}n:80", "n.".repeat(127));
        for (text, why) in [
            ("", "port is missing"),
            ("geo.internal", "port is missing"),
            ("geo.internal:", "port is missing"),
            (":7800", "host is missing"),
            ("geo.internal:0", "from 1 to 65535"),
            ("geo.internal:70000", "from 1 to 65535"),
            ("geo.internal:+80", "from 1 to 65535"),
            ("geo.internal:http", "from 1 to 65535"),
            ("10.0.0.7:0", "from 1 to 65535"),
            ("10.0.0.7:70000", "from 1 to 65535"),
            ("10.0.0.300:80", "no IP address"),
            ("10.1:80", "no IP address"),
            ("127.0.0.0x1:80", "no IP address"),
            ("::1:7800", "[ADDRESS]:PORT"),
            ("[geo]:7800", "[ADDRESS]:PORT"),
            (" geo:7800", "letters, digits"),
            ("geo internal:7800", "letters, digits"),
            ("geo:7800 ", "from 1 to 65535"),
            ("http://geo:7800", "letters, digits"),
            ("ge\u{f6}:7800", "letters, digits"),
            ("geo..internal:80", "1 to 63 bytes"),
            (".:80", "1 to 63 bytes"),
            (&label, "1 to 63 bytes"),
            (&long, "253 bytes"),
        ] {
            let error = text.parse::<HostPort>().expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
