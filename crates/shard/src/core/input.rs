//! The input of a shard's core.
//!
//! Commands, what other shards send, and leases that are given back.

use super::composition::carried::Beside;
use super::direct::Direct;
use super::ports::{Confirmation, Delivery, Request};
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
