//! UDP sockets on the loop: small data that may be lost.
//!
//! A datagram that cannot leave at once is refused to the sender; nothing is queued.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Token};

use crate::id::UdpId;
use crate::io::Io;
use crate::lifecycle::TOKEN_UDP;
use crate::settings::UdpSettings;
use crate::socket;

/// The loop's UDP sockets.
#[derive(Default)]
pub(crate) struct UdpTable {
    sockets: Vec<UdpSocket>,
    /// Sockets with more to read than they had their turn for.
    pub(crate) ready: Vec<UdpId>,
}

impl UdpTable {
    pub(crate) fn receive(&self, id: UdpId, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        loop {
            match self.sockets.get(id.0 as usize)?.recv_from(buffer) {
                Ok(received) => return Some(received),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // An earlier datagram of ours met a closed port: the error is reported once, and
                // there may be more to read.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return None,
            }
        }
    }
}

impl<M: Send + 'static> Io<M> {
    /// Binds a UDP socket on this loop, whose datagrams come by `datagram`. Port zero takes a free
    /// one; the address in use is returned.
    pub fn bind_udp(
        &mut self,
        address: SocketAddr,
        settings: &UdpSettings,
    ) -> io::Result<(UdpId, SocketAddr)> {
        let socket = socket::udp(address, settings)?;
        let address = socket.local_addr()?;
        let place = self.udp.sockets.len();
        self.registry.register(
            &mut SourceFd(&socket.as_raw_fd()),
            Token(TOKEN_UDP + place),
            Interest::READABLE,
        )?;
        self.udp.sockets.push(socket);
        Ok((UdpId(place as u32), address))
    }

    /// Sends a datagram now. Fails where the kernel does not take it: it is lost, as any may be.
    pub fn send_datagram(&mut self, socket: UdpId, peer: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let Some(socket) = self.udp.sockets.get(socket.0 as usize) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "this loop has no such UDP socket"));
        };
        socket.send_to(bytes, peer)?;
        self.counts.datagrams_out += 1;
        Ok(())
    }
}
