//! Commands for one node as batches, and batches as commands.
//!
//! The machine sends a push in a dispatch for each loop, all of which share one payload. A batch
//! has such a payload once. Batches have a bound of bytes: the recipients of a large dispatch are
//! in several, each with the payload.

use std::collections::BTreeMap;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_push::live::{LiveDispatch, Message};
use stadium_push::{Dispatch, TransportCommand};
use stadium_shard_wire::{self as wire, Packed, PackedEntry, TransportBatch};

/// Bodies to look back at for the one of a dispatch. A push whose words differ for each device has
/// as many bodies as devices, none of which is met again.
const LOOK_BACK: usize = 64;

/// Bytes of a command at most, besides its texts, payload and recipients.
const COMMAND_BYTES: usize = 128;
/// Bytes of lengths around one property at most.
const PROPERTY_BYTES: usize = 16;

/// The same bytes for devices on several loops.
enum Body {
    Push(Dispatch, Vec<(u16, stadium_push::Recipient)>),
    Live(LiveDispatch, Vec<(u16, u64)>),
}

impl Body {
    /// Bytes of a command with this body and no recipients, at most.
    fn bytes(&self) -> usize {
        let (payload, content_type, properties) = match self {
            Body::Push(Dispatch { payload, content_type, properties, .. }, _) => {
                (payload, content_type, properties)
            }
            Body::Live(LiveDispatch { message, .. }, _) => {
                (&message.payload, &message.content_type, &message.properties)
            }
        };
        let property =
            |(name, value): &(CompactString, CompactString)| name.len() + value.len() + PROPERTY_BYTES;
        COMMAND_BYTES
            + payload.len()
            + content_type.as_ref().map_or(0, |text| text.len())
            + properties.iter().map(property).sum::<usize>()
    }
}

fn is_same(one: &Bytes, other: &Bytes) -> bool {
    (one.as_ptr(), one.len()) == (other.as_ptr(), other.len())
}

/// Dispatches with one payload, joined. They never change places with those of another push: a
/// connection gets a push once, so the order within a push means nothing to it.
fn bodies(commands: Vec<TransportCommand>) -> Vec<Body> {
    let mut bodies: Vec<Body> = Vec::new();
    for command in commands {
        match command {
            TransportCommand::Dispatch(mut new) => {
                let loop_index = new.loop_index;
                let to = std::mem::take(&mut new.to).into_iter().map(|to| (loop_index, to));
                let mut same_push = bodies.iter_mut().rev().take(LOOK_BACK).map_while(|body| match body {
                    Body::Push(known, all) if known.push == new.push => Some((known, all)),
                    _ => None,
                });
                match same_push.find(|(known, _)| is_same(&known.payload, &new.payload)) {
                    Some((_, all)) => all.extend(to),
                    None => {
                        let to = to.collect();
                        bodies.push(Body::Push(new, to));
                    }
                }
            }
            TransportCommand::Live(mut new) => {
                let loop_index = new.loop_index;
                let to = std::mem::take(&mut new.to).into_iter().map(|to| (loop_index, to));
                let mut same_push = bodies.iter_mut().rev().take(LOOK_BACK).map_while(|body| match body {
                    Body::Live(known, all) if known.token == new.token => Some((known, all)),
                    _ => None,
                });
                match same_push.find(|(known, _)| is_same(&known.message.payload, &new.message.payload)) {
                    Some((_, all)) => all.extend(to),
                    None => {
                        let to = to.collect();
                        bodies.push(Body::Live(new, to));
                    }
                }
            }
            // It goes to all nodes.
            TransportCommand::Disconnect { .. } => {}
        }
    }
    bodies
}

/// Batches under way.
struct Batches {
    node: u32,
    shard: u16,
    bytes_max: usize,
    done: Vec<TransportBatch>,
    commands: Vec<wire::TransportCommand>,
    bytes: usize,
}

