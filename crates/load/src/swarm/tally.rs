//! Counts of loops, in the form that travels to the report.
//!
//! A [`Tally`] holds what happened since the one before it: sums and histograms add up over loops, processes and
//! time, so that nothing is lost when a worker dies except its last quarter of a second. [`Now`] alone is a state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::broadcast::Spread;
use super::memory::Memory;
use crate::latency::{Counts, Latency};

/// The states of one loop's devices now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Devices whose time has not come.
    pub waiting: u32,
    /// Devices between SYN and SUBACK.
    pub handshakes: u32,
    /// Devices with their SUBACK.
    pub up: u32,
    /// Of them, those whose radio sleeps.
    #[serde(default)]
    pub asleep: u32,
    /// Of those that are up, the ones whose connection is dead and who do not know it yet.
    #[serde(default)]
    pub severed: u32,
    /// Devices that wait before the next attempt.
    pub away: u32,
    /// Of them, those in the background.
    #[serde(default)]
    pub background: u32,
    /// Devices that gave up.
    pub given_up: u32,
}

impl Now {
    /// Adds another loop's.
    pub fn add(&mut self, other: &Now) {
        self.waiting += other.waiting;
        self.handshakes += other.handshakes;
        self.up += other.up;
        self.asleep += other.asleep;
        self.severed += other.severed;
        self.away += other.away;
        self.background += other.background;
        self.given_up += other.given_up;
    }
}

macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Numbers that only grow.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Sums {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Sums {
            /// Adds another's.
            pub fn add(&mut self, other: &Sums) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

sums! {
    /// Attempts to connect.
    attempts,
    /// CONNACKs that accepted.
    connected,
    /// Of them, those that found their session.
    sessions_resumed,
    /// Devices that were up: SUBACK received, or nothing to subscribe to.
    subscribed,
    /// Devices that were up for the first time.
    first_ups,
    /// Filters that the broker refused.
    subscriptions_refused,
    /// Messages received, repetitions left out.
    deliveries,
    /// Bytes of their payloads.
    payload_bytes,
    /// Messages received more than once: a sequence number seen before.
    duplicates,
    /// Messages of a stream that never came although the device was there, or had a session.
    lost,
    /// Messages of a stream that were sent while the device was away without a session.
    missed_away,
    /// Messages that carried no stamp.
    unstamped,
    /// Messages that devices published.
    uplinks,
    /// Of them, those that the broker acknowledged.
    uplinks_acknowledged,
    /// Times to publish that came while a device was away or its window full.
    uplinks_skipped,
    /// Uplinks that waited for their device to wake.
    uplinks_deferred,
    /// Messages in flight that a lost connection without a session took along.
    uplinks_lost,
    /// Acknowledgements that refused.
    uplinks_refused,
    /// Answers that devices gave to a message that asked them.
    answers,
    /// Of them, those that the broker acknowledged.
    answers_acknowledged,
    /// Answers that the broker refused, or that a lost connection took along, or that found a full window.
    answers_lost,
    /// Messages that the broadcaster published.
    broadcasts,
    /// Times to broadcast that came while its window was full or it was away.
    broadcasts_skipped,
    /// PINGREQs.
    pings,
    /// Times that a radio fell asleep.
    slept,
    /// Streams that a carrier forgot because they were idle.
    culled,
    /// Times that a device's address changed.
    addresses_changed,
    /// Times that a device went to the background.
    backgrounded,
    /// Of them, those without DISCONNECT.
    backgrounded_silently,
    /// Connections that the kernel let nobody sever: they were reset instead.
    not_severed,
    /// Severed connections that had to be reset for want of descriptors, or because their time was over, while their
    /// device was not back: the broker may have seen it.
    resets_seen,
    /// Packets that break the specification.
    malformed,
    /// Bytes read from sockets.
    bytes_in,
    /// Bytes written to sockets.
    bytes_out,
    /// Processor time of the loop's thread, in nanoseconds.
    cpu_ns,
    /// Time that it covers, in nanoseconds.
    wall_ns,
    /// Quarter seconds in which the loop ran.
    intervals,
    /// Of them, those in which it hardly waited: what was measured then is the swarm, not the broker.
    intervals_saturated,
}

macro_rules! latencies {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The histograms of a loop or of a whole swarm.
        #[derive(Debug, Clone, Default)]
        pub struct Latencies {
            $($(#[$doc])* pub $name: Latency,)*
        }

        /// The counts of these histograms.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct LatencyCounts {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Counts::is_empty")]
                pub $name: Counts,
            )*
        }

        impl Latencies {
            /// Takes the counts so far.
            pub fn take(&mut self) -> LatencyCounts {
                LatencyCounts { $($name: self.$name.take(),)* }
            }

            /// Adds the counts of others.
            pub fn add(&mut self, counts: &LatencyCounts) {
                $(self.$name.add(&counts.$name);)*
            }
        }
    };
}

latencies! {
    /// From a device's intended start to CONNACK.
    connack,
    /// From its intended start to SUBACK.
    suback,
    /// The same for devices that had been up before.
    reconnect,
    /// From a stamp to its receiver.
    delivery,
    /// The same for messages that waited for a sleeping device.
    delivery_asleep,
    /// The same for messages that waited for a device to come back.
    delivery_away,
    /// From a connection's silent death to the device's finding out.
    notice,
    /// From a connection's silent death to the device's being up again, times in the background left out.
    back,
    /// From an uplink's intended time to its acknowledgement.
    uplink,
    /// How late the swarm itself was: intended time against the time it came to it, handshakes' limit left out.
    lateness,
}

/// A cut of all connections, or of a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    /// When the swarm decided it, in [`crate::clock::monotonic_ns`].
    pub cut_ns: u64,
    /// Connections cut.
    pub cut: u32,
    /// Devices that were up again.
    pub back: u32,
    /// When the last of them was.
    pub last_back_ns: u64,
}

/// What happened on one loop since its tally before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// The loop, counted over all processes.
    pub share: u32,
    /// Whether it is the loop's last.
    pub last: bool,
    /// States now.
    pub now: Now,
    /// Sums.
    pub sums: Sums,
    /// Histograms.
    pub latencies: LatencyCounts,
    /// Refusals in CONNACK by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Ends of connections that the swarm did not want, by cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_connections: BTreeMap<String, u64>,
    /// What was heard of each message of a stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spreads: Vec<Spread>,
    /// Storms, by their number; each tally adds to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storms: BTreeMap<u32, Storm>,
    /// When a device was last up for the first time, in [`crate::clock::monotonic_ns`]; zero for not since.
    pub last_up_ns: u64,
    /// The process's memory, from one of its loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// Adds counts by name.
pub(crate) fn add_named(into: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    for (name, count) in from {
        match into.get_mut(name) {
            Some(sum) => *sum += count,
            None => {
                into.insert(name.clone(), *count);
            }
        }
    }
}
