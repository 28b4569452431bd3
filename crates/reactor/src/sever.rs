//! Cutting a connection so that neither side is notified: what a network does, done to one socket.
//!
//! The descriptor stays open and keeps its place in the slab; only its filter and one flag change.

use std::io;

use crate::id::ConnectionId;
use crate::io::Io;
use crate::slab::flag;
use crate::sys;

impl<M: Send + 'static> Io<M> {
    /// Severs an outgoing connection that is established: from now on nothing gets through it
    /// either way, and neither side is notified. For simulated devices: so ends a stream that a
    /// carrier has forgotten, or whose device has another address.
    ///
    /// The kernel drops what comes, FIN and RST included, so that the peer finds its bytes unacknowledged; what is sent
    /// here, that of this turn included, is dropped without a word. Timers go on. It lasts until [`Io::close`] or
    /// [`Io::abort`], which both notify the peer (FIN, RST): nobody can close a socket in silence,
    /// because the kernel answers each segment for a connection that it does not know with a reset.
    ///
    /// # Errors
    /// Where the kernel takes no filter; and `NotConnected` where the connection is not ours, not established, or
    /// ending.
    pub fn sever(&mut self, id: ConnectionId) -> io::Result<()> {
        const OURS: u16 = flag::ESTABLISHED | flag::OUTGOING;
        let entry = self.slab.find(id).ok_or(io::ErrorKind::NotConnected)?;
        if entry.flags & (OURS | flag::CLOSING | flag::LEAVING) != OURS {
            return Err(io::ErrorKind::NotConnected.into());
        }
        sys::drop_incoming(entry.fd)?;
        // What is not established is neither written nor shown to the handler.
        entry.flags &= !flag::ESTABLISHED;
        self.clear_chain(id.index);
        Ok(())
    }
}
