//! How a device behaves: what its radio, its carrier, its owner and its address do to its connection.
//!
//! A [`Profile`] is composed of behaviours, each of which may be absent; a [`Mixture`] deals profiles to devices by
//! their numbers, the same in every run with its seed. [`preset`] has names for the usual ones, [`mod@file`] reads others.
//! Nothing here touches a connection: loops of devices do what is written here.

mod behaviour;
mod file;
pub(super) mod flags;
mod mixture;
pub(super) mod preset;

pub use behaviour::{Address, Background, Carrier, Profile, Radio, Weighted};
pub use mixture::Mixture;
