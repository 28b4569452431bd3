//! The limit: an epoll loop that accepts, answers handshakes by the letter and sends, and does nothing else.
//!
//! It holds no topics, no sessions, no queues. The bytes that a publisher writes go verbatim to
//! every socket that has subscribed: one `send` each, for however many messages one read brought. A
//! server can't do with less, so its figure is what the others are a share of.

#![allow(unsafe_code, reason = "raw epoll, so that nothing stands between the loop and the kernel")]

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd as _, RawFd};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::wire::{Incoming, Mqtt, Wire as _};

/// Where the bare loop listens.
#[derive(Args)]
pub(crate) struct Options {
    /// Address
    #[arg(long)]
    address: SocketAddr,
}

/// Events taken from the kernel at once.
const EVENTS: usize = 1024;
/// Read buffer.
const READ_BYTES: usize = 256 * 1024;
/// Connections the kernel keeps until they are accepted; it lowers this to its own limit.
const BACKLOG: libc::c_int = 65_535;

/// Runs until killed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let listener = TcpListener::bind(options.address).context("bind")?;
    listener.set_nonblocking(true)?;
    let listening = listener.as_raw_fd();
    // SAFETY: plain integer arguments; a second `listen` only changes the backlog.
    let epoll = unsafe {
        libc::listen(listening, BACKLOG);
        libc::epoll_create1(libc::EPOLL_CLOEXEC)
    };
    watch(epoll, listening, libc::EPOLLIN);
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; EVENTS];
    let mut buffer = vec![0_u8; READ_BYTES];
    let mut subscribers: Vec<RawFd> = Vec::new();
    loop {
        // SAFETY: `events` is live and as long as stated.
        let ready = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), EVENTS as libc::c_int, -1) };
        for event in &events[..usize::try_from(ready).unwrap_or(0)] {
            let fd = event.u64 as RawFd;
            if fd == listening {
                accept(epoll, listening);
            } else {
                serve(fd, &mut buffer, &mut subscribers);
            }
        }
    }
}

fn watch(epoll: RawFd, fd: RawFd, events: libc::c_int) {
    let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
    // SAFETY: `event` is live; a failure shows as a socket that is never served.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
}

fn accept(epoll: RawFd, listening: RawFd) {
    loop {
        // SAFETY: null address pointers are allowed.
        let fd = unsafe {
            libc::accept4(listening, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_NONBLOCK)
        };
        if fd < 0 {
            return;
        }
        let one: libc::c_int = 1;
        // SAFETY: `one` is live and four bytes long.
        unsafe { libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, (&raw const one).cast(), 4) };
        watch(epoll, fd, libc::EPOLLIN | libc::EPOLLET);
    }
}

fn serve(fd: RawFd, buffer: &mut [u8], subscribers: &mut Vec<RawFd>) {
    loop {
        // SAFETY: `buffer` is live, writable and of the length given.
        let received = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let Ok(received) = usize::try_from(received) else {
            if io::Error::last_os_error().kind() != io::ErrorKind::WouldBlock {
                end(fd, subscribers);
            }
            return;
        };
        if received == 0 {
            end(fd, subscribers);
            return;
        }
        let bytes = &buffer[..received];
        match bytes[0] >> 4 {
            1 => send(fd, &[0x20, 2, 0, 0]),
            8 => {
                answer_subscriptions(fd, bytes);
                subscribers.push(fd);
            }
            3 => {
                debug_assert!(matches!(Mqtt.parse(bytes), Some((Incoming::Delivery { .. }, _))));
                for subscriber in subscribers.iter() {
                    send(*subscriber, bytes);
                }
            }
            _ => {}
        }
        if received < buffer.len() {
            return;
        }
    }
}

fn end(fd: RawFd, subscribers: &mut Vec<RawFd>) {
    // Only the storm ends connections; its time is not the sends'.
    subscribers.retain(|subscriber| *subscriber != fd);
    // SAFETY: the descriptor is ours and closed once: its epoll registration goes with it.
    unsafe { libc::close(fd) };
}

/// One SUBACK for each SUBSCRIBE in `bytes`, granting QoS 0, in one write.
fn answer_subscriptions(fd: RawFd, mut bytes: &[u8]) {
    let mut answers = Vec::new();
    while let Some((_, length)) = Mqtt.parse(bytes) {
        answers.extend_from_slice(&[0x90, 3, bytes[2], bytes[3], 0]);
        bytes = &bytes[length..];
    }
    send(fd, &answers);
}

fn send(fd: RawFd, bytes: &[u8]) {
    // SAFETY: `bytes` is live and of the length given. A full socket loses the message, and the client stalls.
    unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
}
