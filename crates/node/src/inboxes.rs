//! The shards and the edge, introduced to each other: what loops tell goes to shards, what shards send goes to loops.
//!
//! Neither side waits: loops tell shards through mailboxes, shards put down what is for loops.

use std::fmt;
use std::sync::Arc;

use stadium_edge::{Behind, EdgeHandle, Platform};
use stadium_push::{AppName, Command, DeviceId, ToEdge, device_home};
use stadium_shard::{Courier, Shards};

use crate::credentials::Credentials;

/// The shards, as loops meet them.
struct ForLoops(Shards);

impl Platform for ForLoops {
    fn shard_of(&self, app: &AppName, device: &DeviceId) -> u16 {
        device_home(app, device, self.0.count())
    }

    fn tell(&self, shard: u16, command: Command) {
        self.0.notify_push(shard, command);
    }
}

impl fmt::Debug for ForLoops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForLoops").field("shards", &self.0.count()).finish()
    }
}

/// The loops, as shards meet them.
struct ForShards(EdgeHandle);

impl Courier for ForShards {
    fn carry(&self, shard: u16, to_edge: Vec<ToEdge>) {
        self.0.carry(shard, to_edge);
    }

    fn started_over(&self, shard: u16) {
        self.0.arrive_again(shard);
    }
}

/// What stands behind an edge whose loops are about to run; from now on these shards deliver by it.
pub(crate) fn introduce(shards: &Shards, edge: &EdgeHandle) -> Behind {
    shards.deliver_by(Arc::new(ForShards(edge.clone())));
    Behind {
        platform: Some(Arc::new(ForLoops(shards.clone()))),
        registry: Some(Arc::new(Credentials(shards.clone()))),
        durable: Some(shards.clone()),
    }
}
