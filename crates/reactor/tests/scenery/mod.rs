//! Scenery for the tests with real sockets: loops on threads, and a handler that does as it is told.
//!
//! The first byte of what a connection receives says what happens to it; see [`Stage`].
#![allow(dead_code)]

use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use stadium_reactor::*;

pub const DEADLINE: Duration = Duration::from_secs(20);

/// What the handler saw, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Accepted(ConnectionId, SocketAddr),
    Established(ConnectionId, Option<Vec<u8>>),
    Connected(ConnectionId, u64),
    Adopted(ConnectionId, u32),
    Received(ConnectionId, Vec<u8>),
    Timeout(ConnectionId, u64),
    Drained(ConnectionId),
    Closed(ConnectionId, CloseReason),
    Datagram(SocketAddr, Vec<u8>),
    Alarm(u64),
    Unsent(usize),
}

type Act = Box<dyn FnOnce(&mut Io<Order>) + Send>;

/// What a test tells the loop.
pub enum Order {
    Do(Act),
    Number(u32),
    FanOut(Vec<u8>),
}

/// How the handler treats bytes.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// Sends them back.
    Echo,
    /// Reports them, using all.
    Tell,
    /// Uses messages of a two-byte length and so many bytes, and reports each.
    Lengths,
    /// Uses nothing.
    Leave,
}

pub struct Stage {
    pub style: Style,
    pub tell: Sender<Seen>,
    pub open: Vec<ConnectionId>,
    pub refuse: Arc<Mutex<bool>>,
}

impl Stage {
    fn say(&self, seen: Seen) {
        // A test that has what it wanted no longer listens.
        let _ = self.tell.send(seen);
    }
}

impl Handler for Stage {
    type Message = Order;

    fn accepting(&mut self, _peer: SocketAddr, _listener: ListenerTag) -> Admission {
        if *self.refuse.lock().expect("no test panics with it") {
            Admission::Refuse
        } else {
            Admission::Accept
        }
    }

    fn accepted(&mut self, _io: &mut Io<Order>, id: ConnectionId, accepted: &Accepted) {
        self.say(Seen::Accepted(id, accepted.peer));
    }

    fn established(&mut self, io: &mut Io<Order>, id: ConnectionId) {
        self.open.push(id);
        let certificate = io.take_peer_certificate(id).map(|certificate| certificate.to_vec());
        self.say(Seen::Established(id, certificate));
    }

    fn connected(&mut self, _io: &mut Io<Order>, id: ConnectionId, tag: u64) {
        self.open.push(id);
        self.say(Seen::Connected(id, tag));
    }

    fn adopted(&mut self, _io: &mut Io<Order>, id: ConnectionId, order: Order) {
        self.open.push(id);
        let number = if let Order::Number(number) = order { number } else { 0 };
        self.say(Seen::Adopted(id, number));
    }

    fn received(&mut self, io: &mut Io<Order>, id: ConnectionId, bytes: &[u8]) -> usize {
        match self.style {
            Style::Echo => {
                io.send(id, |buffer| buffer.extend_from_slice(bytes));
                bytes.len()
            }
            Style::Tell => {
                self.say(Seen::Received(id, bytes.to_vec()));
                bytes.len()
            }
            Style::Leave => 0,
            Style::Lengths => {
                let mut used = 0;
                while let [high, low, rest @ ..] = &bytes[used..] {
                    let length = usize::from(u16::from_be_bytes([*high, *low]));
                    let Some(message) = rest.get(..length) else { break };
                    self.say(Seen::Received(id, message.to_vec()));
                    used += 2 + length;
                }
                used
            }
        }
    }

    fn timeout(&mut self, io: &mut Io<Order>, id: ConnectionId) {
        self.say(Seen::Timeout(id, io.now()));
    }

    fn drained(&mut self, _io: &mut Io<Order>, id: ConnectionId) {
        self.say(Seen::Drained(id));
    }

