//! Ports that nobody listens on, of the loopback address or another one of this machine.
//!
//! They are taken from below the kernel's ephemeral range, so that no outgoing connection can
//! take one between the look and the server's bind.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::error::{Error, Result};

/// First port that is tried, and how many there are. The kernel's ephemeral range starts at 32,768.
const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// A free port of 127.0.0.1.
///
/// # Errors
/// There is none.
pub fn free() -> Result<SocketAddr> {
    free_at(Ipv4Addr::LOCALHOST.into())
}

/// A free port of an address of this machine, or of the network namespace that the thread is in.
///
/// # Errors
/// There is none.
pub fn free_at(address: IpAddr) -> Result<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes start at different places, so that suites running side by side rarely look at the same port.
    let start = std::process::id().wrapping_mul(977) % u32::from(COUNT);
    (0..COUNT)
        .find_map(|_| {
            let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
            let offset = u16::try_from((start + step) % u32::from(COUNT)).expect("below COUNT");
            let address = SocketAddr::from((address, FIRST + offset));
            TcpListener::bind(address).is_ok().then_some(address)
        })
        .ok_or_else(|| Error::new(format!("no free port on {address}")))
}
