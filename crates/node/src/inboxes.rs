//! The push platform's shards and the edge's loops, connected: presence and progress go to shards,
//! commands of shards go to loops.
//!
//! Neither side waits for the other.

use std::fmt;
use std::sync::Arc;

use stadium_edge::{Behind, EdgeHandle, PushShards};
use stadium_push::{AppName, Command, DeviceId, Transport, TransportCommand, device_home};
use stadium_shard::Shards;

use crate::credentials::Credentials;

/// The shards, as loops reach them.
struct ShardsOfPushes(Shards);

impl PushShards for ShardsOfPushes {
    fn shard_of(&self, app: &AppName, device: &DeviceId) -> u16 {
        device_home(app, device, self.0.count())
    }

    fn notify(&self, shard: u16, command: Command) {
        self.0.notify_push(shard, command);
    }
}

impl fmt::Debug for ShardsOfPushes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardsOfPushes").field("shards", &self.0.count()).finish()
    }
}

/// The loops as a transport: devices that are connected by MQTT.
struct MqttTransport(EdgeHandle);

impl Transport for MqttTransport {
    fn carry_out(&self, shard: u16, commands: Vec<TransportCommand>) {
        self.0.transport(shard, commands);
    }

    fn announce_again(&self, shard: u16) {
        self.0.announce_again(shard);
    }
}

/// Connects shards and an edge whose loops are about to run. Answers with the edge's side of it.
///
/// `sessions` are the shards that keep the edge's own state. They are this node's alone, also where
/// `shards` are those of a cluster.
pub(crate) fn connect(shards: &Shards, sessions: &Shards, edge: &EdgeHandle) -> Behind {
    shards.attach_transport(Arc::new(MqttTransport(edge.clone())));
    Behind {
        platform: Some(Arc::new(ShardsOfPushes(shards.clone()))),
        registry: Some(Arc::new(Credentials(shards.clone()))),
        durable: Some(sessions.clone()),
        apps: Some(shards.clone()),
    }
}
