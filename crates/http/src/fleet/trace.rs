//! Live traces of clients and topics, as the API shows them.

use std::any::Any;
use std::time::SystemTime;

use tokio::sync::mpsc;

use stadium_push::live::ClientId;

/// What is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traced {
    /// All packets of a device.
    Device(ClientId),
    /// All messages whose topic a filter matches.
    Topic(String),
}

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// When it happened.
    pub at: SystemTime,
    /// The device's id; empty where none is concerned.
    pub device: String,
    /// `in`, `out`, or `none` for what is no packet.
    pub direction: &'static str,
    /// The packet in words, without payload and password.
    pub text: String,
    /// Lines before this one that the reader was too slow for.
    pub missed: u64,
}

/// A trace that goes on until it is dropped.
pub struct Trace {
    /// Its lines. The first one means that it is in force.
    pub lines: mpsc::Receiver<TraceLine>,
    /// Ends it when it is dropped.
    pub guard: Box<dyn Any + Send>,
}

/// Why there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoTrace {
    /// There are so many already.
    Full(usize),
    /// The topic filter is none, and why.
    Filter(String),
}
