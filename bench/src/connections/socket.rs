//! A device's socket as [`super::Connections`] uses it: the system calls and nothing between.

use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

use anyhow::{Context as _, Result, bail};

/// What one `recv` came to.
pub(super) enum Received {
    Bytes(usize),
    Nothing,
    Ended,
}

/// A socket on its way to `address`, non-blocking, without Nagle's delay.
pub(super) fn connect(address: SocketAddr) -> Result<RawFd> {
    let SocketAddr::V4(address) = address else { bail!("the bench runs on 127.0.0.1") };
    // SAFETY: plain integer arguments; the result is checked.
    let fd = unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error()).context("socket");
    }
    let one: libc::c_int = 1;
    let name = libc::sockaddr_in {
        sin_family: u16::try_from(libc::AF_INET).expect("AF_INET is 2"),
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    };
    let int_len = libc::socklen_t::try_from(size_of::<libc::c_int>()).expect("four");
    let name_len = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).expect("sixteen");
    // SAFETY: both pointers are to live locals of the lengths given.
    let result = unsafe {
        libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw const one).cast(), int_len);
        libc::connect(fd, (&raw const name).cast(), name_len)
    };
    let error = io::Error::last_os_error();
    if result != 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
        abort(fd);
        return Err(error).context("connect");
    }
    Ok(fd)
}

/// Sends what the kernel takes; 0 when it takes nothing now.
pub(super) fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is live and of the length given.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    usize::try_from(sent).or_else(|_| {
        let error = io::Error::last_os_error();
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => Ok(0),
            _ => Err(error),
        }
    })
}

pub(super) fn receive(fd: RawFd, room: &mut [u8]) -> Received {
    // SAFETY: `room` is live, writable and of the length given.
    let received = unsafe { libc::recv(fd, room.as_mut_ptr().cast(), room.len(), 0) };
    match usize::try_from(received) {
        Ok(0) => Received::Ended,
        Ok(bytes) => Received::Bytes(bytes),
        Err(_) => match io::Error::last_os_error().kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => Received::Nothing,
            _ => Received::Ended,
        },
    }
}

/// Closes with a reset, which leaves no TIME_WAIT behind: ports are needed for the next round.
pub(super) fn abort(fd: RawFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let length = libc::socklen_t::try_from(size_of::<libc::linger>()).expect("eight");
    // SAFETY: `linger` is live and of the length given; the descriptor is ours and closed once.
    unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), length);
        libc::close(fd);
    }
}
