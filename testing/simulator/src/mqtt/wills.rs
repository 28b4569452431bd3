//! Wills: which must be published, which may be, and which never.
//!
//! A will that depends on a lost answer, or on the durable state at a crash, is uncertain: it may
//! be published or not. All others are published exactly once, or never.

use super::books::Books;
use super::timestamp::{Over, Timestamp};

/// The books' knowledge of a will.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// Its CONNECT is not answered.
    Asked,
    /// Its client is connected.
    Held,
    /// Its client has left in order, and a crash may still undo that.
    Dropped,
    /// Its client is gone: it is published when its delay is over.
    Due {
        over: Over,
        /// CONNECTs of its client since then.
        attempts: u32,
        /// The session ended: it is published whether its delay is over or not.
        ended: bool,
    },
    /// It is owed durably to its receiver.
    Published,
    /// Nobody gets it.
    Never,
    /// It may be published or not.
    Unknown,
}

/// A will.
#[derive(Debug, Clone, Copy)]
pub(super) struct Will {
    device: usize,
    delay_ms: u64,
    /// Its session outlives its connection, so that the will outlives the server.
    persists: bool,
    state: State,
}

/// The outcome of a will's message, for the books of retained messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It may be published from now on.
    MayCome,
    Published,
    Never,
}

impl Books {
    /// A device connects with a will, the message of this number.
    pub fn asks_for_will(&mut self, number: u64, device: usize, delay_s: u32) {
        let delay_ms = u64::from(delay_s) * 1_000;
        self.wills.insert(number, Will { device, delay_ms, persists: false, state: State::Asked });
    }

    /// The outcomes of wills since the last call.
    pub fn outcomes(&mut self) -> Vec<(u64, Outcome)> {
        std::mem::take(&mut self.outcomes)
    }

    fn wills_of(&self, device: usize) -> Vec<(u64, Will)> {
        let own = self.wills.iter().filter(|(_, will)| will.device == device);
        own.map(|(&number, &will)| (number, will)).collect()
    }

    fn will_is(&mut self, number: u64, state: State) {
        let outcome = match state {
            State::Unknown | State::Due { .. } => Some(Outcome::MayCome),
            State::Published => Some(Outcome::Published),
            State::Never => Some(Outcome::Never),
            State::Asked | State::Held | State::Dropped => None,
        };
        self.outcomes.extend(outcome.map(|outcome| (number, outcome)));
        if let Some(will) = self.wills.get_mut(&number) {
            will.state = state;
        }
        let at = self.next();
        let Some(message) = self.messages.get_mut(&number) else { return };
        match state {
            State::Unknown | State::Never => {
                message.owed.clear();
                message.is_another |= message.qos == 1;
            }
            State::Published => message.answered = Some(at),
            _ => {}
        }
    }

    /// From now on it is published when its delay is over, and owed to every client that has surely
    /// subscribed.
    fn will_is_due(&mut self, number: u64, over: Over) {
        self.will_is(number, State::Due { over, attempts: 0, ended: false });
        let sent = self.next();
        let Some(message) = self.messages.get(&number) else { return };
        let owed = self.owed(&message.topic, message.qos);
        if let Some(message) = self.messages.get_mut(&number) {
            (message.sent, message.owed) = (sent, owed);
        }
    }

    /// Its device sends CONNECT: a waiting will may be given up, if it arrives.
    pub(super) fn wills_at_connect(&mut self, device: usize) {
        for (number, _) in self.wills_of(device) {
            if let Some(Will { state: State::Due { attempts, .. }, .. }) = self.wills.get_mut(&number) {
                *attempts += 1;
            }
        }
    }

    /// Its device is let in.
    pub(super) fn wills_at_admission(
        &mut self,
        device: usize,
        present: bool,
        clean_start: bool,
        expiry_s: u32,
        now: Timestamp,
    ) {
        for (number, will) in self.wills_of(device) {
            match will.state {
                State::Asked => {
                    if let Some(will) = self.wills.get_mut(&number) {
                        will.persists = expiry_s > 0;
                        // The end of the session does not wait for the delay.
                        let expiry_ms = u64::from(expiry_s) * 1_000;
                        let lasts = expiry_s == u32::MAX;
                        will.delay_ms = if lasts { will.delay_ms } else { will.delay_ms.min(expiry_ms) };
                    }
                    self.will_is(number, State::Held);
                }
                State::Due { over, attempts: 1, ended } if will.delay_ms > 0 => {
                    let state = match (present, clean_start) {
                        // It came back in time.
                        (true, _) if !over.may_be(now) => State::Never,
                        (false, true) => State::Due { over, attempts: 1, ended: true },
                        _ if ended => will.state,
                        _ => State::Unknown,
                    };
                    self.will_is(number, state);
                }
                State::Due { ended: false, .. } if will.delay_ms > 0 => self.will_is(number, State::Unknown),
                _ => {}
            }
        }
    }

