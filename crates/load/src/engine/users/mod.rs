//! The work of one loop for its users: it runs their sessions over its connections, and counts.
//!
//! [`driver`] is what it knows, [`schedule`] begins users and does each thing at its time,
//! [`session`] runs their ops, [`exchange`] begins and ends steps, [`mod@line`] opens connections
//! and shares them. Times are fixed before, so that being late shows.

mod driver;
mod exchange;
mod line;
mod pool;
mod schedule;
mod session;
mod user;

use stadium_reactor::{CloseReason, ConnectionId, Handler};

pub(crate) use self::driver::Driver;
use super::order::{Io, Order};
use crate::clock::monotonic_ns;

impl Handler for Driver {
    type Message = Order;

    fn connected(&mut self, io: &mut Io, id: ConnectionId, _tag: u64) {
        self.line_opened(io, id);
    }

    fn received(&mut self, io: &mut Io, id: ConnectionId, bytes: &[u8]) -> usize {
        self.line_received(io, id, bytes)
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionId, reason: CloseReason) {
        self.line_closed(io, id, reason);
    }

    fn message(&mut self, _io: &mut Io, order: Order) {
        match order {
            Order::Start { epoch_ns } => self.start(epoch_ns),
            Order::Finish => self.finish(monotonic_ns()),
            Order::Stop => self.finished = true,
            // Those are for devices.
            Order::Broadcast { .. } | Order::Cut(_) => {}
        }
    }

    fn turn_flushed(&mut self, _io: &mut Io) {
        if self.sent.is_empty() {
            return;
        }
        let now_ns = monotonic_ns();
        for due_ns in self.sent.drain(..) {
            self.counter.lateness.record(now_ns.saturating_sub(due_ns));
        }
    }
}
