//! Sockets made by the settings, before the loop takes them as bare descriptors.
//!
//! A listening address is claimed here, so that a second server on it is refused.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{IntoRawFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::settings::{Sharing, SocketSettings, UdpSettings, UdpSharing};
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
pub(crate) fn listen(address: SocketAddr, sharing: Sharing, settings: &SocketSettings) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(settings.reuse_address)?;
    socket.set_reuse_port(sharing == Sharing::Joins)?;
    apply(&SockRef::from(&socket), settings)?;
    socket.bind(&address.into())?;
    // Two that claim an address at once may both have bound it (SO_REUSEADDR); only one of them can listen.
    socket.listen(i32::try_from(settings.backlog).unwrap_or(i32::MAX))?;
    socket.set_reuse_port(true)?;
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
    if settings.share == UdpSharing::Shared(Sharing::Joins) {
        socket.set_reuse_port(true)?;
    }
    if let Some(bytes) = settings.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = settings.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&address.into())?;
    if settings.share == UdpSharing::Shared(Sharing::Claims) {
        socket.set_reuse_port(true)?;
    }
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
        let address = "127.0.0.1:0".parse().expect("an address");
        let listening = listen(address, Sharing::Claims, &settings).expect("a free port");
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

    fn address(ip: &str, port: u16) -> SocketAddr {
        SocketAddr::new(ip.parse().expect("an address"), port)
    }

    fn port_of(socket: &Socket) -> u16 {
        socket.local_addr().ok().and_then(|bound| bound.as_socket()).expect("it is bound").port()
    }

    /// Whether the machine has the address: one without IPv6 has no `::1`.
    fn is_here(ip: &str) -> bool {
        std::net::UdpSocket::bind(address(ip, 0)).is_ok()
    }

    #[test]
    fn an_address_is_claimed_once_and_joined_by_many() {
        let settings = SocketSettings::default();
        for ip in ["127.0.0.1", "0.0.0.0", "::1", "::"].into_iter().filter(|ip| is_here(ip)) {
            let claimed = listen(address(ip, 0), Sharing::Claims, &settings).expect("a free port");
            let port = port_of(&claimed);
            let joined = (0..3).map(|_| listen(address(ip, port), Sharing::Joins, &settings));
            let joined: Vec<Socket> = joined.collect::<Result<_, _>>().expect("the claimed address");
            let again = listen(address(ip, port), Sharing::Claims, &settings).expect_err("it is claimed");
            assert_eq!(again.kind(), io::ErrorKind::AddrInUse, "{ip}");
            drop((claimed, joined));
            listen(address(ip, port), Sharing::Claims, &settings).expect("it is free again");
        }
    }

    #[test]
    fn addresses_that_overlap_are_claimed_once() {
        let settings = SocketSettings::default();
        let pairs = [("127.0.0.1", "0.0.0.0"), ("127.0.0.1", "::"), ("0.0.0.0", "::"), ("::1", "::")];
        for (one, other) in pairs.into_iter().filter(|(one, other)| is_here(one) && is_here(other)) {
            for (first, second) in [(one, other), (other, one)] {
                let claimed = listen(address(first, 0), Sharing::Claims, &settings).expect("a free port");
                let refused = listen(address(second, port_of(&claimed)), Sharing::Claims, &settings);
                let error = refused.expect_err("they overlap");
                assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{second} after {first}");
            }
        }
        let claimed = listen(address("127.0.0.1", 0), Sharing::Claims, &settings).expect("a free port");
        for ip in ["127.0.0.2", "::1"].into_iter().filter(|ip| is_here(ip)) {
            listen(address(ip, port_of(&claimed)), Sharing::Claims, &settings).expect("they do not overlap");
        }
    }

    #[test]
    fn of_many_that_claim_an_address_at_once_one_has_it() {
        let settings = SocketSettings::default();
        for _ in 0..20 {
            let free = listen(address("127.0.0.1", 0), Sharing::Claims, &settings).expect("a free port");
            let wanted = address("127.0.0.1", port_of(&free));
            drop(free);
            let start = std::sync::Barrier::new(4);
            let claimed: Vec<io::Result<Socket>> = std::thread::scope(|scope| {
                let claim = || {
                    start.wait();
                    listen(wanted, Sharing::Claims, &settings)
                };
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(claim)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert_eq!(claimed.iter().filter(|claimed| claimed.is_ok()).count(), 1, "{claimed:?}");
        }
    }

    #[test]
    fn a_udp_address_is_claimed_once_and_joined_by_many() {
        let shared = |sharing| UdpSettings { share: UdpSharing::Shared(sharing), ..UdpSettings::default() };
        let claimed = udp(address("127.0.0.1", 0), &shared(Sharing::Claims)).expect("a free port");
        let port = claimed.local_addr().expect("it is bound").port();
        let _joined = udp(address("127.0.0.1", port), &shared(Sharing::Joins)).expect("the claimed address");
        for ip in ["127.0.0.1", "0.0.0.0", "::"].into_iter().filter(|ip| is_here(ip)) {
            let again = udp(address(ip, port), &shared(Sharing::Claims)).expect_err("it is claimed");
            assert_eq!(again.kind(), io::ErrorKind::AddrInUse, "{ip}");
        }
    }
}
