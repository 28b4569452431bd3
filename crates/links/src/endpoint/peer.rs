//! Another node, as senders see it: an outbox for each connection that is dialled to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use stadium_reactor::LoopHandle;

use super::figures::{Counts, LinkFigures};
use super::item::Item;
use super::settings::Settings;
use crate::link::{Credit, Lane, NodeName, Outbox, Window};

/// Distinguishes the lanes of an endpoint, those of nodes that were removed included.
static LANES: AtomicU64 = AtomicU64::new(0);

/// Another node.
pub(super) struct Peer {
    pub(super) addresses: Mutex<Vec<SocketAddr>>,
    control: Arc<PeerLane>,
    data: Vec<Arc<PeerLane>>,
}

/// One connection that is dialled to it.
pub(super) struct PeerLane {
    pub(super) number: u64,
    pub(super) node: NodeName,
    pub(super) lane: Lane,
    pub(super) loop_index: u16,
    pub(super) outbox: Arc<Outbox>,
    pub(super) counts: Counts,
    handle: LoopHandle<Item>,
}

impl Peer {
    pub(super) fn new(
        settings: &Settings,
        node_window: &Arc<Window>,
        loops: &[LoopHandle<Item>],
        node: NodeName,
    ) -> Self {
        let lane = |lane, loop_index: usize| {
            let bounds = match lane {
                Lane::Data => settings.credit,
                Lane::Control => settings.control_credit,
            };
            let credit = Credit { link: Arc::new(Window::new(bounds)), node: Arc::clone(node_window) };
            Arc::new(PeerLane {
                number: LANES.fetch_add(1, Ordering::Relaxed),
                node: node.clone(),
                lane,
                // There are at most 64 loops.
                loop_index: loop_index as u16,
                outbox: Arc::new(Outbox::new(&settings.timing, credit)),
                counts: Counts::default(),
                handle: loops[loop_index].clone(),
            })
        };
        Self {
            control: lane(Lane::Control, 0),
            data: (0..loops.len()).map(|index| lane(Lane::Data, index)).collect(),
            addresses: Mutex::default(),
        }
    }

    /// The connection for a message to a shard.
    pub(super) fn lane(&self, lane: Lane, shard: u32) -> &PeerLane {
        match lane {
            Lane::Control => &self.control,
            Lane::Data => &self.data[shard as usize % self.data.len()],
        }
    }

    /// The connections of a loop.
    pub(super) fn lanes_of(&self, loop_index: usize) -> impl Iterator<Item = &Arc<PeerLane>> {
        std::iter::once(&self.control)
            .chain(&self.data)
            .filter(move |lane| usize::from(lane.loop_index) == loop_index)
    }

    /// All connections.
    pub(super) fn lanes(&self) -> impl Iterator<Item = &PeerLane> {
        std::iter::once(&self.control).chain(&self.data).map(Arc::as_ref)
    }
}

impl PeerLane {
    /// Has the loop take what waits. There is one such item for each lane at most, so that the
    /// mailbox's bound is not needed.
    pub(super) fn wake(&self) {
        self.handle.send_beyond_bound(Item::Flush(self.number));
    }

    pub(super) fn figures(&self) -> LinkFigures {
        let window = &self.outbox.credit().link;
        self.counts.figures(
            self.node.clone(),
            self.lane,
            self.loop_index,
            window.in_flight(),
            window.bounds(),
        )
    }
}
