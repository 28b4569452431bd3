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

impl<C, M: Direct> Input<C, M> {
    /// A command to the direct machine, which must not pay for what else there is.
    pub(super) fn request(request: Request<C, M::Command>) -> Self {
        const {
            assert!(
                size_of::<Self>() <= size_of::<Request<C, M::Command>>() + size_of::<u64>(),
                "a request is the largest input"
            );
        }
        Input::Request(request)
    }
}