    fn closed(&mut self, io: &mut Io<Order>, id: ConnectionId, reason: CloseReason) {
        assert!(!io.contains(id), "a closed connection is not contained");
        self.open.retain(|open| *open != id);
        self.say(Seen::Closed(id, reason));
    }

    fn message(&mut self, io: &mut Io<Order>, order: Order) {
        match order {
            Order::Do(act) => act(io),
            Order::Number(_) => {}
            Order::FanOut(bytes) => {
                io.reserve_turn();
                let segment = io.stage(|buffer| buffer.extend_from_slice(&bytes));
                for id in &self.open {
                    io.deliver(*id, segment);
                }
            }
        }
    }

    fn datagram(&mut self, io: &mut Io<Order>, socket: UdpId, peer: SocketAddr, bytes: &[u8]) {
        io.send_datagram(socket, peer, bytes).expect("the loopback takes a datagram");
        self.say(Seen::Datagram(peer, bytes.to_vec()));
    }

    fn alarm(&mut self, io: &mut Io<Order>) {
        self.say(Seen::Alarm(io.now()));
    }
}

/// A loop on its own thread.
pub struct Running {
    pub handle: LoopHandle<Order>,
    pub address: SocketAddr,
    pub seen: Receiver<Seen>,
    pub refuse: Arc<Mutex<bool>>,
    thread: Option<JoinHandle<()>>,
}

pub fn listener() -> ListenerSettings {
    ListenerSettings::new("127.0.0.1:0".parse().expect("an address"), ListenerTag(7))
}

pub fn start(style: Style, listener: ListenerSettings) -> Running {
    start_with(style, listener, LoopSettings::default())
}

pub fn start_with(style: Style, listener: ListenerSettings, settings: LoopSettings) -> Running {
    let mut running = Loop::new(settings).expect("a loop");
    let address = running.io().listen(&listener).expect("a free port");
    let handle = running.handle();
    let (tell, seen) = channel();
    let refuse = Arc::new(Mutex::new(false));
    let stage = Stage { style, tell, open: Vec::new(), refuse: refuse.clone() };
    let thread = std::thread::spawn(move || {
        running.run(stage).expect("the loop runs");
    });
    Running { handle, address, seen, refuse, thread: Some(thread) }
}

impl Running {
    /// Has the loop do something.
    pub fn act(&self, act: impl FnOnce(&mut Io<Order>) + Send + 'static) {
        self.handle.try_send(Order::Do(Box::new(act))).unwrap_or_else(|_| panic!("the mailbox has room"));
    }

    /// Has the loop answer something.
    pub fn ask<T: Send + 'static>(&self, ask: impl FnOnce(&mut Io<Order>) -> T + Send + 'static) -> T {
        let (tell, told) = channel();
        self.act(move |io| {
            let _ = tell.send(ask(io));
        });
        told.recv_timeout(DEADLINE).expect("the loop answers")
    }

    /// A client's socket.
    pub fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the loop listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
        stream.set_write_timeout(Some(DEADLINE)).expect("a timeout can be set");
        stream.set_nodelay(true).expect("nodelay can be set");
        stream
    }

    /// The next thing seen that `pick` wants.
    pub fn wait<T>(&self, mut pick: impl FnMut(&Seen) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let seen = self.seen.recv_timeout(left).expect("it happens before the deadline");
            if let Some(picked) = pick(&seen) {
                return picked;
            }
        }
    }

    pub fn wait_established(&self) -> ConnectionId {
        self.wait(|seen| if let Seen::Established(id, _) = seen { Some(*id) } else { None })
    }

    pub fn wait_closed(&self) -> (ConnectionId, CloseReason) {
        self.wait(|seen| if let Seen::Closed(id, reason) = seen { Some((*id, *reason)) } else { None })
    }

    pub fn wait_received(&self, wanted: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < wanted {
            bytes.extend(
                self.wait(
                    |seen| {
                        if let Seen::Received(_, bytes) = seen { Some(bytes.clone()) } else { None }
                    },
                ),
            );
        }
        bytes
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Waits for a condition that another thread brings about.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}
