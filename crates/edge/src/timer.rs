//! A device's one timer: the time before authentication, keep alive, the end of its proof, and throttling.
//!
//! A packet never sets the timer again. When it goes off, it looks at when the device was last heard and
//! is set for what is left.

use stadium_mqtt::reason::ReasonCode;
use stadium_reactor::{ConnectionId, Io};

use crate::device_loop::DeviceLoop;
use crate::devices::State;
use crate::message::Message;
use crate::turn::Turn;

impl DeviceLoop {
    /// Sets the timer that finds a silent device, see [`DeviceLoop::timer_went_off`].
    pub(crate) fn watch_keep_alive(&mut self, io: &mut Io<Message>, id: ConnectionId, keep_alive_s: u16) {
        let silence_ms = (keep_alive_s > 0).then(|| u64::from(keep_alive_s) * 1500);
        let now_ms = self.around.now_ms(io);
        let proof_ms = self.proofs_end.get(&id.index).map(|end| end.saturating_sub(now_ms).max(1));
        match silence_ms.into_iter().chain(proof_ms).min() {
            Some(after_ms) => io.set_timer(id, after_ms),
            None => io.cancel_timer(id),
        }
    }

    /// The timer went off.
    pub(crate) fn timer_went_off(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        match self.devices.state(id) {
            State::Vacant | State::Ending => {}
            State::Waiting | State::Authenticating => self.too_slow(io, id),
            State::Throttled => {
                self.set_state(id, State::Live);
                self.watch_again(io, id);
                io.resume(id);
            }
            State::Live | State::Entering => self.watch_again(io, id),
        }
    }

    /// A live device's timer: cuts it if it was silent too long or its proof has ended, and otherwise
    /// sets the timer for what is left.
    fn watch_again(&mut self, io: &mut Io<Message>, id: ConnectionId) {
        let key = self.devices.session(id);
        let now_ms = self.around.now_ms(io);
        if self.proofs_end.get(&id.index).is_some_and(|&end| end <= now_ms) {
            let reason = ReasonCode::NotAuthorized;
            let mut turn = Turn { io, around: &mut self.around };
            self.broker.violated(&mut turn, key, id, reason);
            self.set_state(id, State::Ending);
            return;
        }
        let keep_alive_s = self.broker.keep_alive_s(key);
        if keep_alive_s == 0 {
            self.watch_keep_alive(io, id, 0);
            return;
        }
        let allowed_ms = u64::from(keep_alive_s) * 1500;
        let silent_ms = io.now().saturating_sub(io.last_received(id));
        if silent_ms >= allowed_ms {
            let mut turn = Turn { io, around: &mut self.around };
            self.broker.keep_alive_over(&mut turn, key);
            self.set_state(id, State::Ending);
            return;
        }
        let mut left_ms = allowed_ms - silent_ms;
        if let Some(end) = self.proofs_end.get(&id.index) {
            left_ms = left_ms.min(end.saturating_sub(now_ms).max(1));
        }
        io.set_timer(id, left_ms);
    }
}