impl Batches {
    /// Adds a body for these recipients, in as many batches as it takes.
    fn add<E: PackedEntry>(
        &mut self,
        body: usize,
        to: &[E],
        command: impl Fn(Packed<E>) -> wire::TransportCommand,
    ) {
        if self.bytes + body + to.len() * E::BYTES > self.bytes_max {
            self.close();
        }
        let at_once = (self.bytes_max.saturating_sub(self.bytes + body) / E::BYTES).max(1);
        for part in to.chunks(at_once) {
            if self.bytes + body + part.len() * E::BYTES > self.bytes_max {
                self.close();
            }
            self.commands.push(command(part.iter().copied().collect()));
            self.bytes += body + part.len() * E::BYTES;
        }
    }

    fn close(&mut self) {
        self.bytes = COMMAND_BYTES;
        if !self.commands.is_empty() {
            let (node, shard, commands) = (self.node, self.shard, std::mem::take(&mut self.commands));
            self.done.push(TransportBatch { node, shard, commands });
        }
    }
}

/// The batches of commands for connections of one node. Each has at most so many bytes, unless it
/// has one recipient.
pub(super) fn pack(
    node: u32,
    shard: u16,
    commands: Vec<TransportCommand>,
    bytes_max: usize,
) -> Vec<TransportBatch> {
    let (done, commands_of) = (Vec::new(), Vec::new());
    let mut batches = Batches { node, shard, bytes_max, done, commands: commands_of, bytes: COMMAND_BYTES };
    for body in bodies(commands) {
        let bytes = body.bytes();
        match body {
            Body::Push(push, to) => batches.add(bytes, &to, |to| {
                let Dispatch { push, payload, content_type, properties, qos, expires_at, trace, .. } =
                    push.clone();
                let dispatch =
                    wire::Dispatch { push, payload, content_type, properties, qos, expires_at, trace, to };
                wire::TransportCommand::Dispatch(dispatch)
            }),
            Body::Live(push, to) => batches.add(bytes, &to, |to| {
                let LiveDispatch { token, message, qos, trace, .. } = push.clone();
                wire::TransportCommand::Live(wire::LiveDispatch { token, message, qos, trace, to })
            }),
        }
    }
    batches.close();
    batches.done
}

/// Disconnects in lists, each of which has at most so many bytes as a batch.
pub(super) fn disconnects(
    commands: Vec<wire::TransportCommand>,
    bytes_max: usize,
) -> Vec<Vec<wire::TransportCommand>> {
    // The names of an app and a device are shorter than 256 bytes together.
    let at_once = (bytes_max / (COMMAND_BYTES + 256)).max(1);
    let mut lists = Vec::new();
    let mut commands = commands.into_iter().peekable();
    while commands.peek().is_some() {
        lists.push(commands.by_ref().take(at_once).collect());
    }
    lists
}

/// The commands of a batch, as the local transport takes them.
pub(super) fn unpack(batch: TransportBatch) -> Vec<TransportCommand> {
    let node = batch.node;
    let mut commands = Vec::new();
    for command in batch.commands {
        match command {
            wire::TransportCommand::Dispatch(dispatch) => {
                let wire::Dispatch { push, payload, content_type, properties, qos, expires_at, trace, to } =
                    dispatch;
                commands.extend(by_loop(&to).map(|(loop_index, to)| {
                    TransportCommand::Dispatch(Dispatch {
                        node,
                        loop_index,
                        push,
                        payload: payload.clone(),
                        content_type: content_type.clone(),
                        properties: properties.clone(),
                        qos,
                        expires_at,
                        trace,
                        to,
                    })
                }));
            }
            wire::TransportCommand::Live(dispatch) => {
                let wire::LiveDispatch { token, message, qos, trace, to } = dispatch;
                commands.extend(by_loop(&to).map(|(loop_index, to)| {
                    let message: Message = message.clone();
                    TransportCommand::Live(LiveDispatch { token, node, loop_index, message, qos, trace, to })
                }));
            }
            wire::TransportCommand::Disconnect { app, device } => {
                commands.push(TransportCommand::Disconnect { app, device });
            }
        }
    }
    commands
}

/// Recipients by their loops, of which a node has at most 64.
fn by_loop<R>(to: &Packed<(u16, R)>) -> impl Iterator<Item = (u16, Vec<R>)> + use<R>
where
    (u16, R): PackedEntry,
{
    let mut loops: BTreeMap<u16, Vec<R>> = BTreeMap::new();
    to.iter().for_each(|(loop_index, to)| loops.entry(loop_index).or_default().push(to));
    loops.into_iter()
}
