//! The figures of a link: counted by its loop, read by anybody.
//!
//! Counts only grow. They are read one by one, so that sums of them may be off by what is under
//! way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::link::{Bounds, InFlight, Lane, NodeName, NotSent, Outcome, Refused, Unknown};

/// The figures of one link, from the side that dials. Counts are since the node was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFigures {
    /// The other node.
    pub node: NodeName,
    /// The connection's purpose.
    pub lane: Lane,
    /// The loop that keeps it.
    pub loop_index: u16,
    /// Whether it is up now.
    pub is_up: bool,
    /// Connections that were accepted by the other half.
    pub connects: u64,
    /// Attempts to connect that came to nothing, and connections that were lost.
    pub failures: u64,
    /// Bytes written, without TLS.
    pub bytes_sent: u64,
    /// Bytes received, without TLS.
    pub bytes_received: u64,
    /// Batches written.
    pub batches: u64,
    /// Requests that were answered with a body.
    pub answers: u64,
    /// Requests that were not answered, and messages that were not taken.
    pub losses: Losses,
    /// The credit that is taken now.
    pub in_flight: InFlight,
    /// The credit that there is.
    pub credit: Bounds,
    /// The last round trip of a ping, of a loop's turn at both ends; `None` before the first.
    pub round_trip: Option<Duration>,
}

/// Messages that came to nothing, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Not taken: no credit of the link.
    pub link_busy: u64,
    /// Not taken: no credit of the node.
    pub node_busy: u64,
    /// Not taken: no link.
    pub down: u64,
    /// Not taken: too long.
    pub too_long: u64,
    /// The receiver had no room.
    pub receiver_busy: u64,
    /// Taken, and never left: the link ended.
    pub not_sent_link_ended: u64,
    /// Taken, and never left: the deadline passed.
    pub not_sent_deadline: u64,
    /// Left, and not answered: the link ended.
    pub unknown_link_ended: u64,
    /// Left, and not answered in time.
    pub unknown_deadline: u64,
    /// Left, and given up by the receiver.
    pub unknown_dropped: u64,
}

/// The counts behind [`LinkFigures`].
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) is_up: AtomicBool,
    pub(super) connects: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) bytes_sent: AtomicU64,
    pub(super) bytes_received: AtomicU64,
    pub(super) batches: AtomicU64,
    answers: AtomicU64,
    link_busy: AtomicU64,
    node_busy: AtomicU64,
    down: AtomicU64,
    too_long: AtomicU64,
    receiver_busy: AtomicU64,
    not_sent_link_ended: AtomicU64,
    not_sent_deadline: AtomicU64,
    unknown_link_ended: AtomicU64,
    unknown_deadline: AtomicU64,
    unknown_dropped: AtomicU64,
    /// Microseconds; 0 before the first.
    pub(super) round_trip_us: AtomicU64,
}

/// Counts.
pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Counts {
    pub(super) fn refused(&self, refused: Refused) {
        let count = match refused {
            Refused::Busy => &self.link_busy,
            Refused::NodeBusy => &self.node_busy,
            Refused::Down | Refused::NoSuchNode => &self.down,
            Refused::TooLong => &self.too_long,
        };
        add(count, 1);
    }

    pub(super) fn completed(&self, outcome: Outcome<'_>) {
        let count = match outcome {
            Outcome::Answer(_) => &self.answers,
            Outcome::Busy => &self.receiver_busy,
            Outcome::NotSent(NotSent::LinkEnded) => &self.not_sent_link_ended,
            Outcome::NotSent(NotSent::Deadline) => &self.not_sent_deadline,
            Outcome::Unknown(Unknown::LinkEnded) => &self.unknown_link_ended,
            Outcome::Unknown(Unknown::Deadline) => &self.unknown_deadline,
            Outcome::Unknown(Unknown::Dropped) => &self.unknown_dropped,
        };
        add(count, 1);
    }

    pub(super) fn figures(
        &self,
        node: NodeName,
        lane: Lane,
        loop_index: u16,
        in_flight: InFlight,
        credit: Bounds,
    ) -> LinkFigures {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        LinkFigures {
            node,
            lane,
            loop_index,
            is_up: self.is_up.load(Ordering::Relaxed),
            connects: read(&self.connects),
            failures: read(&self.failures),
            bytes_sent: read(&self.bytes_sent),
            bytes_received: read(&self.bytes_received),
            batches: read(&self.batches),
            answers: read(&self.answers),
            losses: Losses {
                link_busy: read(&self.link_busy),
                node_busy: read(&self.node_busy),
                down: read(&self.down),
                too_long: read(&self.too_long),
                receiver_busy: read(&self.receiver_busy),
                not_sent_link_ended: read(&self.not_sent_link_ended),
                not_sent_deadline: read(&self.not_sent_deadline),
                unknown_link_ended: read(&self.unknown_link_ended),
                unknown_deadline: read(&self.unknown_deadline),
                unknown_dropped: read(&self.unknown_dropped),
            },
            in_flight,
            credit,
            round_trip: Some(read(&self.round_trip_us)).filter(|us| *us > 0).map(Duration::from_micros),
        }
    }
}
