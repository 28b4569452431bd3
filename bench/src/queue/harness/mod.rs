//! The test harness of queues: producers put, consumers reserve and settle, everything is counted.
//!
//! What is measured is a [lane](crate::harness::Lane): a few connections over which workers speak one implementation's protocol.
//! This owns the plan of a load and the count of what became of every job ([`tally`]).

mod driver;
mod lane;
pub(crate) mod payload;
mod plan;
mod tally;

use anyhow::Result;

use crate::harness::Caller;

pub(crate) use driver::drive;
pub(crate) use lane::{
    Endpoint, Event, Manage, NewJob, Outcome, PRODUCT_ONLY, Queues, Request, Reserved, Role, Token,
};
pub(crate) use plan::{Amount, Due, Measured, Pace, Plan};
pub(crate) use tally::Tally;

/// One worker of an implementation's, to be asked directly.
pub(crate) fn caller(endpoint: &dyn Endpoint) -> Result<Caller<Queues>> {
    let lane = usize::from(u16::MAX);
    Caller::connect(&endpoint.addresses(lane), endpoint.lane(Role::Producer, lane))
}
