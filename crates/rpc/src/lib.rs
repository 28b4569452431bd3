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
pub mod method;
pub mod proto;
pub mod server;
pub mod service;
pub mod wire;

pub use answer::{CallError, Refusal};
pub use client::{
    CallOptions, Client, ClientConfig, LocalClient, Pending, ResumeSettings, ServiceClient, Source, Streaming,
};
pub use method::{Idempotency, Interaction, Method, Raw};
pub use server::{Listen, Operations, Server, ServerConfig, Sessions, StartError};
pub use service::{
    Call, CallContext, Finished, Interceptor, Next, Outcome, PieceReceiver, PieceSender, Service,
    StreamReceiver, StreamSender, Ticks,
};
