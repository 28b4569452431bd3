//! What a run's head gives orders to: a loop of this process, or a worker with its loops.

use crate::engine::order::Order;
use crate::engine::threads;
use crate::workers::Remote;

/// One of those that make a run's load.
pub(crate) enum Member {
    /// A loop of this process.
    Thread(threads::Member),
    /// A worker elsewhere.
    Remote(Remote),
}

impl Member {
    /// Tells it something.
    pub(crate) fn order(&self, order: Order) {
        match self {
            Member::Thread(member) => member.order(order),
            Member::Remote(remote) => remote.order(order),
        }
    }

    /// Waits for its end.
    pub(crate) fn join(&mut self) {
        match self {
            Member::Thread(member) => member.join(),
            Member::Remote(remote) => remote.join(),
        }
    }
}
