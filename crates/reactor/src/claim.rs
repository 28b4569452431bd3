//! The addresses that a server listens on, each claimed once and then shared by its loops.
//!
//! Loops share an address by SO_REUSEPORT, which would let a second server of the same user share it as well
//! and take half of the connections in silence. So the first socket of an address is bound and listens
//! without the option: the kernel refuses that where anybody else listens on an overlapping address, also
//! when two servers start at once. The option is set once it listens, and the sockets of other loops join.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::io::Io;
use crate::settings::{ListenerSettings, Sharing};

/// The addresses that this server has claimed so far.
#[derive(Debug, Default)]
pub struct Claims {
    held: Vec<SocketAddr>,
}

impl Claims {
    /// The places of `addresses` in the order in which they are to be claimed: the wider first, so that one
    /// which overlaps an own one, such as `0.0.0.0` beside `[::]`, is known to be covered by it.
    pub fn order(addresses: &[SocketAddr]) -> Vec<usize> {
        let mut places: Vec<usize> = (0..addresses.len()).collect();
        places.sort_by_key(|&place| match addresses[place].ip() {
            IpAddr::V6(ip) if ip.is_unspecified() => 0,
            IpAddr::V4(ip) if ip.is_unspecified() => 1,
            _ => 2,
        });
        places
    }

    /// Listens with the first loop of a server, and returns the address in use.
    ///
    /// # Errors
    ///
    /// `AddrInUse` where anybody else listens on an address that overlaps this one.
    pub fn listen<M: Send + 'static>(
        &mut self,
        io: &mut Io<M>,
        settings: &ListenerSettings,
    ) -> io::Result<SocketAddr> {
        let mut settings = ListenerSettings { sharing: Sharing::Claims, ..settings.clone() };
        let listening = match io.listen(&settings) {
            // Nobody else is there: the wider address of this server would not have been free.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && self.covers(settings.address) => {
                settings.sharing = Sharing::Joins;
                io.listen(&settings)
            }
            listening => listening,
        };
        self.held.extend(listening.as_ref().ok());
        listening
    }

    /// Whether another address of this server, a wider one, takes what would come for `address`.
    fn covers(&self, address: SocketAddr) -> bool {
        self.held.iter().any(|held| {
            held.port() == address.port()
                && held.ip() != address.ip()
                && held.ip().is_unspecified()
                && (held.is_ipv6() || address.is_ipv4())
        })
    }
}
