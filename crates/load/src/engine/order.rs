//! The orders that a run gives to its loops, and a loop's handle to its connections.

/// A loop of this crate: its mailbox takes orders.
pub(crate) type Io = stadium_reactor::Io<Order>;

/// An order to a loop. Users know nothing of broadcasts and cuts; devices finish at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The run's start, in [`crate::clock::monotonic_ns`].
    Start {
        /// That time.
        epoch_ns: u64,
    },
    /// Begin to broadcast.
    Broadcast {
        /// Distinguishes this run's messages from others'.
        stream: u32,
    },
    /// Cut connections; their devices come back.
    Cut(Cut),
    /// End now: users finish what they are at, as far as the grace allows.
    Finish,
    /// End at once.
    Stop,
}

/// The devices that a storm cuts, and the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Counts storms from 1.
    pub(crate) number: u32,
    /// When the swarm decided it, in [`crate::clock::monotonic_ns`].
    pub(crate) at_ns: u64,
    /// Of a million devices, so many.
    pub(crate) share_ppm: u32,
    /// The last ones so long after the first, in milliseconds.
    pub(crate) over_ms: u64,
}
