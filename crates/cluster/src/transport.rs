//! The transport of pushes of a node in a cluster: devices on this node, and those on other nodes.
//!
//! The name of a connection has its node. [`ClusterTransport`] passes commands for connections of
//! this node to the local transport, and packs those for other nodes into items
//! ([`stadium_shard_wire::TransportBatch`]), which [`NodeSender`] takes. A dispatch that cannot be
//! sent is returned to its shard, as the edge returns one for a connection that is gone. So the
//! shard keeps the push for the device.

mod pack;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use stadium_push::live::{LiveTally, LiveToken};
use stadium_push::{Command, ConnectionName, Happened, LiveOrigins, Step, Time, Transport, TransportCommand};
use stadium_shard::Shards;
use stadium_shard_wire::{self as wire, AnnounceAgain, Item, LiveCounts, TransportBatch};

/// Sends items to the transports of other nodes. No call waits.
pub trait NodeSender: Send + Sync + fmt::Debug {
    /// Sends an item to the node of this number, see [`ConnectionName::node`]. Items of one shard
    /// arrive in the order in which they were taken.
    ///
    /// # Errors
    ///
    /// The item was not taken and does not arrive.
    fn send(&self, node: u32, item: &Item) -> Result<(), NotSent>;

    /// Sends an item to all other nodes. It has a place among the items of [`Self::send`]. Nobody
    /// repeats it: an item that a node has no room for is to be kept until it has, or until the
    /// node ends.
    fn broadcast(&self, item: &Item);
}

/// Why an item was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSent {
    /// The node has no room now, or is out of reach.
    Busy,
    /// No node has this number: it ended, or registered again under another number.
    Gone,
}

/// The shards, to which a transport reports outcomes. A call does not wait.
pub trait PushNotices: Send + Sync {
    /// Notifies the owner of a shard, wherever it is.
    fn notify(&self, shard: u16, command: Command);
}

impl PushNotices for Shards {
    fn notify(&self, shard: u16, command: Command) {
        self.notify_push(shard, command);
    }
}

/// Takes pushes to devices on all nodes of a cluster.
pub struct ClusterTransport {
    /// Of this node; see [`Self::set_node`].
    node: AtomicU32,
    local: Arc<dyn Transport>,
    sender: Arc<dyn NodeSender>,
    shards: Arc<dyn PushNotices>,
    item_bytes_max: usize,
}

/// Steps of one notice at most, so that its record is small beside a segment.
const STEPS_MAX: usize = 10_000;

/// Commands of one shard that wait to be sent.
#[derive(Default)]
struct Waiting {
    /// By their nodes.
    at: BTreeMap<u32, Vec<TransportCommand>>,
    /// For all other nodes.
    everywhere: Vec<wire::TransportCommand>,
}

impl ClusterTransport {
    /// A transport of the node that [`Self::set_node`] names. Items have at most `item_bytes_max`
    /// bytes, which is to be the longest body of a link: only one that has a longer payload is
    /// longer.
    pub fn new(
        local: Arc<dyn Transport>,
        sender: Arc<dyn NodeSender>,
        shards: Arc<dyn PushNotices>,
        item_bytes_max: usize,
    ) -> Self {
        Self { node: AtomicU32::new(0), local, sender, shards, item_bytes_max }
    }

    /// Sets the number of this node, see [`ConnectionName::node`]: before it serves a shard, and
    /// when it has registered again. The edge is to have the same number.
    pub fn set_node(&self, node: u32) {
        self.node.store(node, Ordering::Release);
    }

    fn is_here(&self, node: u32) -> bool {
        node == 0 || node == self.node.load(Ordering::Acquire)
    }

    /// Carries out an item of another node on the local transport. An item that is not for a
    /// transport comes back.
    pub fn receive(&self, item: Item) -> Option<Item> {
        match item {
            Item::Transport(batch) => {
                let (shard, commands) = (batch.shard, pack::unpack(batch));
                self.local.carry_out(shard, commands);
            }
            Item::AnnounceAgain(AnnounceAgain { shard }) => self.local.announce_again(shard),
            Item::LiveCounts(LiveCounts { token, counts }) => self.local.counted(token, &counts),
            other => return Some(other),
        }
        None
    }

