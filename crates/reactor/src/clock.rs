//! The kernel's opinion of the machine's clock, for diagnoses; no loop uses it.
//!
//! Only adjtimex(2) has it, and no crate of this workspace wraps that call. It changes nothing
//! here: no mode is set.
#![allow(unsafe_code)]

use std::mem;

/// Whether the clock of the machine is kept in step with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelClock {
    /// A daemon has adjusted it lately (NTP, PTP).
    pub is_synchronised: bool,
    /// The kernel's bound on its error, in microseconds; it grows while nothing adjusts the clock.
    pub error_us_max: u64,
}

/// Asks the kernel; none where a sandbox forbids it.
#[must_use]
pub fn kernel_clock() -> Option<KernelClock> {
    // SAFETY: all fields of `timex` are integers, for which zero is a value.
    let mut state: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: the pointer is that of a live, exclusively borrowed `timex`; `modes` is 0, so nothing
    // is changed.
    let status = unsafe { libc::adjtimex(&raw mut state) };
    (status >= 0).then(|| KernelClock {
        is_synchronised: state.status & libc::STA_UNSYNC == 0,
        error_us_max: u64::try_from(state.maxerror).unwrap_or(0),
    })
}