    /// The connection of its device is gone.
    pub(super) fn wills_at_leaving(&mut self, device: usize, leaves: Leaves, now: Timestamp) {
        for (number, will) in self.wills_of(device) {
            match (will.state, leaves) {
                (State::Asked, _) | (State::Held, Leaves::Unknown) => self.will_is(number, State::Unknown),
                (State::Held, Leaves::InOrder) => self.will_is(number, State::Dropped),
                (State::Held, Leaves::Broken) => {
                    let mut over = Over::new(now, will.delay_ms);
                    over.answered(now);
                    self.will_is_due(number, over);
                }
                _ => {}
            }
        }
    }

    /// Its session is forgotten, and its will with it.
    pub(super) fn wills_at_forgetting(&mut self, device: usize, now: Timestamp) {
        for (number, will) in self.wills_of(device) {
            match will.state {
                State::Held => self.will_is(number, State::Dropped),
                State::Due { over, attempts: 0, ended: false } if !over.may_be(now) => {
                    self.will_is(number, State::Dropped);
                }
                State::Asked | State::Due { .. } => self.will_is(number, State::Unknown),
                State::Dropped | State::Published | State::Never | State::Unknown => {}
            }
        }
    }

    /// All processes end: a connected device counts as gone when they start again.
    pub fn wills_at_crash(&mut self, now: Timestamp) {
        self.groups.crashed = self.next();
        let all: Vec<(u64, Will)> = self.wills.iter().map(|(&number, &will)| (number, will)).collect();
        for (number, will) in all {
            match will.state {
                State::Held if will.persists => self.will_is_due(number, Over::new(now, will.delay_ms)),
                State::Due { mut over, attempts: 0, ended } if will.persists => {
                    // It may have been published, and not written that it was. At QoS 2 the shards know those who are owed it.
                    if over.may_be(now)
                        && let Some(message) = self.messages.get_mut(&number)
                    {
                        message.is_another |= message.qos == 1;
                    }
                    // That its client is away may not have been durable.
                    over.begins_anew();
                    if let Some(will) = self.wills.get_mut(&number) {
                        will.state = State::Due { over, attempts: 0, ended };
                    }
                }
                State::Asked | State::Held | State::Dropped | State::Due { .. } => {
                    self.will_is(number, State::Unknown);
                }
                State::Published | State::Never | State::Unknown => {}
            }
        }
    }

    /// Everything has started again.
    pub fn wills_at_start(&mut self, now: Timestamp) {
        for will in self.wills.values_mut() {
            if let State::Due { over, .. } = &mut will.state {
                over.begins_by(now);
            }
        }
    }

    /// Nothing is under way: changes that were handed over are durable, and wills that were due
    /// have been published.
    pub fn wills_at_rest(&mut self, now: Timestamp) {
        let all: Vec<(u64, Will)> = self.wills.iter().map(|(&number, &will)| (number, will)).collect();
        for (number, will) in all {
            match will.state {
                State::Dropped => self.will_is(number, State::Never),
                State::Due { over, attempts, ended }
                    if ended || will.delay_ms == 0 || (attempts == 0 && over.is(now)) =>
                {
                    self.will_is(number, State::Published);
                }
                _ => {}
            }
        }
    }

    /// Whether a will may come now.
    pub(super) fn will_may_come(&self, number: u64, now: Timestamp) -> Result<(), String> {
        match self.wills.get(&number) {
            Some(Will { state: State::Never, device, .. }) => Err(format!(
                "will {number} of device {device} was published, and the device left in order or came back in time"
            )),
            Some(Will { state: State::Due { over, attempts: 0, .. }, device, .. }) if !over.may_be(now) => {
                Err(format!("will {number} of device {device} was published before its delay was over"))
            }
            _ => Ok(()),
        }
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// With DISCONNECT, which was read.
    InOrder,
    /// With DISCONNECT, which the server may not have read.
    Unknown,
    /// Without a word.
    Broken,
}