    /// Returns the dispatches of a batch that did not arrive: their devices are owed the pushes
    /// still. Connections of live pushes are counted as not connected.
    pub fn give_back(&self, batch: &TransportBatch) {
        let at = wall();
        let mut steps = Vec::new();
        for command in &batch.commands {
            match command {
                wire::TransportCommand::Dispatch(dispatch) => {
                    steps.extend(dispatch.to.iter().map(|(loop_index, to)| {
                        let connection =
                            ConnectionName { node: batch.node, loop_index, connection: to.connection };
                        let (push, slot, what) = (dispatch.push, to.slot, Happened::Returned);
                        Step { push, slot, connection, what, at }
                    }));
                }
                wire::TransportCommand::Live(dispatch) => {
                    let not_connected = dispatch.to.iter().count() as u64;
                    let counts = LiveTally { not_connected, ..LiveTally::default() };
                    // Where that node has no room either, the record counts until its time is over.
                    self.send_counts(dispatch.token, &counts);
                }
                wire::TransportCommand::Disconnect { .. } => {}
            }
        }
        for steps in steps.chunks(STEPS_MAX) {
            self.shards.notify(batch.shard, Command::Progress { steps: steps.to_vec() });
        }
    }

    fn send_to_nodes(&self, shard: u16, waiting: &mut Waiting) {
        for (node, commands) in std::mem::take(&mut waiting.at) {
            let mut is_refused = false;
            for batch in pack::pack(node, shard, commands, self.item_bytes_max) {
                let item = Item::Transport(batch);
                // What follows an item that was refused would overtake it.
                is_refused = is_refused || self.sender.send(node, &item).is_err();
                if is_refused && let Item::Transport(batch) = &item {
                    self.give_back(batch);
                }
            }
        }
    }

    fn send_everywhere(&self, shard: u16, waiting: &mut Waiting) {
        let commands = std::mem::take(&mut waiting.everywhere);
        for commands in pack::disconnects(commands, self.item_bytes_max) {
            self.sender.broadcast(&Item::Transport(TransportBatch { node: 0, shard, commands }));
        }
    }
}

impl Transport for ClusterTransport {
    fn carry_out(&self, shard: u16, commands: Vec<TransportCommand>) {
        let node_of = |command: &TransportCommand| match command {
            TransportCommand::Dispatch(dispatch) => Some(dispatch.node),
            TransportCommand::Live(dispatch) => Some(dispatch.node),
            TransportCommand::Disconnect { .. } => None,
        };
        let is_here = |node| self.is_here(node);
        if commands.iter().all(|command| node_of(command).is_some_and(is_here)) {
            self.local.carry_out(shard, commands);
            return;
        }
        let mut here = Vec::new();
        let mut waiting = Waiting::default();
        for command in commands {
            match node_of(&command) {
                Some(node) if is_here(node) => here.push(command),
                Some(node) => {
                    self.send_everywhere(shard, &mut waiting);
                    waiting.at.entry(node).or_default().push(command);
                }
                // Any node may have a connection of the device.
                None => {
                    self.send_to_nodes(shard, &mut waiting);
                    if let TransportCommand::Disconnect { app, device } = &command {
                        let (app, device) = (app.clone(), device.clone());
                        waiting.everywhere.push(wire::TransportCommand::Disconnect { app, device });
                    }
                    here.push(command);
                }
            }
        }
        if !here.is_empty() {
            self.local.carry_out(shard, here);
        }
        self.send_to_nodes(shard, &mut waiting);
        self.send_everywhere(shard, &mut waiting);
    }

    fn announce_again(&self, shard: u16) {
        self.local.announce_again(shard);
        self.sender.broadcast(&Item::AnnounceAgain(AnnounceAgain { shard }));
    }

    fn counted(&self, token: LiveToken, counts: &LiveTally) {
        self.local.counted(token, counts);
    }
}

impl LiveOrigins for ClusterTransport {
    fn send_counts(&self, token: LiveToken, counts: &LiveTally) -> bool {
        if self.is_here(token.node()) {
            self.local.counted(token, counts);
            return true;
        }
        let item = Item::LiveCounts(LiveCounts { token, counts: *counts });
        // The record of a push has ended with its node.
        self.sender.send(token.node(), &item) != Err(NotSent::Busy)
    }
}

impl fmt::Debug for ClusterTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterTransport").field("node", &self.node).field("sender", &self.sender).finish()
    }
}

/// The wall clock.
fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[path = "transport/tests.rs"]
mod tests;
