//! One loop of an endpoint: the handler of its connections.
//!
//! Connections that this node dials are in [`Dial`], those of other nodes in [`Accepted`].

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stadium_reactor::{CloseReason, ConnectionId, Handler, Io};
use stadium_rpc::balance::Random;

use super::accepted::Accepted;
use super::dial::Dial;
use super::item::Item;
use super::shared::Shared;
use crate::link::{Incarnation, Lane, NodeName};

/// Whose a connection is.
enum Role {
    /// The lane of this number has dialled it.
    Dialled(u64),
    /// Another node has.
    Accepted(Box<Accepted>),
}

pub(super) struct LinkLoop {
    shared: Arc<Shared>,
    index: usize,
    /// By the numbers of their lanes.
    dials: HashMap<u64, Dial, RandomState>,
    roles: HashMap<ConnectionId, Role, RandomState>,
    random: Random,
    /// The nodes reached at the last look; the first loop watches.
    reached: (usize, usize),
}

impl LinkLoop {
    pub(super) fn new(shared: Arc<Shared>, index: usize) -> Self {
        // Nodes that lost one together dial it apart: the seed is no secret.
        let incarnation = shared.us.incarnation.0;
        let name = shared
            .us
            .node
            .as_str()
            .bytes()
            .fold(incarnation, |seed, byte| seed.rotate_left(7).wrapping_add(byte.into()));
        let random = Random::seeded(name.wrapping_mul(64).wrapping_add(index as u64));
        let (dials, roles) = (HashMap::default(), HashMap::default());
        Self { shared, index, dials, roles, random, reached: (0, 0) }
    }

    fn member(&mut self, io: &mut Io<Item>, node: &NodeName) {
        // One that was removed meanwhile is not dialled.
        let Some(peer) = self.shared.peers.read().get(node).cloned() else { return };
        let addresses = peer.addresses.lock().clone();
        for lane in peer.lanes_of(self.index) {
            match self.dials.get_mut(&lane.number) {
                Some(dial) => dial.set_addresses(&self.shared, io, addresses.clone()),
                None => {
                    let dial = Dial::new(&self.shared, Arc::clone(lane), addresses.clone());
                    self.dials.insert(lane.number, dial);
                }
            }
        }
    }

    fn gone(&mut self, io: &mut Io<Item>, node: &NodeName) {
        let shared = &self.shared;
        // A node that was removed and added again has other lanes.
        let peers = shared.peers.read();
        let is_current =
            |number: u64| peers.get(node).is_some_and(|peer| peer.lanes().any(|lane| lane.number == number));
        let leaving: Vec<u64> = self
            .dials
            .iter()
            .filter(|(number, dial)| dial.lane.node == *node && !is_current(**number))
            .map(|(number, _)| *number)
            .collect();
        drop(peers);
        for number in leaving {
            if let Some(mut dial) = self.dials.remove(&number) {
                dial.end(shared, io);
            }
        }
        self.end_accepted(io, node, None);
    }

    /// Ends connections that a node has dialled, of incarnations before one where it is given.
    fn end_accepted(&self, io: &mut Io<Item>, node: &NodeName, before: Option<Incarnation>) {
        for (id, role) in &self.roles {
            if let Role::Accepted(accepted) = role
                && accepted.is_of(node, before)
            {
                io.abort(*id);
            }
        }
    }

    fn watch_reach(&mut self) {
        if self.index != 0 {
            return;
        }
        let controls = self.dials.values().filter(|dial| dial.lane.lane == Lane::Control);
        let (others, reached) = controls
            .fold((0, 0), |(others, reached), dial| (others + 1, reached + usize::from(dial.is_up())));
        if self.reached != (others, reached) {
            self.reached = (others, reached);
            self.shared.reach.lock().update(self.shared.now_us() / 1_000, others, reached);
        }
    }
}

impl Handler for LinkLoop {
    type Message = Item;

    fn established(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        let accepted = Accepted::new(&self.shared, io, id, self.index);
        self.roles.insert(id, Role::Accepted(Box::new(accepted)));
    }

    fn connected(&mut self, io: &mut Io<Item>, id: ConnectionId, tag: u64) {
        match self.dials.get_mut(&tag) {
            Some(dial) => dial.connected(&self.shared, io, id),
            None => io.close(id),
        }
    }

    fn received(&mut self, io: &mut Io<Item>, id: ConnectionId, bytes: &[u8]) -> usize {
        match self.roles.get_mut(&id) {
            Some(Role::Accepted(accepted)) => accepted.received(&self.shared, io, id, bytes),
            Some(Role::Dialled(number)) => match self.dials.get_mut(number) {
                Some(dial) => dial.received(&self.shared, io, id, bytes),
                None => bytes.len(),
            },
            None => bytes.len(),
        }
    }

    fn timeout(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        if let Some(Role::Accepted(accepted)) = self.roles.get_mut(&id) {
            accepted.advance(&self.shared, io, id);
        }
    }

    fn drained(&mut self, io: &mut Io<Item>, id: ConnectionId) {
        match self.roles.get_mut(&id) {
            Some(Role::Accepted(accepted)) => accepted.flush(io, id),
            Some(Role::Dialled(number)) => {
                if let Some(dial) = self.dials.get_mut(number) {
                    dial.flush(&self.shared, io);
                }
            }
            None => {}
        }
    }

    fn closed(&mut self, _io: &mut Io<Item>, id: ConnectionId, reason: CloseReason) {
        if let Some(Role::Dialled(number)) = self.roles.remove(&id)
            && let Some(dial) = self.dials.get_mut(&number)
        {
            dial.closed(&self.shared, id, reason, &mut self.random);
        }
        self.watch_reach();
    }

    fn message(&mut self, io: &mut Io<Item>, message: Item) {
        match message {
            Item::Flush(number) => {
                if let Some(dial) = self.dials.get_mut(&number) {
                    dial.flush(&self.shared, io);
                }
            }
            Item::Answers(id) => {
                if let Some(Role::Accepted(accepted)) = self.roles.get_mut(&id) {
                    accepted.flush(io, id);
                }
            }
            Item::Member(node) => self.member(io, &node),
            Item::Later(node, incarnation) => {
                for dial in self.dials.values_mut().filter(|dial| dial.lane.node == node) {
                    dial.end_earlier(io, incarnation);
                }
                self.end_accepted(io, &node, Some(incarnation));
            }
            Item::Gone(node) => self.gone(io, &node),
        }
    }

    fn turn_ended(&mut self, io: &mut Io<Item>) {
        for (number, dial) in &mut self.dials {
            dial.advance(&self.shared, io);
            if let Some(id) = dial.dial(&self.shared, io, &mut self.random) {
                self.roles.insert(id, Role::Dialled(*number));
            }
        }
        self.watch_reach();
    }

    fn turn_flushed(&mut self, io: &mut Io<Item>) {
        match self.dials.values().filter_map(|dial| dial.wait(&self.shared)).min() {
            Some(wait) => io.set_alarm(io.now() + u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1)),
            None => io.clear_alarm(),
        }
    }
}
