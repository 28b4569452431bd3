//! A loop's counts, published for other threads.
//!
//! The loop counts in plain integers and copies them out at the end of each turn with relaxed
//! stores; a reader sees each number whole, and numbers of neighbouring turns at worst.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::close::CloseReason;

/// One published number.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// The number as of the end of the last turn.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn publish(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A loop's counts. Sums since the loop's start, except where its text has "now".
        #[derive(Debug, Default)]
        pub struct LoopStats {
            $($(#[$doc])* pub $name: Count,)*
            /// Ends of connections, by [`CloseReason::index`].
            pub closes: [Count; CloseReason::COUNT],
            /// Messages and connections that a full mailbox refused.
            pub mailbox_refused: Count,
        }

        /// The loop's own copy.
        #[derive(Debug, Default)]
        pub(crate) struct Counts {
            $(pub(crate) $name: u64,)*
            pub(crate) closes: [u64; CloseReason::COUNT],
        }

        impl Counts {
            pub(crate) fn publish(&self, stats: &LoopStats) {
                $(stats.$name.publish(self.$name);)*
                for (published, count) in stats.closes.iter().zip(&self.closes) {
                    published.publish(*count);
                }
            }
        }
    };
}

counts! {
    /// Turns of the loop.
    turns,
    /// System calls that looked or waited for events.
    looks,
    /// Readiness events.
    events,
    /// Nanoseconds outside of waiting.
    busy_ns,
    /// Nanoseconds waiting for something to happen.
    idle_ns,
    /// Connections now.
    connections,
    /// Connections now between accept and established.
    handshakes,
    /// Connections accepted.
    accepts,
    /// Connections that the handler refused.
    accepts_refused,
    /// Times that no file descriptor was free for a peer that asked.
    accepts_starved,
    /// Times that the accept budget left peers waiting.
    accepts_paced,
    /// Outgoing connections begun.
    connects,
    /// TLS handshakes completed.
    tls_handshakes,
    /// Bytes read from sockets.
    bytes_in,
    /// Bytes written to sockets.
    bytes_out,
    /// System calls that read.
    reads,
    /// System calls that wrote.
    sends,
    /// Writes of which the kernel took only a part.
    sends_partial,
    /// Pieces that handlers asked to deliver.
    deliveries,
    /// Messages from the mailbox.
    messages,
    /// Connections handed to another loop.
    handoffs,
    /// Datagrams received.
    datagrams_in,
    /// Datagrams sent.
    datagrams_out,
    /// Bytes held now by connections themselves: slab, TLS and WebSocket state.
    connection_bytes,
    /// Bytes held now for slow readers.
    write_queue_bytes,
    /// Bytes held now that handlers have not consumed.
    carry_bytes,
    /// Bytes held now by the loop's shared buffers.
    buffer_bytes,
}
