//! Stadium's reactor: one event loop a core that moves bytes and knows no protocol.
//!
//! A [`Loop`] owns listeners, connections, timers and one shared read buffer, all touched by its
//! thread alone. A protocol implements [`Handler`] and acts through [`Io`]. Everything that one turn
//! of the loop produced for a connection leaves in one system call at the turn's end. Other threads
//! reach a loop by its [`LoopHandle`]: a bounded mailbox with a wake-up.
//!
//! An idle connection costs one slab entry and no buffer; TLS, WebSocket, unsent and unconsumed
//! bytes hang off the entry only while they exist.

mod accept;
mod claim;
pub mod clock;
mod close;
mod connect;
mod drive;
mod event_loop;
mod flush;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod handler;
mod id;
mod input;
mod io;
mod lifecycle;
mod mailbox;
mod moved;
mod proxy;
mod queue;
mod settings;
mod sever;
mod slab;
mod socket;
mod stats;
mod sys;
pub mod tls;
mod turn;
mod udp;
pub mod websocket;

pub use stadium_wheel as wheel;

pub use claim::Claims;
pub use close::CloseReason;
pub use drive::Driven;
pub use event_loop::Loop;
pub use handler::{Accepted, Admission, Handler, Security};
pub use id::{ConnectionId, ListenerTag, UdpId};
pub use io::{Io, TICK_MS};
pub use mailbox::{Full, LoopHandle, Mailbox};
pub use settings::{
    AcceptBudget, Adopt, AdoptedTls, Carries, ConnectOptions, ConnectionLimits, KeepAlive, ListenerSettings,
    LoopSettings, Messages, ProxyProtocol, Sharing, SocketSettings, UdpSettings, UdpSharing,
    WebSocketRequest, WebSocketSettings,
};
pub use stats::{Count, LoopStats};
pub use turn::Segment;
