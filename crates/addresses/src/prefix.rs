//! The part of an address that stands for one subscriber.

use std::net::IpAddr;

/// An IPv4 address, or the /64 of an IPv6 address: a provider gives each subscriber one of them.
///
/// An IPv4 address mapped into IPv6 is the IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// All 32 bits.
    V4(u32),
    /// The upper 64 bits.
    V6(u64),
}

impl Prefix {
    /// That of an address.
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}
