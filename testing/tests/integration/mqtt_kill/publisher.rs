//! A publisher whose session persists: several messages in flight at QoS 1 and 2, sent again until
//! they are answered.
//!
//! It keeps what a client must keep over a lost connection (MQTT 5.0, 4.4): PUBLISH goes out once
//! more with DUP and its packet identifier, PUBREL where PUBREC came before, all in their order.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::until;
use stadium_testing::device::Device;
use stadium_testing::wire::{self, Connect, Frame, Kind, Publish, Version};

use crate::mqtt_kill::books::{self, Books, Message, State, TOPICS, count};
use crate::mqtt_kill::random::Random;
use crate::mqtt_kill::{ANSWERED_WITHIN, STARTED_WITHIN};

/// Messages in flight.
const WINDOW: usize = 16;

/// One message of so many is followed by a connection that is cut, with all that is on its way.
const CUT_ONE_OF: usize = 500;

struct InFlight {
    id: u16,
    number: usize,
    /// PUBREC came: only PUBREL is sent again.
    released: bool,
}

/// A publisher.
pub struct Publisher {
    address: SocketAddr,
    connect: Connect,
    books: Arc<Books>,
    /// Its place in the books.
    place: usize,
    random: Random,
    in_flight: VecDeque<InFlight>,
    has_session: bool,
}

impl Publisher {
    pub fn new(address: SocketAddr, version: Version, books: &Arc<Books>, seed: u64) -> Self {
        let (books, place) = (Arc::clone(books), books.publisher());
        let connect = Connect::new(version, format!("publisher-{place}")).persistent();
        let (in_flight, random) = (VecDeque::new(), Random(seed));
        Self { address, connect, books, place, random, in_flight, has_session: false }
    }

    /// Publishes until it is to stop and everything is answered.
    pub fn run(mut self) -> Result<()> {
        loop {
            let mut device = until(STARTED_WITHIN, "a publisher to connect", || {
                Device::connect(self.address, &self.connect).map(Some)
            })?;
            if self.has_session && !device.session_present() {
                self.books.broken(format!("publisher {} lost its session", self.place));
            }
            self.has_session = true;
            match self.talk(&mut device) {
                Ok(End::Done) => return device.leave(),
                Ok(End::Cut) => device.cut()?,
                // The server was killed, or refused in the way of 3.1.1.
                Err(Trouble::Connection) => count(&self.books.figures.ended),
                Err(Trouble::Promise(broken)) => {
                    self.books.broken(format!("publisher {}: {broken:#}", self.place));
                    return Ok(());
                }
            }
        }
    }

    fn talk(&mut self, device: &mut Device) -> Result<End, Trouble> {
        for message in &self.in_flight {
            count(&self.books.figures.resent);
            device.send(&self.packet(message, true)).map_err(|_| Trouble::Connection)?;
        }
        loop {
            while self.in_flight.len() < WINDOW && !self.books.stopped() {
                self.publish(device).map_err(|_| Trouble::Connection)?;
                if self.random.below(CUT_ONE_OF) == 0 {
                    return Ok(End::Cut);
                }
            }
            if self.in_flight.is_empty() {
                return Ok(End::Done);
            }
            let frame = device.poll(ANSWERED_WITHIN).map_err(|_| Trouble::Connection)?;
            let frame = frame.context("a publish is not answered").map_err(Trouble::Promise)?;
            if let Some(answer) = self.answered(&frame).map_err(Trouble::Promise)? {
                device.send(&answer).map_err(|_| Trouble::Connection)?;
            }
        }
    }

    fn publish(&mut self, device: &mut Device) -> Result<()> {
        let message = self.next_message();
        let number = self.books.sends(self.place, message);
        let in_flight = InFlight { id: self.next_id(), number, released: false };
        let packet = self.packet(&in_flight, false);
        self.in_flight.push_back(in_flight);
        device.send(&packet)
    }

    /// One of three is retained. A retained topic has one publisher and one QoS, so that its
    /// messages have an order.
    fn next_message(&mut self) -> Message {
        let (state, qos) = (State::Sent, 1 + self.random.below(2) as u8);
        let place = self.place;
        let (topic, qos, clears) = match self.random.below(9) {
            0 => (format!("kept/{place}/one"), 1, false),
            1 => (format!("kept/{place}/two"), 2, false),
            2 => (format!("kept/{place}/cleared"), 2, self.random.below(2) == 0),
            other => (TOPICS[other % TOPICS.len()].to_owned(), qos, false),
        };
        Message { topic, qos, clears, state }
    }

    /// The lowest that is free, so that an identifier stands for another message as soon as it may.
    fn next_id(&self) -> u16 {
        let is_free = |id: &u16| self.in_flight.iter().all(|message| message.id != *id);
        (1..).find(is_free).expect("the window is smaller than the range of identifiers")
    }

    fn packet(&self, in_flight: &InFlight, again: bool) -> Vec<u8> {
        if in_flight.released {
            return wire::acknowledge(Kind::Pubrel, in_flight.id);
        }
        let name = (self.place, in_flight.number);
        let message = self.books.message(name).expect("it was written down before it is sent");
        let payload = if message.clears { Vec::new() } else { books::payload(name) };
        let mut publish = Publish::new(&message.topic, &payload).qos(message.qos, in_flight.id);
        if message.topic.starts_with("kept/") {
            publish = publish.retained();
        }
        if again {
            publish = publish.again();
        }
        publish.encode(self.connect.version)
    }

    /// Takes an answer; returns what is to be sent then.
    fn answered(&mut self, frame: &Frame) -> Result<Option<Vec<u8>>> {
        let id = frame.id().with_context(|| format!("{frame:?} has no packet identifier"))?;
        let at = self.in_flight.iter().position(|message| message.id == id);
        let at = at.with_context(|| format!("{frame:02x?} answers nothing that is in flight"))?;
        let message = &mut self.in_flight[at];
        let name = (self.place, message.number);
        let qos = self.books.message(name).map_or(0, |message| message.qos);
        let reason = frame.reason(self.connect.version);
        if frame.is(Kind::Puback) && qos == 1 {
            self.books.answered(name, reason);
            self.in_flight.remove(at);
        } else if frame.is(Kind::Pubrec) && qos == 2 {
            if !message.released {
                self.books.answered(name, reason);
            }
            if reason >= 0x80 {
                self.in_flight.remove(at);
                return Ok(None);
            }
            message.released = true;
            return Ok(Some(wire::acknowledge(Kind::Pubrel, id)));
        } else {
            ensure!(frame.is(Kind::Pubcomp) && message.released, "{frame:02x?} for QoS {qos}");
            self.in_flight.remove(at);
        }
        Ok(None)
    }
}

/// How a connection ended without trouble.
enum End {
    Done,
    Cut,
}

/// How it ended otherwise.
enum Trouble {
    Connection,
    Promise(anyhow::Error),
}
