//! Devices over MQTT that read their inboxes and acknowledge what they get, each message exactly once.
//!
//! A message has its number in its text. A device that gets one twice, or one that nobody sent,
//! ends the measurement.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::devices;
use crate::connections::{Connections, Device, STALL};
use crate::wire::{Incoming, Message, Mqtt, Wire as _};

/// Comes before the number in a message.
const MARK: &[u8] = b"no. ";
/// Digits of a number.
const DIGITS: usize = 6;
/// The topic of the messages that the bare loop sends to everybody.
const EVERYBODY: &str = "inbox/everybody-------";
/// Longest sleep of a turn.
const TURN: Duration = Duration::from_millis(100);

/// A notification with its number.
pub(super) fn notification(number: u32) -> serde_json::Value {
    serde_json::json!({
        "title": "The lights go on",
        "body": format!("Hold your phone up, now: no. {number:0DIGITS$}"),
        "data": { "colour": "#ffaa00", "at_ms": 1_500 },
    })
}

/// The devices, and what they got.
pub(super) struct Phones {
    connections: Connections<Mqtt>,
    devices: usize,
    counts: Counts,
}

/// What arrived.
struct Counts {
    /// The numbers that are expected begin here.
    from: u32,
    /// So many of them.
    numbers: u32,
    /// By device, a bit for each number.
    got: Vec<u64>,
    missing: usize,
    first: Option<Instant>,
    wrong: Option<String>,
}

/// When messages were heard; each was acknowledged in the same turn.
#[derive(Clone, Copy)]
pub(super) struct Heard {
    pub(super) first: Instant,
    pub(super) last: Instant,
}

impl Phones {
    /// These devices, not connected yet.
    pub(super) fn new(address: SocketAddr, devices: impl Iterator<Item = u32>) -> Result<Self> {
        let mut connections = Connections::new(Mqtt, address)?;
        let mut count = 0;
        for device in devices {
            let id = devices::id(device);
            connections.add(Device { topics: vec![(format!("inbox/{id}"), 1)], id });
            count += 1;
        }
        let counts =
            Counts { from: 0, numbers: 0, got: vec![0; count], missing: 0, first: None, wrong: None };
        Ok(Self { connections, devices: count, counts })
    }

    /// Adds a publisher that can have the bare loop send to everybody; returns its index.
    pub(super) fn add_publisher(&mut self) -> usize {
        self.counts.got.push(0);
        self.connections.add(Device { id: "publisher".to_owned(), topics: Vec::new() })
    }

    /// Connects those that are not, so many handshakes at a time; returns how many connections had to be tried again.
    pub(super) fn connect(&mut self, in_flight: usize) -> Result<u64> {
        let Self { connections, counts, .. } = self;
        let connected = connections
            .connect_all_hearing(in_flight, |device, incoming, _| counts.hear(device, &incoming))?;
        self.check()?;
        Ok(connected.retries)
    }

    /// Ends every connection, as a network does that goes away.
    pub(super) fn cut(&mut self) {
        self.connections.cut_all();
    }

    /// From now on each device is to get so many messages, numbered from this one on.
    pub(super) fn expect(&mut self, from: u32, numbers: u32) {
        self.counts.from = from;
        self.counts.numbers = numbers;
        self.counts.got.fill(0);
        self.counts.missing = self.devices * numbers as usize;
        self.counts.first = None;
    }

    /// Reads until everybody has everything.
    pub(super) fn hear_all(&mut self) -> Result<Heard> {
        let mut progress = (self.counts.missing, Instant::now());
        let mut last = Instant::now();
        while self.counts.missing > 0 {
            self.turn(TURN)?;
            last = Instant::now();
            if self.counts.missing < progress.0 {
                progress = (self.counts.missing, last);
            } else if progress.1.elapsed() > STALL {
                bail!("stalled: {} messages did not arrive", self.counts.missing);
            }
        }
        let Some(first) = self.counts.first else { bail!("nothing was expected") };
        Ok(Heard { first, last })
    }

    /// Reads for so long, in which nothing may come.
    pub(super) fn hear_nothing(&mut self, span: Duration) -> Result<()> {
        let until = Instant::now() + span;
        while Instant::now() < until {
            self.turn(TURN)?;
        }
        Ok(())
    }

    /// Has the bare loop send a message to everybody.
    pub(super) fn publish(&mut self, publisher: usize, number: u32) -> Result<()> {
        let payload = notification(number).to_string();
        let message = Message { topic: EVERYBODY, packet_id: Some(1), payload: payload.as_bytes() };
        let mut bytes = Vec::new();
        Mqtt.publish(&message, &mut bytes);
        self.connections.send(publisher, &bytes)
    }

    fn turn(&mut self, pause: Duration) -> Result<()> {
        let Self { connections, counts, .. } = self;
        connections.turn(pause, |device, incoming, _| counts.hear(device, &incoming))?;
        self.check()
    }

    fn check(&self) -> Result<()> {
        if let Some(wrong) = &self.counts.wrong {
            bail!("{wrong}");
        }
        self.connections.check()
    }
}

impl Counts {
    fn hear(&mut self, device: usize, incoming: &Incoming<'_>) {
        let Incoming::Delivery { payload, acknowledge } = incoming else { return };
        if self.first.is_none() {
            self.first = Some(Instant::now());
        }
        let bit = number(payload).and_then(|number| number.checked_sub(self.from));
        let bit = bit.filter(|bit| *bit < self.numbers).map(|bit| 1_u64 << bit);
        let got = &mut self.got[device];
        match bit {
            Some(bit) if *got & bit == 0 && acknowledge.is_some() => {
                *got |= bit;
                self.missing -= 1;
            }
            _ => {
                let what = if bit.is_some() { "twice, or not at QoS 1" } else { "unexpectedly" };
                let text = String::from_utf8_lossy(payload);
                self.wrong.get_or_insert_with(|| format!("device {device} got this {what}: {text}"));
            }
        }
    }
}

/// The number in a message.
fn number(payload: &[u8]) -> Option<u32> {
    let at = payload.windows(MARK.len()).position(|part| part == MARK)? + MARK.len();
    std::str::from_utf8(payload.get(at..at + DIGITS)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Counts, notification, number};
    use crate::wire::Incoming;

    #[test]
    fn a_notification_has_its_number() {
        assert_eq!(number(notification(417).to_string().as_bytes()), Some(417));
        assert_eq!(number(b"no. 12"), None);
    }

    #[test]
    fn each_message_counts_once_and_a_strange_one_is_an_error() {
        let mut counts = Counts { from: 3, numbers: 2, got: vec![0], missing: 2, first: None, wrong: None };
        let mut hear = |number| {
            let payload = notification(number).to_string();
            counts.hear(0, &Incoming::Delivery { payload: payload.as_bytes(), acknowledge: Some(1) });
            (counts.missing, counts.wrong.take().is_some())
        };
        assert_eq!(
            [hear(3), hear(3), hear(5), hear(2), hear(4)],
            [(1, false), (1, true), (1, true), (1, true), (0, false)]
        );
    }
}
