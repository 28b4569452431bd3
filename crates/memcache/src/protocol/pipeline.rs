//! Assigns answers to operations.
//!
//! A server answers a connection's commands in their order. [`Pipeline`] keeps what was sent and
//! hands each answer to its operation. A quiet store has no answer when it succeeds: it is done
//! when anything behind it is answered. Errors of the server carry no opaque token, so one among
//! several quiet stores cannot be told apart: all of them end as [`Refusal::Uncertain`].

use std::collections::VecDeque;

use super::decode::{Limits, Response, STATISTIC_BYTES_MAX, decode};
use super::error::ProtocolError;
use super::flags::Flags;

/// Quiet stores at most between two commands that are answered.
const ERRORS_MAX: usize = 4_096;

/// The kind of an operation, as far as its answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Returns a value.
    Read,
    /// Stores one.
    Store,
    /// Deletes or invalidates.
    Delete,
    /// Changes a number.
    Arithmetic,
    /// Changes the expiry.
    Touch,
    /// Returns the version.
    Version,
}

/// An answer that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// One key of a classic `get` or `gets`; `is_last` ends the line.
    Get {
        /// The operation.
        operation: u32,
        /// It is the last key of its line.
        is_last: bool,
    },
    /// A quiet store.
    Quiet {
        /// The operation.
        operation: u32,
    },
    /// A meta command with an opaque token.
    Meta {
        /// The operation.
        operation: u32,
        /// Its opaque token.
        opaque: u32,
        /// Its kind.
        verb: Verb,
    },
    /// A classic command other than `get`, and `version`.
    Classic {
        /// The operation.
        operation: u32,
        /// Its kind.
        verb: Verb,
    },
    /// `stats`.
    Statistics {
        /// The operation.
        operation: u32,
    },
    /// `mn`.
    Noop,
}

/// The result of an operation that the server carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It was done: stored, deleted, touched, or a value came.
    #[default]
    Done,
    /// There is no such item.
    NotFound,
    /// The condition of `add`, `replace`, `append` or `prepend` did not hold.
    NotStored,
    /// The item's unique number is another one.
    Exists,
}

/// An answer, in the words of both dialects. The bytes of a value come beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// The result.
    pub outcome: Outcome,
    /// The client's flags.
    pub client_flags: u32,
    /// The item's unique number, where it was asked for.
    pub cas: Option<u64>,
    /// Seconds left to live, -1 for unlimited, where it was asked for.
    pub ttl_s: Option<i64>,
    /// The new value of a number.
    pub number: u64,
    /// This client is to make the value anew.
    pub won: bool,
    /// The value was marked as stale.
    pub is_stale: bool,
    /// Another client is making the value anew.
    pub is_taken: bool,
}

