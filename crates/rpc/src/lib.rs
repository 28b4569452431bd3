//! Services and their clients: RSocket on the reactor, Protocol Buffers as payloads.
//!
//! A [`Service`] maps a request type to a function; a [`Server`] answers for it. A client returns a future for
//! every call, spreads calls over the instances that discovery knows, and defends itself: deadlines,
//! budgets, ejection. [`balance`] and [`admission`] decide and do no I/O; loops, sockets and threads are the
//! drivers'.

pub mod admission;
pub mod answer;
pub mod balance;
pub mod client;
mod encoded;
pub mod method;
pub mod proto;
pub mod server;
pub mod service;
pub mod wire;

/// What stands in the signatures of this crate and comes from others: sockets and TLS.
pub mod net {
    pub use stadium_reactor::tls::{CertificateName, CertificateNames, ClientTls, ServerTls};
    pub use stadium_reactor::{
        ConnectionLimits, Messages, SocketSettings, WebSocketRequest, WebSocketSettings,
    };
}

pub use prost;
pub use stadium_discovery as discovery;
pub use stadium_rsocket::metadata;

pub use answer::{ApplicationCode, Attempted, CallError, Refusal, Unavailable};
pub use client::{
    CallHandle, CallOptions, Client, ClientConfig, LocalClient, Pending, Resolve, ResumeSettings,
    ServiceClient, Source, Streaming,
};
pub use encoded::Encoded;
pub use method::{Idempotency, Interaction, Method, Raw};
pub use server::{Listen, Operations, Quiescing, Server, ServerConfig, Sessions, Sleep, StartError, sleep};
pub use service::{
    Call, CallContext, Finished, Interceptor, Next, Outcome, PieceReceiver, PieceSender, Service,
    StreamReceiver, StreamSender, Ticks,
};
