//! Messages to the service manager that started the process, as sd_notify(3) defines them.
//!
//! A message is one datagram to the socket that `NOTIFY_SOCKET` names: a path, or a name of Linux's
//! abstract namespace after `@`. Without the variable nothing is sent. The server serves whether or
//! not the manager listens, so a message that cannot be sent is logged and nothing else.
//! `Type=notify` of a systemd unit waits for [`State::Ready`]; [`crate::run`] decides when each
//! state begins.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// The variable with the address of the service manager's socket.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// A state of the server that a service manager acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// The listeners accept connections.
    Ready,
    /// Certificates, keys, passwords and rules are being read again; [`State::Ready`] follows.
    Reloading,
    /// The drain has begun.
    Stopping,
}

impl State {
    /// The text of the datagram: one assignment on each line.
    fn text(self) -> String {
        match self {
            Self::Ready => "READY=1\nSTATUS=Serving".to_owned(),
            // The manager compares this time with its own reading of the same clock.
            Self::Reloading => format!(
                "RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reading certificates, keys and rules again",
                monotonic_us()
            ),
            Self::Stopping => "STOPPING=1\nSTATUS=Draining: devices are being moved away".to_owned(),
        }
    }
}

/// The service manager, where there is one.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
}

impl ServiceManager {
    /// The one that started this process.
    pub(crate) fn of_process() -> Self {
        let Some(name) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else {
            return Self { socket: None };
        };
        Self::at(&name).unwrap_or_else(|error| {
            tracing::warn!(address = ?name, %error, "NOTIFY_SOCKET names no socket; the service manager is not notified");
            Self { socket: None }
        })
    }

    /// The one whose socket has this address.
    fn at(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "neither a path nor @ and a name")),
        };
        let socket = UnixDatagram::unbound()?;
        // A manager that reads nothing must not hold up a drain.
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Some((socket, address)) })
    }

    /// Sends the state.
    pub(crate) fn notify(&self, state: State) {
        let Some((socket, address)) = &self.socket else { return };
        if let Err(error) = socket.send_to_addr(state.text().as_bytes(), address) {
            tracing::warn!(?state, %error, "The service manager cannot be notified");
        }
    }
}

/// Microseconds of the monotonic clock.
fn monotonic_us() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    use std::time::Duration;

    use super::{ServiceManager, State, monotonic_us};

    fn received(manager: &UnixDatagram) -> String {
        manager.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket takes a timeout");
        let mut buffer = [0; 512];
        let length = manager.recv(&mut buffer).expect("a state was sent");
        String::from_utf8(buffer[..length].to_vec()).expect("states are text")
    }

    #[test]
    fn each_state_is_one_datagram() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).expect("a socket can be bound");
        let server = ServiceManager::at(path.as_os_str()).expect("the path names a socket");

        let before = monotonic_us();
        server.notify(State::Reloading);
        server.notify(State::Ready);
        server.notify(State::Stopping);

        let reloading = received(&manager);
        let time = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
        let time: i64 = time.expect("it has a time").parse().expect("the time is a number");
        assert!(reloading.starts_with("RELOADING=1\n"), "{reloading}");
        assert!((before..=monotonic_us()).contains(&time), "{reloading}");
        assert!(received(&manager).starts_with("READY=1\n"));
        assert!(received(&manager).starts_with("STOPPING=1\n"));
    }

    #[test]
    fn an_abstract_name_follows_an_at_sign() {
        let name = format!("stadium-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("the name is short");
        let manager = UnixDatagram::bind_addr(&address).expect("a socket can be bound");
        let server = ServiceManager::at(&OsString::from(format!("@{name}"))).expect("it names a socket");
        server.notify(State::Ready);
        assert!(received(&manager).starts_with("READY=1\n"));
    }

    #[test]
    fn an_address_of_neither_kind_is_refused() {
        assert!(ServiceManager::at("notify".as_ref()).is_err());
    }

    #[test]
    fn a_manager_that_has_gone_does_not_stop_the_server() {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let path = folder.path().join("notify");
        drop(UnixDatagram::bind(&path).expect("a socket can be bound"));
        ServiceManager::at(path.as_os_str()).expect("the path names a socket").notify(State::Ready);
    }
}
