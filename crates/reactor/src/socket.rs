//! Sockets made as the settings say, before the loop takes them as bare descriptors.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{IntoRawFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::settings::{SocketSettings, UdpSettings, UdpSharing};
use crate::sys;

fn apply(socket: &SockRef<'_>, settings: &SocketSettings) -> io::Result<()> {
    if let Some(bytes) = settings.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = settings.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.set_tcp_nodelay(settings.nodelay)?;
    if let Some(keepalive) = settings.keepalive {
        socket.set_tcp_keepalive(
            &TcpKeepalive::new()
                .with_time(Duration::from_millis(keepalive.idle_ms.max(1_000)))
                .with_interval(Duration::from_millis(keepalive.interval_ms.max(1_000)))
                .with_retries(keepalive.count),
        )?;
    }
    if let Some(ms) = settings.user_timeout_ms {
        socket.set_tcp_user_timeout(Some(Duration::from_millis(ms.into())))?;
    }
    Ok(())
}

/// A listening socket. Linux hands its options down to what it accepts, so that an accept is one call.
pub(crate) fn listen(address: SocketAddr, settings: &SocketSettings) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(settings.reuse_address)?;
    socket.set_reuse_port(true)?;
    apply(&SockRef::from(&socket), settings)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(settings.backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// A socket whose connection to `address` has begun.
pub(crate) fn connect(
    address: SocketAddr,
    bind: Option<SocketAddr>,
    settings: &SocketSettings,
) -> io::Result<RawFd> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    apply(&SockRef::from(&socket), settings)?;
    if let Some(bind) = bind {
        socket.set_reuse_address(settings.reuse_address)?;
        let socket_fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
        sys::bind_without_port(socket_fd);
        socket.bind(&bind.into())?;
    }
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into_raw_fd())
}

/// A bound UDP socket.
pub(crate) fn udp(address: SocketAddr, settings: &UdpSettings) -> io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking(), Some(Protocol::UDP))?;
    if settings.share == UdpSharing::Shared {
        socket.set_reuse_port(true)?;
    }
    if let Some(bytes) = settings.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = settings.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::KeepAlive;

    #[test]
    fn what_is_accepted_has_the_listeners_options() {
        let settings = SocketSettings {
            send_buffer_bytes: Some(32 * 1024),
            receive_buffer_bytes: Some(48 * 1024),
            keepalive: Some(KeepAlive { idle_ms: 61_000, interval_ms: 7_000, count: 3 }),
            user_timeout_ms: Some(12_345),
            ..SocketSettings::default()
        };
        let listening = listen("127.0.0.1:0".parse().expect("an address"), &settings).expect("a free port");
        listening.set_nonblocking(false).expect("it can wait");
        let address = listening.local_addr().ok().and_then(|address| address.as_socket()).expect("bound");
        let fd =
            connect(address, Some("127.0.0.1:0".parse().expect("an address")), &settings).expect("a socket");
        let (accepted, _) = listening.accept().expect("the client");
        assert!(accepted.tcp_nodelay().expect("an option"));
        assert!(accepted.keepalive().expect("an option"));
        assert_eq!(accepted.tcp_keepalive_time().expect("an option"), Duration::from_secs(61));
        assert_eq!(accepted.tcp_keepalive_interval().expect("an option"), Duration::from_secs(7));
        assert_eq!(accepted.tcp_keepalive_retries().expect("an option"), 3);
        assert_eq!(accepted.tcp_user_timeout().expect("an option"), Some(Duration::from_millis(12_345)));
        // The kernel doubles what is asked, for its own bookkeeping.
        assert_eq!(accepted.send_buffer_size().expect("an option"), 64 * 1024);
        assert_eq!(accepted.recv_buffer_size().expect("an option"), 96 * 1024);
        sys::close(fd);
    }
}
