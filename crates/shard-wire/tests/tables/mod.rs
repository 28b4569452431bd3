//! Tests of the tables, a part of the crate: they see its inside. They are not under `src/` since
//! they read and write files.
//!
//! Values of all types are made from the tables, so that every field and every case is tested.
//! [`Random`] makes them, [`Schema`] writes the contract out of the same tables.

mod contract;
mod fixtures;
mod items;
mod random;
mod schema;
mod unreadable;

pub(crate) use random::{Case, Cases, Random};
pub(crate) use schema::{Probe, Schema};
