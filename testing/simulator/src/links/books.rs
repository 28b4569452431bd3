//! The checker: what was asked, where it arrived, how it was answered, and what became of it.
//!
//! It knows nothing of links but docs/links.md.

use stadium_links::{NotSent, Outcome, Tag, Unknown};

/// How a receiver dealt with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dealt {
    /// It answered.
    Answered,
    /// It had no room.
    Busy,
    /// It gave the request up.
    Dropped,
}

/// What a caller heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Became {
    /// An answer.
    Answer(Vec<u8>),
    /// The receiver was busy.
    Busy,
    /// It was not sent.
    NotSent(NotSent),
    /// Nobody knows.
    Unknown(Unknown),
}

impl From<Outcome<'_>> for Became {
    fn from(outcome: Outcome<'_>) -> Self {
        match outcome {
            Outcome::Answer(body) => Self::Answer(body.to_vec()),
            Outcome::Busy => Self::Busy,
            Outcome::NotSent(why) => Self::NotSent(why),
            Outcome::Unknown(why) => Self::Unknown(why),
        }
    }
}

/// A message, by its number from 0.
#[derive(Debug)]
struct Message {
    /// The caller waits for an outcome; a letter has none.
    is_request: bool,
    /// Which instance sent it.
    sender: usize,
    deadline_ms: u64,
    /// It was refused: nothing may follow.
    is_refused: bool,
    /// The sender's process has ended: its outcome is nobody's.
    is_orphan: bool,
    /// Which instance it arrived at.
    arrived: Option<usize>,
    dealt: Option<Dealt>,
    became: Option<Became>,
}

/// All messages of a run.
#[derive(Debug, Default)]
pub struct Books {
    messages: Vec<Message>,
}

/// The number in a body.
pub fn number_in(body: &[u8]) -> Result<u64, String> {
    let number = body.first_chunk::<8>().ok_or_else(|| format!("a body of {} bytes arrived", body.len()))?;
    Ok(u64::from_be_bytes(*number))
}

impl Books {
    /// The number of the next message.
    pub fn next(&self) -> u64 {
        self.messages.len() as u64
    }

    /// A message was offered.
    pub fn offered(&mut self, sender: usize, is_request: bool, deadline_ms: u64, is_refused: bool) {
        let (is_orphan, arrived, dealt, became) = (false, None, None, None);
        let message =
            Message { is_request, sender, deadline_ms, is_refused, is_orphan, arrived, dealt, became };
        self.messages.push(message);
    }

    fn of(&mut self, number: u64) -> Result<&mut Message, String> {
        let message = usize::try_from(number).ok().and_then(|place| self.messages.get_mut(place));
        message.ok_or_else(|| format!("message {number} was never sent"))
    }

    /// A message arrived at an instance.
    pub fn arrived(&mut self, number: u64, at: usize) -> Result<(), String> {
        let message = self.of(number)?;
        if message.is_refused {
            return Err(format!("message {number} was refused, and arrived"));
        }
        if let Some(before) = message.arrived.replace(at) {
            return Err(format!("message {number} arrived twice: at instance {before} and at {at}"));
        }
        if let Some(Became::NotSent(why)) = &message.became {
            return Err(format!("message {number} was not sent ({why:?}), and arrived"));
        }
        Ok(())
    }

    /// The receiver has dealt with a request.
    pub fn dealt(&mut self, number: u64, how: Dealt) -> Result<(), String> {
        self.of(number)?.dealt = Some(how);
        Ok(())
    }

    /// A caller heard of its request.
    pub fn became(&mut self, Tag(number): Tag, became: Became) -> Result<(), String> {
        let message = self.of(number)?;
        if message.is_refused || !message.is_request {
            return Err(format!("message {number} is no request under way, and became {became:?}"));
        }
        if let Some(before) = &message.became {
            return Err(format!("request {number} has two outcomes: {before:?} and {became:?}"));
        }
        let (arrived, dealt) = (message.arrived, message.dealt);
        let is_true = match &became {
            Became::Answer(body) => number_in(body)? == number && dealt == Some(Dealt::Answered),
            Became::Busy => dealt == Some(Dealt::Busy),
            Became::Unknown(Unknown::Dropped) => dealt == Some(Dealt::Dropped),
            Became::NotSent(_) => arrived.is_none(),
            Became::Unknown(Unknown::LinkEnded | Unknown::Deadline) => true,
        };
        if !is_true {
            return Err(format!("request {number} became {became:?}: arrived {arrived:?}, dealt {dealt:?}"));
        }
        message.became = Some(became);
        Ok(())
    }

    /// An instance has ended without a word.
    pub fn ended(&mut self, instance: usize) {
        let its = self.messages.iter_mut().filter(|message| message.sender == instance);
        its.for_each(|message| message.is_orphan = true);
    }

    /// No caller of an instance waits beyond its deadline.
    pub fn check_deadlines(&self, instance: usize, now_ms: u64) -> Result<(), String> {
        let late =
            self.waiting().find(|(_, message)| message.sender == instance && message.deadline_ms <= now_ms);
        match late {
            Some((number, message)) => {
                Err(format!("request {number} waits at {now_ms} ms beyond {} ms", message.deadline_ms))
            }
            None => Ok(()),
        }
    }

    /// Each request has its outcome.
    pub fn check_end(&self) -> Result<(), String> {
        match self.waiting().next() {
            Some((number, _)) => Err(format!("request {number} has no outcome")),
            None => Ok(()),
        }
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, &Message)> {
        self.messages.iter().enumerate().filter(|(_, message)| {
            message.is_request && !message.is_refused && !message.is_orphan && message.became.is_none()
        })
    }

    /// Counts by what became of requests: answered, busy, not sent, unknown.
    pub fn sums(&self) -> [u64; 4] {
        let mut sums = [0; 4];
        for message in &self.messages {
            match &message.became {
                Some(Became::Answer(_)) => sums[0] += 1,
                Some(Became::Busy) => sums[1] += 1,
                Some(Became::NotSent(_)) => sums[2] += 1,
                Some(Became::Unknown(_)) => sums[3] += 1,
                None => {}
            }
        }
        sums
    }

    /// Messages that were refused.
    pub fn refused(&self) -> u64 {
        self.messages.iter().filter(|message| message.is_refused).count() as u64
    }
}
