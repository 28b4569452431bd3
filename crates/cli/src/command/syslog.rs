//! Messages of syslog (RFC 5424) over UDP (RFC 5426), TCP (RFC 6587, octet counting) or the socket
//! of this machine.
//!
//! A message is an entry of the audit log: facility 13, *log audit*; severity 6 where the change
//! was made, and 4 where it was refused.

use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

/// Facility *log audit*, in the place that it has in a priority.
const FACILITY: u16 = 13 << 3;

/// Severities: informational, and warning.
const MADE: u16 = 6;
const REFUSED: u16 = 4;

/// Time for a connection to the collector, and for each message.
const PATIENCE: Duration = Duration::from_secs(10);

/// A collector of syslog messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Syslog {
    /// Datagrams.
    Udp(String),
    /// A stream.
    Tcp(String),
    /// A socket of this machine.
    Socket(PathBuf),
}

impl fmt::Display for Syslog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp://{address}"),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Socket(path) => path.display().fmt(f),
        }
    }
}

impl Syslog {
    /// Reads `udp://HOST:PORT`, `tcp://HOST:PORT` or the path of a socket.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let has_port = |address: &str| {
            address
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        match text.split_once("://") {
            Some(("udp", address)) if has_port(address) => Ok(Self::Udp(address.to_owned())),
            Some(("tcp", address)) if has_port(address) => Ok(Self::Tcp(address.to_owned())),
            None if text.starts_with('/') => Ok(Self::Socket(text.into())),
            _ => Err("expected udp://HOST:PORT, tcp://HOST:PORT or the path of a socket".to_owned()),
        }
    }

    /// Reaches the collector.
    pub(crate) fn open(&self) -> io::Result<Sender> {
        let first = |address: &str| {
            address.to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the name has no address"))
        };
        let way = match self {
            Self::Udp(address) => {
                let to = first(address)?;
                let from: SocketAddr = match to {
                    SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
                    SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
                };
                let socket = UdpSocket::bind(from)?;
                socket.connect(to)?;
                Way::Udp(socket)
            }
            Self::Tcp(address) => {
                let stream = TcpStream::connect_timeout(&first(address)?, PATIENCE)?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Way::Tcp(stream)
            }
            Self::Socket(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                Way::Socket(socket)
            }
        };
        Ok(Sender { way })
    }
}

/// The way to a collector.
pub(crate) struct Sender {
    way: Way,
}

enum Way {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Socket(UnixDatagram),
}

impl Sender {
    /// Sends a line of the audit log.
    pub(crate) fn send(&mut self, line: &str) -> io::Result<()> {
        let message = message(line);
        match &mut self.way {
            Way::Udp(socket) => socket.send(message.as_bytes()).map(drop),
            Way::Socket(socket) => socket.send(message.as_bytes()).map(drop),
            Way::Tcp(stream) => stream.write_all(format!("{} {message}", message.len()).as_bytes()),
        }
    }
}

/// A line as a message: the time of the entry, no host (the collector knows it), the line itself.
fn message(line: &str) -> String {
    let entry: Value = serde_json::from_str(line).unwrap_or_default();
    let at = entry["at"].as_str().unwrap_or("-");
    let is_refused = entry["status"].as_u64().is_some_and(|status| status >= 400);
    let priority = FACILITY + if is_refused { REFUSED } else { MADE };
    format!("<{priority}>1 {at} - stadium - audit - {line}")
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    const MADE_LINE: &str = r#"{"at":"2026-11-25T08:00:00Z","key":"k_1","status":201}"#;
    const REFUSED_LINE: &str = r#"{"at":"2026-11-25T08:00:01Z","key":"k_1","status":403}"#;

    #[test]
    fn addresses_are_read() {
        for text in ["udp://127.0.0.1:514", "tcp://[::1]:6514", "udp://collector.example:514", "/dev/log"] {
            assert_eq!(Syslog::parse(text).expect("right").to_string(), text);
        }
        for wrong in ["", "127.0.0.1:514", "udp://", "udp://host", "http://host:514", "tcp://:514"] {
            assert!(Syslog::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_collector_gets_each_line_with_its_severity() {
        let collector = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        collector.set_read_timeout(Some(PATIENCE)).expect("a socket option");
        let to = Syslog::Udp(collector.local_addr().expect("bound").to_string());
        let mut sender = to.open().expect("it is reached");
        for (line, priority, second) in [(MADE_LINE, 110, 0), (REFUSED_LINE, 108, 1)] {
            sender.send(line).expect("it is sent");
            let mut bytes = [0; 1_024];
            let length = collector.recv(&mut bytes).expect("it arrives");
            let expected = format!("<{priority}>1 2026-11-25T08:00:0{second}Z - stadium - audit - {line}");
            assert_eq!(std::str::from_utf8(&bytes[..length]), Ok(expected.as_str()));
        }
    }

    #[test]
    fn messages_of_a_stream_begin_with_their_length() {
        let collector = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let to = Syslog::Tcp(collector.local_addr().expect("bound").to_string());
        let mut sender = to.open().expect("it is reached");
        let (mut stream, _) = collector.accept().expect("it connects");
        sender.send(MADE_LINE).expect("it is sent");
        sender.send(REFUSED_LINE).expect("it is sent");
        drop(sender);
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it is text");
        let (one, two) = (message(MADE_LINE), message(REFUSED_LINE));
        assert_eq!(text, format!("{} {one}{} {two}", one.len(), two.len()));
    }
}
