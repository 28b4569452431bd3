//! Stadium's reactor: one event loop a core that moves bytes and knows no protocol.
//!
//! A [`Loop`] owns listeners, connections, timers and one shared read buffer, all touched by its
//! thread alone. A protocol implements [`Handler`] and acts through [`Io`]. Everything that one turn
//! of the loop produced for a connection leaves in one system call at the turn's end. Other threads
//! reach a loop by its [`LoopHandle`]: a bounded mailbox with a wake-up.
//!
//! An idle connection costs one slab entry and no buffer; TLS, WebSocket, unsent and unconsumed
//! bytes hang off the entry only while they exist.

mod close;
mod handler;
mod id;
mod io;
mod mailbox;
mod moved;
mod settings;
mod stats;
pub mod tls;

pub use close::CloseReason;
pub use handler::{Accepted, Admission, Handler, Security};
pub use id::{ConnectionId, ListenerTag, UdpId};
pub use io::{Io, Loop, Segment};
pub use mailbox::{Full, LoopHandle, Mailbox};
pub use stats::{Count, LoopStats};
pub use settings::{
    AcceptBudget, Adopt, ConnectOptions, ConnectionLimits, KeepAlive, ListenerSettings, LoopSettings,
    ProxyProtocol, SocketSettings, UdpSettings, UdpSharing, WebSocketRequest, WebSocketSettings,
};
