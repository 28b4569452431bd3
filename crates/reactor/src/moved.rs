//! A connection on its way from one loop to another: socket, TLS, WebSocket and unused bytes, whole.

use crate::slab::Extra;
use crate::sys;

/// Owns the descriptor: a connection that is dropped on the way is closed.
pub(crate) struct Moved {
    fd: i32,
    pub(crate) extra: Option<Box<Extra>>,
    pub(crate) carry_bytes_max: u32,
    pub(crate) write_queue_bytes_max: u32,
    /// Ticks of the loops' profiles are equally long, so the profile travels as it is.
    pub(crate) profile: crate::io::Profile,
    /// Age in milliseconds, because each loop has its own time.
    pub(crate) age_ms: u64,
    /// Flags that describe the socket rather than its place in a loop.
    pub(crate) flags: u16,
}

impl Moved {
    pub(crate) fn new(fd: i32, profile: crate::io::Profile) -> Moved {
        Moved { fd, extra: None, carry_bytes_max: 0, write_queue_bytes_max: 0, profile, age_ms: 0, flags: 0 }
    }

    /// Takes the descriptor out: it is the caller's to close.
    pub(crate) fn into_fd(mut self) -> i32 {
        std::mem::replace(&mut self.fd, -1)
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        if self.fd >= 0 {
            sys::close(self.fd);
        }
    }
}
