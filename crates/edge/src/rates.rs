//! What one connection may send: messages and bytes a second.
//!
//! A connection over its rate is not read until it may send again. Nothing it sent is lost: what was read
//! waits in its carry buffer, the rest in its socket.

use stadium_reactor::{ConnectionId, Io};

use crate::config::ConnectionRates;
use crate::device_loop::DeviceLoop;
use crate::devices::State;
use crate::limits::TokenBucket;
use crate::message::Message;

/// What a connection may still send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    messages: TokenBucket,
    bytes: TokenBucket,
}

impl Rates {
    fn full(rates: &ConnectionRates, now_ms: u64) -> Self {
        Self {
            messages: TokenBucket::full(rates.messages_per_second, now_ms),
            bytes: TokenBucket::full(rates.bytes_per_second, now_ms),
        }
    }
}

impl DeviceLoop {
    /// How many messages a connection may send now.
    pub(crate) fn publishes_allowed(&mut self, io: &Io<Message>, id: ConnectionId) -> u64 {
        let rates = self.config.rates;
        if rates.messages_per_second == 0 {
            return u64::MAX;
        }
        let now_ms = self.around.now_ms(io);
        let full = Rates::full(&rates, now_ms);
        let buckets = self.rates.entry(id.index).or_insert(full);
        buckets.messages.tokens(rates.messages_per_second, now_ms)
    }

    /// A connection pays for what it sent; one without a message left, or in debt for its bytes, is not
    /// read until that is over. What it sent meanwhile waits unread.
    pub(crate) fn charge(&mut self, io: &mut Io<Message>, id: ConnectionId, publishes: u64, bytes: u64) {
        let rates = self.config.rates;
        let now_ms = self.around.now_ms(io);
        let full = Rates::full(&rates, now_ms);
        let buckets = self.rates.entry(id.index).or_insert(full);
        let mut wait_ms = 0;
        if rates.messages_per_second > 0 {
            let _ = buckets.messages.spend(publishes, rates.messages_per_second, now_ms);
            if buckets.messages.tokens(rates.messages_per_second, now_ms) == 0 {
                wait_ms = u64::from(1000 / rates.messages_per_second).max(1);
            }
        }
        if rates.bytes_per_second > 0 {
            wait_ms = wait_ms.max(buckets.bytes.spend(bytes, rates.bytes_per_second, now_ms).unwrap_or(0));
        }
        if wait_ms > 0 {
            io.pause(id);
            io.set_timer(id, wait_ms);
            self.set_state(id, State::Throttled);
        }
    }
}
