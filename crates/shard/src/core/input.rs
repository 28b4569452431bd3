//! The input of a shard's core.
//!
//! Commands, what other shards send, and leases that are given back.

use super::composition::carried::Beside;
use super::direct::Direct;
use super::ports::{Body, Confirmation, Delivery, Request, Search};
use super::slot::AnyCommand;

/// An item of the input.
pub(super) enum Input<C, M: Direct> {
    Request(Request<C, M::Command>),
    Command(C, AnyCommand),
    Together(C, Box<Beside>),
    Release(Vec<M::Lease>),
    Delivery(Delivery),
    Confirmation(Confirmation),
}

impl<C, M: Direct> Input<C, M> {
    /// A command of a caller, to this shard alone.
    pub(super) fn of(caller: C, body: Body<M::Command>) -> Self {
        match body {
            Body::Direct(command) => Input::Request(Request { caller, command, search: Search::Here }),
            Body::Machine(command) => Input::Command(caller, command),
            Body::Together(beside) => Input::Together(caller, beside),
        }
    }
}
