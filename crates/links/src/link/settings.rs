//! The bounds and times of a link, and the RSocket configuration that follows from them.

use std::sync::Arc;

use stadium_rsocket::Config;
use stadium_rsocket::frame::FRAME_BYTES_MAX;

use super::message::REQUEST_BYTES;

/// A bound on messages and their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Requests without an answer, and letters that the receiver has not taken.
    pub messages: u32,
    /// Their bytes, heads included.
    pub bytes: u64,
}

impl Bounds {
    /// The smaller of each.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { messages: self.messages.min(other.messages), bytes: self.bytes.min(other.bytes) }
    }
}

/// Times of a link, in milliseconds, and the size of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two pings of a dialer. Each one measures the round trip.
    pub ping_ms: u32,
    /// Without a byte from the peer for so long, the link is lost.
    pub silence_ms: u32,
    /// In which the handshake of the protocol must be done.
    pub setup_ms: u32,
    /// The longest body of a request, an answer or a letter, in bytes.
    pub body_bytes_max: usize,
}

impl Default for Timing {
    fn default() -> Self {
        Self { ping_ms: 500, silence_ms: 2_000, setup_ms: 2_000, body_bytes_max: 1024 * 1024 }
    }
}

/// The longest body that fits an RSocket frame with its heads, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX - 64;

/// A batch is cut when it has this many bytes; one longer message is a batch of its own.
pub(crate) const BATCH_BYTES: usize = 256 * 1024;

impl Timing {
    /// The longest body, within what a frame can hold.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body_bytes_max.min(BODY_BYTES_MAX)
    }

    /// The longest batch, in bytes.
    pub(crate) fn batch_bytes_max(&self) -> usize {
        // A batch below the cut takes one more message.
        (BATCH_BYTES + self.body_bytes() + REQUEST_BYTES).min(FRAME_BYTES_MAX - 16)
    }

    /// The longest frame with its length, in bytes: what a connection may leave unconsumed.
    pub(crate) fn frame_bytes_max(&self) -> usize {
        self.batch_bytes_max() + 16
    }
}

/// The RSocket configuration of both halves.
pub fn protocol(timing: &Timing) -> Arc<Config> {
    Arc::new(Config {
        frame_bytes_max: timing.frame_bytes_max(),
        // A batch is one frame: it is cut so that it fits.
        fragment_bytes: 0,
        payload_bytes_max: timing.batch_bytes_max(),
        setup_bytes_max: 1024,
        // The channel.
        streams_max: 1,
        keepalive_interval_ms: timing.ping_ms,
        lifetime_ms: timing.silence_ms,
        setup_ms: timing.setup_ms,
        ..Config::default()
    })
}
