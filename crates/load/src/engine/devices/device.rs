//! One simulated device: 64 bytes.
//!
//! A device has no texts of its own: its id, topics and credentials are templates filled in when they are sent.
//! What only some devices have, such as messages in flight, is in its driver's tables.

use stadium_reactor::ConnectionId;

use super::backoff::Away;
use super::sequence::Window;

/// QoS 1 and 2 messages that a device has in flight at once; its packet ids are 1 to this. A broker that allows
/// less is obeyed. More is for load tests with pipelines, which spread over devices here.
pub(crate) const UPLINKS_IN_FLIGHT_MAX: u16 = 16;

/// What a device is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its time has not come.
    Waiting,
    /// TCP, TLS, WebSocket.
    Opening,
    /// CONNECT is sent.
    Greeting,
    /// SUBSCRIBE is sent.
    Subscribing,
    /// Everything is there.
    Up,
    /// It will try again.
    Away,
    /// It will not.
    GivenUp,
}

/// Why the swarm itself ended a connection, or what the broker sent before it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Not from our side.
    Theirs,
    /// CONNACK refused; counted with its reason.
    Refused(Away),
    /// DISCONNECT came; counted with its reason.
    Dismissed(Away),
    /// Nothing came for one and a half times the keep-alive.
    Silent,
    /// SUBACK did not come in time.
    Timeout,
    /// The broker broke the protocol.
    Malformed,
    /// The swarm cut it to see it come back.
    Storm,
    /// It was severed, and the device found out.
    Severed,
    /// The device's address changed.
    Moved,
    /// The device went to the background, for so long.
    Background { after_ms: u32 },
    /// The swarm ends.
    Stop,
}

/// One simulated device.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    /// [`ConnectionId::NONE`] while it has none.
    pub(crate) connection: ConnectionId,
    /// Intended start of the attempt that is under way, or of the last one.
    pub(crate) began_ns: u64,
    /// What it heard of the stream that its driver follows.
    pub(crate) window: Window,
    /// Messages that it published.
    pub(crate) published: u32,
    /// Loop time of the last packet that it sent, in milliseconds modulo 2^32.
    pub(crate) sent_ms: u32,
    /// Target, an index into the configuration's.
    pub(crate) target: u16,
    /// Failures in a row.
    pub(crate) failures: u16,
    /// Keep-alive in force, in seconds; zero for none.
    pub(crate) keep_alive_s: u16,
    /// Packet ids in flight: bit p - 1 for packet id p.
    pub(crate) in_flight: u16,
    /// How many may be.
    pub(crate) in_flight_max: u8,
    pub(crate) phase: Phase,
    /// Whether it has been up before.
    pub(crate) known: bool,
    /// The storm that cut it, where it is not back yet; see the driver's storms. Zero for none.
    pub(crate) cut: u8,
    pub(crate) ending: Ending,
}

impl Device {
    pub(crate) fn new(target: u16) -> Self {
        Device {
            connection: ConnectionId::NONE,
            began_ns: 0,
            window: Window::default(),
            published: 0,
            sent_ms: 0,
            target,
            failures: 0,
            keep_alive_s: 0,
            in_flight: 0,
            in_flight_max: 0,
            phase: Phase::Waiting,
            known: false,
            cut: 0,
            ending: Ending::Theirs,
        }
    }

    /// A packet id that is free, where the window has room.
    pub(crate) fn free_packet_id(&self) -> Option<u16> {
        (self.in_flight.count_ones() < u32::from(self.in_flight_max))
            .then(|| self.in_flight.trailing_ones() as u16 + 1)
            .filter(|&packet_id| packet_id <= UPLINKS_IN_FLIGHT_MAX)
    }

    /// Packet ids in flight.
    pub(crate) fn packet_ids(&self) -> impl Iterator<Item = u16> + use<> {
        let in_flight = self.in_flight;
        (1..=UPLINKS_IN_FLIGHT_MAX).filter(move |packet_id| in_flight & 1 << (packet_id - 1) != 0)
    }

    /// Whether this packet id is in flight.
    pub(crate) fn has_in_flight(&self, packet_id: u16) -> bool {
        (1..=UPLINKS_IN_FLIGHT_MAX).contains(&packet_id) && self.in_flight & 1 << (packet_id - 1) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_small() {
        assert!(size_of::<Device>() <= 64, "{} bytes", size_of::<Device>());
    }

    #[test]
    fn packet_ids_run_out_at_the_brokers_limit() {
        let mut device = Device::new(0);
        assert_eq!(device.free_packet_id(), None, "nothing may be in flight before CONNACK");
        for limit in [1, 3, 16_u8] {
            device.in_flight = 0;
            device.in_flight_max = limit;
            let mut taken = Vec::new();
            while let Some(packet_id) = device.free_packet_id() {
                assert!(!device.has_in_flight(packet_id));
                device.in_flight |= 1 << (packet_id - 1);
                taken.push(packet_id);
            }
            assert_eq!(taken, (1..=u16::from(limit)).collect::<Vec<_>>());
            assert_eq!(device.packet_ids().collect::<Vec<_>>(), taken);
        }
        assert!(!device.has_in_flight(0) && !device.has_in_flight(17));
    }
}
