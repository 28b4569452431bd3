//! A peer whose network goes away without a word: noticed by TCP_USER_TIMEOUT when something is
//! unacknowledged, and by keep-alive when nothing is. Runs in a network namespace of its own, where
//! the loopback can be taken down; it starts itself there by `unshare` (util-linux).
#![allow(unsafe_code)]

mod fixture;

use std::process::Command;
use std::time::{Duration, Instant};

use fixture::*;
use stadium_reactor::*;

fn set_loopback(up: bool) {
    let state = if up { "up" } else { "down" };
    // SAFETY: an ifreq of zeros is a valid one; name and flags are filled in below.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = if up { libc::IFF_UP as libc::c_short } else { 0 };
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the request outlives the call, and SIOCSIFFLAGS reads no more than it.
    let result = unsafe { libc::ioctl(fd, libc::SIOCSIFFLAGS, &request) };
    assert_eq!(result, 0, "the loopback goes {state}: {}", std::io::Error::last_os_error());
}

#[test]
fn a_peer_that_vanished_is_noticed() {
    const INSIDE: &str = "STADIUM_TEST_INSIDE_NAMESPACE";
    if std::env::var_os(INSIDE).is_none() {
        let this = std::env::current_exe().expect("this test has a path");
        // SAFETY: the call takes nothing and cannot fail.
        let user: &[&str] =
            if unsafe { libc::geteuid() } == 0 { &[] } else { &["--user", "--map-root-user"] };
        let status = Command::new("unshare")
            .args(user)
            .arg("--net")
            .arg(this)
            .args(["--exact", "a_peer_that_vanished_is_noticed", "--nocapture"])
            .env(INSIDE, "1")
            .status()
            .expect("unshare of util-linux is installed");
        assert!(status.success(), "inside its own network namespace: {status}");
        return;
    }
    set_loopback(true);
    let mut settings = listener();
    settings.socket.user_timeout_ms = Some(1_000);
    settings.socket.keepalive = Some(KeepAlive { idle_ms: 1_000, interval_ms: 1_000, count: 2 });
    let server = start(Style::Report, settings);
    let _quiet = server.dial();
    let quiet = server.wait_established();
    let _spoken_to = server.dial();
    let spoken_to = server.wait_established();
    set_loopback(false);
    let began = Instant::now();
    server.act(move |io| io.send(spoken_to, |buffer| buffer.extend_from_slice(b"are you there?")));
    let mut ends = vec![server.wait_closed(), server.wait_closed()];
    ends.sort_by_key(|(id, _)| *id);
    assert!(began.elapsed() < Duration::from_secs(15), "after {:?}", began.elapsed());
    for ((id, reason), expected) in ends.into_iter().zip([quiet, spoken_to]) {
        assert_eq!(id, expected);
        assert!(matches!(reason, CloseReason::Unresponsive | CloseReason::Unreachable), "{reason:?}");
    }
}
