//! A drain: devices are moved away a few at a time, so that they do not arrive elsewhere as a herd.
//!
//! The loop's listeners are closed first. Every tick moves as many devices as keep the drain on time; the
//! broker says goodbye in each device's version, and its session stays.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stadium_reactor::{ConnectionId, Io};

use crate::device_loop::DeviceLoop;
use crate::devices::State;
use crate::message::Message;
use crate::turn::Turn;

/// How often a drain moves the next few devices away.
const DRAIN_TICK_MS: u64 = 20;

/// A drain that goes on.
#[derive(Debug)]
pub(crate) struct Draining {
    until_ms: u64,
    next_ms: u64,
    left: Vec<ConnectionId>,
    server_reference: Option<Arc<str>>,
}

impl Draining {
    /// When the next devices leave, in the node's milliseconds; `None` when all have.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        (!self.left.is_empty()).then_some(self.next_ms)
    }
}

impl DeviceLoop {
    /// Whether devices that come now are sent away.
    pub(crate) fn lets_nobody_in(&self) -> bool {
        self.draining.is_some() || self.around.shared.closed.load(Ordering::Acquire)
    }

    pub(crate) fn begin_drain(
        &mut self,
        io: &mut Io<Message>,
        within_ms: u64,
        server_reference: Option<Arc<str>>,
    ) {
        io.stop_listening();
        let now_ms = self.around.now_ms(io);
        // The last ones leave at three quarters of the time, so that their goodbyes are sent in it.
        let until_ms = now_ms + within_ms * 3 / 4;
        let left = io.connections().collect();
        self.draining = Some(Draining { until_ms, next_ms: now_ms, left, server_reference });
        self.drain_some(io);
    }

    /// Moves away as many devices as keep the drain on time.
    pub(crate) fn drain_some(&mut self, io: &mut Io<Message>) {
        let now_ms = self.around.now_ms(io);
        let Some(draining) = &mut self.draining else { return };
        if now_ms < draining.next_ms {
            return;
        }
        draining.next_ms = now_ms + DRAIN_TICK_MS;
        let ticks_left = draining.until_ms.saturating_sub(now_ms) / DRAIN_TICK_MS + 1;
        let ticks_left = usize::try_from(ticks_left).unwrap_or(usize::MAX);
        let keep = draining.left.len() - draining.left.len().div_ceil(ticks_left);
        let leaving = draining.left.split_off(keep);
        let server_reference = draining.server_reference.clone();
        for id in leaving {
            match self.devices.state(id) {
                State::Live | State::Throttled | State::Entering => {
                    let key = self.devices.session(id);
                    let mut turn = Turn { io, around: &mut self.around };
                    self.broker.move_away(&mut turn, key, server_reference.as_deref());
                    self.set_state(id, State::Ending);
                }
                State::Waiting | State::Authenticating => io.close(id),
                State::Vacant | State::Ending => {}
            }
        }
    }
}
