//! The work of one loop for its devices: the client's half of MQTT, and the clockwork behind it.
//!
//! [`driver`] is what the loop knows, [`connect`] brings devices up and back, [`receive`] takes
//! what brokers send, [`publish`] sends what devices publish, [`answer`] what they answer when
//! asked, [`behaviours`] does what their profiles state, [`severed`] keeps connections that are
//! dead without a word, [`storm`] cuts many at once, [`schedule`] does each thing at its time. All
//! of it runs on the loop's thread and reports four times a second by a
//! [`Tally`](crate::swarm::Tally).

mod answer;
mod backoff;
mod behaviour;
mod behaviours;
mod connect;
mod counts;
mod device;
mod driver;
mod figures;
mod flight;
mod left;
pub(crate) mod plan;
mod publish;
mod receive;
mod schedule;
mod sequence;
mod severed;
mod storm;

use stadium_reactor::{CloseReason, ConnectionId, Handler};

use self::device::{Ending, Phase};
pub(crate) use self::driver::Driver;
use super::order::{Io, Order};
use crate::clock::monotonic_ns;

impl Handler for Driver {
    type Message = Order;

    fn connected(&mut self, io: &mut Io, id: ConnectionId, _tag: u64) {
        if let Some(slot) = self.slot_of(id) {
            self.greet(io, slot);
        }
    }

    fn received(&mut self, io: &mut Io, id: ConnectionId, bytes: &[u8]) -> usize {
        match self.slot_of(id) {
            Some(slot) => self.read(io, slot, bytes),
            None => bytes.len(),
        }
    }

    fn timeout(&mut self, io: &mut Io, id: ConnectionId) {
        let Some(slot) = self.slot_of(id) else { return };
        let phase = self.device(slot).phase;
        match phase {
            Phase::Up if self.has_behaviour(slot) => self.live(io, slot),
            Phase::Up => self.keep_alive(io, slot),
            _ => self.abort(io, slot, Ending::Timeout),
        }
    }

    fn closed(&mut self, io: &mut Io, id: ConnectionId, reason: CloseReason) {
        self.open = self.open.saturating_sub(1);
        if let Some(slot) = self.slot_of(id) {
            self.ended(io, slot, reason);
        }
    }

    fn message(&mut self, io: &mut Io, order: Order) {
        match order {
            Order::Start { epoch_ns } => {
                self.epoch_ns = Some(epoch_ns);
                self.loop_began_ns = monotonic_ns() - io.read_clock_us() * 1_000;
                self.tally_ns = monotonic_ns();
            }
            Order::Broadcast { stream } => {
                self.own_stream = stream;
                self.begin_broadcast();
            }
            Order::Cut(cut) => self.begin_storm(io, cut),
            Order::Finish | Order::Stop => self.disconnect_all(io),
        }
    }
}
