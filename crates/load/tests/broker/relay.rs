//! A WebSocket in front of a broker that has none: takes what devices send over one and passes it on.
//!
//! Debian builds mosquitto without WebSocket. This is the reactor's own listener, so devices speak the real thing.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use stadium_reactor::{
    CloseReason, ConnectOptions, ConnectionId, Handler, Io, ListenerSettings, ListenerTag, Loop, LoopHandle,
    LoopSettings, WebSocketSettings,
};

/// A relay that runs until it is dropped.
pub struct Relay {
    pub address: SocketAddr,
    handle: LoopHandle<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Relay {
    pub fn to(broker: SocketAddr) -> Self {
        let mut own = Loop::new(LoopSettings::default()).expect("a loop");
        let mut listener = ListenerSettings::new(([127, 0, 0, 1], 0).into(), ListenerTag(0));
        listener.websocket = Some(Arc::new(WebSocketSettings::default()));
        let address = own.io().listen(&listener).expect("loopback has a free port");
        let handle = own.handle();
        let thread = std::thread::spawn(move || {
            own.run(Passing { broker, others: HashMap::new() }).expect("the relay runs");
        });
        Relay { address, handle, thread: Some(thread) }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.handle.stop();
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

struct Passing {
    broker: SocketAddr,
    /// The other side of each connection.
    others: HashMap<ConnectionId, ConnectionId>,
}

impl Handler for Passing {
    type Message = ();

    fn established(&mut self, io: &mut Io<()>, device: ConnectionId) {
        io.pause(device);
        let broker = io.connect(self.broker, &ConnectOptions::default()).expect("a socket");
        self.others.insert(device, broker);
        self.others.insert(broker, device);
    }

    fn connected(&mut self, io: &mut Io<()>, broker: ConnectionId, _tag: u64) {
        io.resume(self.others[&broker]);
    }

    fn received(&mut self, io: &mut Io<()>, id: ConnectionId, bytes: &[u8]) -> usize {
        if let Some(&other) = self.others.get(&id) {
            io.send(other, |buffer| buffer.extend_from_slice(bytes));
        }
        bytes.len()
    }

    fn closed(&mut self, io: &mut Io<()>, id: ConnectionId, _reason: CloseReason) {
        if let Some(other) = self.others.remove(&id) {
            self.others.remove(&other);
            io.close(other);
        }
    }
}