/// A refusal of the server, which leaves the connection usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// `ERROR`: it does not know the command.
    Unknown(&'a [u8]),
    /// `CLIENT_ERROR`.
    Client(&'a [u8]),
    /// `SERVER_ERROR`.
    Server(&'a [u8]),
    /// One or more of a group of quiet stores failed, with this text; this store was in the group.
    Uncertain(&'a [u8]),
}

/// The receiver of answers.
pub trait Sink {
    /// The key of an operation, as it was sent.
    fn key(&self, operation: u32) -> &[u8];
    /// An operation is done. It is not named again.
    fn done(&mut self, operation: u32, answer: Result<Answer, Refusal<'_>>, value: &[u8]);
    /// A line of the statistics that an operation asked for.
    fn statistic(&mut self, operation: u32, name: &[u8], value: &[u8]);
}

/// The commands that were sent and not answered.
#[derive(Debug, Default)]
pub struct Pipeline {
    expected: VecDeque<Expect>,
    /// Of those, the ones that the server answers in any case.
    answered: usize,
    /// The last key of the line in front had its value: its END is still to come.
    is_matched: bool,
    /// Errors among the quiet stores in front: each one's kind and its end in `texts`.
    errors: Vec<(Kind, usize)>,
    texts: Vec<u8>,
    statistic_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Unknown,
    Client,
    Server,
}

impl Pipeline {
    /// Notes that a command was sent, or will be before any later one.
    pub fn push(&mut self, expect: Expect) {
        self.answered += usize::from(!matches!(expect, Expect::Quiet { .. }));
        self.expected.push_back(expect);
    }

    /// Commands that are not answered, quiet ones among them.
    pub fn len(&self) -> usize {
        self.expected.len()
    }

    /// True when everything is answered.
    pub fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }

    /// True when the server owes an answer, whether quiet stores succeed or not.
    pub fn is_owed(&self) -> bool {
        self.answered > 0
    }

    /// True when the last command is a quiet store, which needs another command to be confirmed.
    pub fn ends_quiet(&self) -> bool {
        matches!(self.expected.back(), Some(Expect::Quiet { .. }))
    }

    /// Forgets everything, for a new connection.
    pub fn clear(&mut self) {
        self.expected.clear();
        self.errors.clear();
        self.texts.clear();
        self.answered = 0;
        self.statistic_bytes = 0;
        self.is_matched = false;
    }

    /// Takes what was received, as many whole answers as there are, and returns the bytes that they
    /// took. The rest has to be given again, with what is received behind it.
    ///
    /// # Errors
    ///
    /// The server broke the protocol. Answers before the broken one were handed on; the connection
    /// has to be closed.
    pub fn receive(
        &mut self,
        received: &[u8],
        limits: Limits,
        sink: &mut impl Sink,
    ) -> Result<usize, ProtocolError> {
        let mut taken = 0;
        while let Some((response, bytes)) = decode(&received[taken..], limits)? {
            self.answer(response, sink)?;
            taken += bytes;
        }
        Ok(taken)
    }

    fn answer(&mut self, response: Response<'_>, sink: &mut impl Sink) -> Result<(), ProtocolError> {
        let refusal = match response {
            Response::UnknownCommand(text) => Some((Kind::Unknown, text)),
            Response::ClientError(text) => Some((Kind::Client, text)),
            Response::ServerError(text) => Some((Kind::Server, text)),
            _ => None,
        };
        if let Some((kind, text)) = refusal {
            return self.refuse(kind, text, sink);
        }
        self.confirm(sink);
        match *self.expected.front().ok_or(ProtocolError::UnsolicitedAnswer)? {
            Expect::Get { .. } => self.classic_get(response, sink),
            Expect::Meta { operation, opaque, verb } => {
                let (answer, value) = meta(response, verb, opaque)?;
                self.pop();
                sink.done(operation, Ok(answer), value);
                Ok(())
            }
            Expect::Classic { operation, verb } => {
                let (answer, value) = classic(response, verb)?;
                self.pop();
                sink.done(operation, Ok(answer), value);
                Ok(())
            }
            Expect::Statistics { operation } => match response {
                Response::Statistic { name, value } => {
                    self.statistic_bytes += name.len() + value.len();
                    if self.statistic_bytes > STATISTIC_BYTES_MAX {
                        return Err(ProtocolError::StatisticsTooLong);
                    }
                    sink.statistic(operation, name, value);
                    Ok(())
                }
                Response::End | Response::Ok => {
                    self.statistic_bytes = 0;
                    self.pop();
                    sink.done(operation, Ok(Answer::default()), &[]);
                    Ok(())
                }
                _ => Err(ProtocolError::UnexpectedAnswer),
            },
            Expect::Noop if response == Response::Noop => {
                self.pop();
                Ok(())
            }
            Expect::Noop | Expect::Quiet { .. } => Err(ProtocolError::UnexpectedAnswer),
        }
    }

    /// The quiet stores in front are done: something behind them is answered.
    fn confirm(&mut self, sink: &mut impl Sink) {
        if !matches!(self.expected.front(), Some(Expect::Quiet { .. })) {
            return;
        }
        let stores = self.expected.iter().take_while(|one| matches!(one, Expect::Quiet { .. })).count();
        let all_failed = self.errors.len() == stores;
        let mut begin = 0;
        let (errors, texts) = (std::mem::take(&mut self.errors), std::mem::take(&mut self.texts));
        for at in 0..stores {
            let Some(Expect::Quiet { operation }) = self.pop() else { break };
            let answer = if all_failed {
                let (kind, end) = errors[at];
                let text = &texts[begin..end];
                begin = end;
                Err(kind.refusal(text))
            } else if let Some((_, end)) = errors.first() {
                Err(Refusal::Uncertain(&texts[..*end]))
            } else {
                Ok(Answer::default())
            };
            sink.done(operation, answer, &[]);
        }
        (self.errors, self.texts) = (errors, texts);
        self.errors.clear();
        self.texts.clear();
    }

    fn refuse(&mut self, kind: Kind, text: &[u8], sink: &mut impl Sink) -> Result<(), ProtocolError> {
        match *self.expected.front().ok_or(ProtocolError::UnsolicitedAnswer)? {
            Expect::Quiet { .. } => {
                if self.errors.len() >= ERRORS_MAX.min(self.expected.len()) {
                    return Err(ProtocolError::TooManyErrors);
                }
                self.texts.extend_from_slice(text);
                self.errors.push((kind, self.texts.len()));
            }
            Expect::Get { .. } => {
                // The error stands for the whole line.
                while let Some(Expect::Get { operation, is_last }) = self.pop() {
                    if !(is_last && self.is_matched) {
                        sink.done(operation, Err(kind.refusal(text)), &[]);
                    }
                    if is_last {
                        break;
                    }
                }
                self.is_matched = false;
            }
            Expect::Meta { operation, .. }
            | Expect::Classic { operation, .. }
            | Expect::Statistics { operation } => {
                self.statistic_bytes = 0;
                self.pop();
                sink.done(operation, Err(kind.refusal(text)), &[]);
            }
            Expect::Noop => return Err(ProtocolError::UnexpectedAnswer),
        }
        Ok(())
    }

    /// Values come in the order of the keys; those without a value are left out.
    fn classic_get(&mut self, response: Response<'_>, sink: &mut impl Sink) -> Result<(), ProtocolError> {
        match response {
            Response::ClassicValue { key, data, client_flags, cas } => loop {
                let Some(Expect::Get { operation, is_last }) = self.expected.front().copied() else {
                    return Err(ProtocolError::UnexpectedAnswer);
                };
                if is_last && self.is_matched {
                    return Err(ProtocolError::KeyMismatch);
                }
                let is_it = sink.key(operation) == key;
                if is_it {
                    let answer = Answer { client_flags, cas, ..Answer::default() };
                    sink.done(operation, Ok(answer), data);
                } else if is_last {
                    return Err(ProtocolError::KeyMismatch);
                } else {
                    sink.done(operation, Ok(MISS), &[]);
                }
                if is_last {
                    self.is_matched = true;
                } else {
                    self.pop();
                }
                if is_it {
                    return Ok(());
                }
            },
            Response::End => {
                while let Some(Expect::Get { operation, is_last }) = self.pop() {
                    if !(is_last && self.is_matched) {
                        sink.done(operation, Ok(MISS), &[]);
                    }
                    if is_last {
                        break;
                    }
                }
                self.is_matched = false;
                Ok(())
            }
            _ => Err(ProtocolError::UnexpectedAnswer),
        }
    }

    fn pop(&mut self) -> Option<Expect> {
        let front = self.expected.pop_front();
        self.answered -= usize::from(front.is_some_and(|one| !matches!(one, Expect::Quiet { .. })));
        front
    }
}

const MISS: Answer = Answer {
    outcome: Outcome::NotFound,
    client_flags: 0,
    cas: None,
    ttl_s: None,
    number: 0,
    won: false,
    is_stale: false,
    is_taken: false,
};

impl Kind {
    fn refusal(self, text: &[u8]) -> Refusal<'_> {
        match self {
            Self::Unknown => Refusal::Unknown(text),
            Self::Client => Refusal::Client(text),
            Self::Server => Refusal::Server(text),
        }
    }
}

/// The answer to a meta command with an opaque token.
fn meta(response: Response<'_>, verb: Verb, opaque: u32) -> Result<(Answer, &[u8]), ProtocolError> {
    let (outcome, flags, value, fits) = match response {
        Response::Value { data, flags } => {
            (Outcome::Done, flags, data, matches!(verb, Verb::Read | Verb::Arithmetic))
        }
        Response::Done(flags) => {
            (Outcome::Done, flags, &[][..], !matches!(verb, Verb::Read | Verb::Arithmetic))
        }
        Response::Miss(flags) => {
            (Outcome::NotFound, flags, &[][..], matches!(verb, Verb::Read | Verb::Touch))
        }
        Response::NotFound(flags) => {
            (Outcome::NotFound, flags, &[][..], !matches!(verb, Verb::Read | Verb::Touch))
        }
        Response::NotStored(flags) => {
            (Outcome::NotStored, flags, &[][..], matches!(verb, Verb::Store | Verb::Arithmetic))
        }
        Response::Exists(flags) => {
            (Outcome::Exists, flags, &[][..], !matches!(verb, Verb::Read | Verb::Touch))
        }
        _ => return Err(ProtocolError::UnexpectedAnswer),
    };
    if !fits || verb == Verb::Version {
        return Err(ProtocolError::UnexpectedAnswer);
    }
    // A miss had no flags before memcached 1.6.10.
    let is_bare_miss = matches!(response, Response::Miss(_)) && flags == Flags::default();
    let sent =
        flags.opaque.map(super::flags::number).transpose().map_err(|_| ProtocolError::OpaqueMismatch)?;
    if sent != Some(u64::from(opaque)) && !is_bare_miss {
        return Err(ProtocolError::OpaqueMismatch);
    }
    let number = if verb == Verb::Arithmetic && outcome == Outcome::Done {
        super::flags::number(value.trim_ascii_end())?
    } else {
        0
    };
    let answer = Answer {
        outcome,
        client_flags: flags.client_flags.unwrap_or_default(),
        cas: flags.cas,
        ttl_s: flags.ttl_s,
        number,
        won: flags.won,
        is_stale: flags.is_stale,
        is_taken: flags.is_taken,
    };
    Ok((answer, value))
}

/// The answer to a classic command other than `get` and `stats`.
fn classic(response: Response<'_>, verb: Verb) -> Result<(Answer, &[u8]), ProtocolError> {
    let outcome = match (verb, response) {
        (Verb::Store, Response::ClassicStored)
        | (Verb::Delete, Response::ClassicDeleted)
        | (Verb::Touch, Response::ClassicTouched) => Outcome::Done,
        (Verb::Store, Response::ClassicNotStored) => Outcome::NotStored,
        (Verb::Store, Response::ClassicExists) => Outcome::Exists,
        (Verb::Store | Verb::Delete | Verb::Touch | Verb::Arithmetic, Response::ClassicNotFound) => {
            Outcome::NotFound
        }
        (Verb::Arithmetic, Response::ClassicNumber(number)) => {
            return Ok((Answer { number, ..Answer::default() }, &[]));
        }
        (Verb::Version, Response::Version(text)) => return Ok((Answer::default(), text)),
        _ => return Err(ProtocolError::UnexpectedAnswer),
    };
    Ok((Answer { outcome, ..Answer::default() }, &[]))
}
