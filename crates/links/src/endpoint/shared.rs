//! What the loops of an endpoint and its callers share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};
use stadium_reactor::LoopHandle;

use super::item::Item;
use super::peer::Peer;
use super::seam::Receiver;
use super::settings::Settings;
use super::tls::Tls;
use crate::link::{Arrival, Hello, Lane, Members, NodeName, ReachWatch, Refusal, Window};

pub(super) struct Shared {
    /// Our introduction; the lane, the loop and the credit are those of a connection.
    pub(super) us: Hello,
    pub(super) settings: Settings,
    pub(super) protocol: Arc<stadium_rsocket::Config>,
    pub(super) receiver: Arc<dyn Receiver>,
    pub(super) tls: Tls,
    pub(super) node_window: Arc<Window>,
    pub(super) started: Instant,
    /// Locked at handshakes and changes.
    pub(super) members: Mutex<Members>,
    pub(super) peers: RwLock<HashMap<NodeName, Arc<Peer>, RandomState>>,
    pub(super) reach: Mutex<ReachWatch>,
    pub(super) loops: Vec<LoopHandle<Item>>,
    /// Connections of other nodes that were refused, by code.
    pub(super) refusals: Mutex<BTreeMap<&'static str, u64>>,
}

impl Shared {
    /// The clock of deadlines and pings, in microseconds.
    pub(super) fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// Our introduction on a connection.
    pub(super) fn hello(&self, lane: Lane, loop_index: usize) -> Hello {
        let credit = match lane {
            Lane::Data => self.settings.credit,
            Lane::Control => self.settings.control_credit,
        };
        // There are at most 64 loops.
        Hello { lane, loop_index: loop_index as u16, credit, ..self.us.clone() }
    }

    /// Sends to all loops. Changes of members are rare, and must arrive.
    pub(super) fn broadcast(&self, item: impl Fn() -> Item) {
        self.loops.iter().for_each(|handle| handle.send_beyond_bound(item()));
    }

    /// Decides about the other half of a connection. A later incarnation ends links with earlier
    /// ones.
    pub(super) fn judge(&self, them: &Hello) -> Result<(), Refusal> {
        let arrival = self.members.lock().judge(&self.us, them)?;
        if arrival == Arrival::Later {
            self.broadcast(|| Item::Later(them.node.clone(), them.incarnation));
        }
        Ok(())
    }

    pub(super) fn refused(&self, refusal: &Refusal) {
        *self.refusals.lock().entry(refusal.code()).or_default() += 1;
    }
}
