//! The table of a loop's connections, as the edge sees them.
//!
//! It is indexed by a connection's place in the reactor's slab, which is small and dense. What a device is
//! to MQTT is its session, in the broker.

use stadium_mqtt::broker::SessionKey;
use stadium_reactor::{ConnectionId, ListenerTag};

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has this place.
    Vacant,
    /// Connected; its CONNECT has not been read whole.
    Waiting,
    /// Its CONNECT was read; authentication decides elsewhere.
    Authenticating,
    /// It is a device whose session is not durable yet: it is not read.
    Entering,
    /// It is a device.
    Live,
    /// The same, and it sends faster than it may: it is not read for a while.
    Throttled,
    /// It is being closed; what it sends is not looked at.
    Ending,
}

/// A connection, as the edge sees it. Sixteen bytes a connection.
#[derive(Clone, Copy, Debug)]
struct Device {
    session: SessionKey,
    /// Seconds of the node's clock when it became a device.
    since_s: u32,
    listener: u8,
    state: State,
}

/// The loop's connections, by their place in the reactor's slab.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    places: Vec<Device>,
}

impl Devices {
    pub(crate) fn state(&self, id: ConnectionId) -> State {
        self.places.get(id.index as usize).map_or(State::Vacant, |device| device.state)
    }

    pub(crate) fn set_state(&mut self, id: ConnectionId, state: State) {
        if let Some(device) = self.places.get_mut(id.index as usize) {
            device.state = state;
        }
    }

    /// A connection that has not identified itself takes its place.
    pub(crate) fn wait(&mut self, id: ConnectionId, listener: ListenerTag) {
        let at = id.index as usize;
        if self.places.len() <= at {
            let vacant = Device { session: SessionKey::NONE, since_s: 0, listener: 0, state: State::Vacant };
            self.places.resize(at + 1, vacant);
        }
        let listener = u8::try_from(listener.0).unwrap_or(u8::MAX);
        self.places[at] = Device { session: SessionKey::NONE, since_s: 0, listener, state: State::Waiting };
    }

    /// It is a device now, or about to be.
    pub(crate) fn begin(&mut self, id: ConnectionId, session: SessionKey, state: State, now_ms: u64) {
        let device = &mut self.places[id.index as usize];
        device.session = session;
        device.since_s = u32::try_from(now_ms / 1000).unwrap_or(u32::MAX);
        device.state = state;
    }

    /// Its session, `NONE` before it is a device.
    pub(crate) fn session(&self, id: ConnectionId) -> SessionKey {
        self.places.get(id.index as usize).map_or(SessionKey::NONE, |device| device.session)
    }

    /// Since when it is a device, in seconds of the node's clock, and the listener it came by.
    pub(crate) fn origin(&self, id: ConnectionId) -> Option<(u32, usize)> {
        self.places.get(id.index as usize).map(|device| (device.since_s, usize::from(device.listener)))
    }
}
