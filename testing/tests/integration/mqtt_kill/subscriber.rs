//! A subscriber whose session persists: takes messages, acknowledges them, goes away at times and
//! comes back.
//!
//! It keeps what a client must keep to have a message once at QoS 2 (MQTT 5.0, 4.3.3): the packet
//! identifiers that it received and that are not released.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use stadium_testing::deadline::{until, until_true};
use stadium_testing::device::Device;
use stadium_testing::wire::{self, Connect, Frame, Kind};

use crate::mqtt_kill::STARTED_WITHIN;
use crate::mqtt_kill::books::{self, Books, Name, count};
use crate::mqtt_kill::random::Random;

/// Time to wait for a packet before the books are looked at.
const IDLE: Duration = Duration::from_millis(100);

/// After one packet of so many the connection is cut, with all that is on its way.
const CUT_ONE_OF: usize = 1_500;

/// Answers to publishers that a subscriber stays away for, at most.
const AWAY_ANSWERS: usize = 300;

/// A subscriber.
pub struct Subscriber {
    address: SocketAddr,
    connect: Connect,
    books: Arc<Books>,
    /// The receiver that it is, or belongs to.
    receiver: usize,
    random: Random,
    /// Messages received at QoS 2, by packet identifier, until PUBREL.
    unreleased: HashMap<u16, Name>,
}

impl Subscriber {
    /// Makes its session and subscribes.
    pub fn begin(
        address: SocketAddr,
        connect: Connect,
        filters: &[(&str, u8)],
        (books, receiver): (&Arc<Books>, usize),
        seed: u64,
    ) -> Result<Self> {
        let mut device = Device::connect(address, &connect)?;
        for (filter, qos) in filters {
            device.subscribe(&[filter], *qos)?;
        }
        device.leave()?;
        let (books, random) = (Arc::clone(books), Random(seed));
        Ok(Self { address, connect, books, receiver, random, unreleased: HashMap::new() })
    }

    /// Takes messages until it has everything that was accepted, and no more will be.
    pub fn run(mut self) -> Result<()> {
        loop {
            let mut device = until(STARTED_WITHIN, "a subscriber to connect", || {
                Device::connect(self.address, &self.connect).map(Some)
            })?;
            if !device.session_present() {
                self.books.broken(format!("{} lost its session", self.connect.id));
            }
            match self.talk(&mut device) {
                Ok(End::Done) => return Ok(()),
                Ok(End::Cut) => {
                    device.cut()?;
                    self.stay_away();
                }
                // The server was killed.
                Err(_) => count(&self.books.figures.ended),
            }
        }
    }

    fn talk(&mut self, device: &mut Device) -> Result<End> {
        loop {
            let Some(frame) = device.poll(IDLE)? else {
                if self.is_done() {
                    return Ok(End::Done);
                }
                continue;
            };
            let answer = match self.took(device, &frame) {
                Ok(answer) => answer,
                Err(broken) => {
                    self.books.broken(format!("{}: {broken:#}", self.connect.id));
                    bail!("a promise is broken");
                }
            };
            if let Some(answer) = answer {
                device.send(&answer)?;
            }
            if !self.books.finished() && self.random.below(CUT_ONE_OF) == 0 {
                return Ok(End::Cut);
            }
        }
    }

    fn is_done(&self) -> bool {
        let finished = self.books.finished();
        finished && (self.books.is_broken() || self.books.is_complete(self.receiver))
    }

    /// Until publishers got a number of answers, or have stopped.
    fn stay_away(&mut self) {
        let until = self.books.accepted() + self.random.below(AWAY_ANSWERS) as u64;
        let enough = || Ok(self.books.stopped() || self.books.accepted() >= until);
        // Where answers do not come, the publishers report it.
        let _ = until_true(STARTED_WITHIN, "answers", enough);
    }

    /// Takes a packet; returns the answer.
    fn took(&mut self, device: &Device, frame: &Frame) -> Result<Option<Vec<u8>>> {
        if frame.is(Kind::Pubrel) {
            let id = frame.id().context("PUBREL has no packet identifier")?;
            self.unreleased.remove(&id);
            return Ok(Some(wire::acknowledge(Kind::Pubcomp, id)));
        }
        let message = frame.publish(device.version())?;
        let name = books::name(&message.payload).with_context(|| format!("strange: {message:?}"))?;
        if message.qos == 1 {
            self.books.received(self.receiver, name);
            return Ok(Some(wire::acknowledge(Kind::Puback, message.id)));
        }
        match self.unreleased.insert(message.id, name) {
            None => self.books.received(self.receiver, name),
            Some(known) if known == name => {}
            Some(known) => bail!("{} is {name:?} and was {known:?}, which is not released", message.id),
        }
        Ok(Some(wire::acknowledge(Kind::Pubrec, message.id)))
    }
}

/// How a connection ended without trouble.
enum End {
    Done,
    Cut,
}
