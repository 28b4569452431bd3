//! Names of publishes at QoS 2: a session's incarnation and a packet id, however many loops there are.
//!
//! In a sabotaged edge each loop has a name of its own for a publish, as servers had once. After a
//! start with another number of loops the names are others.

use std::collections::BTreeMap;

use stadium_mqtt::broker;
use stadium_session::Origin;

use super::mapping::kept_origin;
use crate::machine::Sabotage;

/// Distinguishes the loops' names of one publish.
const LOOP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Names of publishes.
pub struct Origins {
    loops: usize,
    sabotage: Sabotage,
    /// The incarnations of sessions, by their client ids.
    incarnations: BTreeMap<String, u64>,
}

impl Origins {
    pub fn new(loops: usize, sabotage: Sabotage) -> Origins {
        Origins { loops, sabotage, incarnations: BTreeMap::new() }
    }

    /// A client has this session now.
    pub fn begins(&mut self, client_id: &str, incarnation: u64) {
        self.incarnations.insert(client_id.to_owned(), incarnation);
    }

    /// The name of a publish for the part that this loop keeps. A will has packet id 0, and one name.
    pub fn of_part(&self, origin: broker::Origin, at: usize) -> Origin {
        let mut named = kept_origin(origin);
        if self.sabotage == Sabotage::LoopsAreInOrigins && named.packet_id != 0 {
            named.incarnation ^= (at as u64).wrapping_mul(LOOP);
        }
        named
    }

    /// The names that today's loops but the first one have for a publish.
    pub fn of_other_loops(&self, origin: broker::Origin) -> Vec<Origin> {
        match self.sabotage {
            Sabotage::LoopsAreInOrigins => (1..self.loops).map(|at| self.of_part(origin, at)).collect(),
            _ => Vec::new(),
        }
    }

    /// The same for a publish of this client.
    pub fn of_other_loops_of(&self, client_id: &str, packet_id: u16) -> Vec<Origin> {
        let origin = |&incarnation: &u64| broker::Origin { incarnation, packet_id };
        let origin = self.incarnations.get(client_id).map(origin);
        origin.map_or_else(Vec::new, |origin| self.of_other_loops(origin))
    }
}
