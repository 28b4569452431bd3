//! Sleeps to the microsecond: epoll's own time-out counts whole milliseconds, which a timetable of 10,000 jobs a second would
//! show as lateness of whatever is measured.

#![allow(unsafe_code, reason = "timerfd")]

use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::time::Duration;

use anyhow::{Context as _, Result};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};

/// Sleeps longer than this are left to epoll.
const PRECISE_MAX: Duration = Duration::from_millis(5);

/// A timerfd that ends a poll.
pub(super) struct Timer(OwnedFd);

impl Timer {
    /// Its end is reported under `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> Result<Self> {
        // SAFETY: plain integer arguments.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(std::io::Error::last_os_error()).context("timerfd_create");
        }
        // SAFETY: just made, and nobody else's.
        let timer = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        registry.register(&mut SourceFd(&timer.0.as_raw_fd()), token, Interest::READABLE)?;
        Ok(timer)
    }

    /// Has the next poll end after `sleep`; returns the time-out to poll with.
    pub(super) fn set(&mut self, sleep: Duration) -> Result<Duration> {
        if sleep.is_zero() || sleep > PRECISE_MAX {
            return Ok(sleep);
        }
        let value = libc::timespec { tv_sec: 0, tv_nsec: i64::from(sleep.subsec_nanos()) };
        let once =
            libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: `once` is live, and the old value is not asked for.
        if unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const once, std::ptr::null_mut()) } != 0
        {
            return Err(std::io::Error::last_os_error()).context("timerfd_settime");
        }
        Ok(PRECISE_MAX * 2)
    }
}
