//! The push platform at the edge: which devices read their inbox, and what they are given.
//!
//! The platform's shards know what each device is owed. A loop tells them who is connected and reads its inbox ([`readers`]), delivers what
//! they send ([`deliver`]) and tells what became of it; all of that in batches, at the ends of its turns. Nothing is kept here: what a connection did not
//! acknowledge the device is still owed.

mod deliver;
mod doorstep;
mod readers;

use std::fmt;

use stadium_push::{AppName, Command, DeviceId};

pub(crate) use doorstep::{Doorstep, Word};
pub(crate) use readers::{Readers, named, split, wall};

/// The shards of the push platform, as a loop meets them. Neither call may wait.
pub trait Platform: Send + Sync + fmt::Debug {
    /// Where a device lives.
    fn shard_of(&self, app: &AppName, device: &DeviceId) -> u16;

    /// Tells a shard of its devices.
    fn tell(&self, shard: u16, command: Command);
}
