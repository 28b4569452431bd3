//! Bytes over TCP or TLS: a step sends some and waits for an answer that ends as the scenario
//! states.
//!
//! What comes while nobody waits is kept for the next step that receives. A step that sends and waits takes what comes
//! after it only: an answer cannot come before its question.

use stadium_scenario::program::{Action, Tcp as Step, Until};

use super::talk::{Ask, Begun, Done, Output, Talk};
use crate::engine::reply::{Failure, Reply};

/// Bytes kept of what came while nobody waited. Beyond, all is dropped, and the next step that receives fails.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// The longest answer that is taken, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A connection of bytes.
#[derive(Debug, Default)]
pub(crate) struct Tcp {
    kept: Vec<u8>,
    /// More came than is kept.
    overflowed: bool,
    wait: Option<Wait>,
    /// What the awaited answer ends with.
    delimiter: Vec<u8>,
}

/// An answer that is awaited.
#[derive(Debug)]
struct Wait {
    user: u32,
    end: End,
    keeps_body: bool,
    reply: Reply,
}

#[derive(Debug, Clone, Copy)]
enum End {
    /// So many bytes are missing.
    Bytes(u64),
    /// The delimiter is; it does not end before this place of the body.
    Delimiter(usize),
    Close,
}

impl Talk for Tcp {
    fn has_room(&self) -> bool {
        self.wait.is_none()
    }

    fn waiting(&self, into: &mut Vec<u32>) {
        into.extend(self.wait.as_ref().map(|wait| wait.user));
    }

    fn begin(&mut self, ask: &mut Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let Action::Tcp(step) = &ask.step.action else {
            return Err("a step of another protocol".into());
        };
        match step {
            Step::Open => Ok(Begun::Done(output.reply())),
            Step::Close => Ok(Begun::Close),
            Step::Send { payload, until } => {
                payload.write(&mut ask.scope, output.bytes);
                match until {
                    None => Ok(Begun::Done(output.reply())),
                    Some(until) => {
                        self.kept.clear();
                        self.overflowed = false;
                        self.wait_for(until, ask, output)
                    }
                }
            }
            Step::Receive { until } => {
                if std::mem::take(&mut self.overflowed) {
                    return Err("tcp: more than 1 MiB came that no step waited for".into());
                }
                self.wait_for(until, ask, output)
            }
        }
    }

    fn received(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<usize, Failure> {
        let used = self.feed(bytes)?;
        if let Some(wait) = self.wait.take_if(|wait| wait.end.is_reached()) {
            output.done.push(Done::of(wait.user, Ok(wait.reply), true));
        }
        self.keep(&bytes[used..]);
        Ok(bytes.len())
    }

    fn ended(&mut self, output: &mut Output<'_>) {
        if let Some(wait) = self.wait.take_if(|wait| matches!(wait.end, End::Close)) {
            output.done.push(Done::of(wait.user, Ok(wait.reply), false));
        }
    }
}

impl Tcp {
    /// Waits for an answer, the beginning of which may have come.
    fn wait_for(&mut self, until: &Until, ask: &Ask<'_>, output: &mut Output<'_>) -> Result<Begun, Failure> {
        let end = match until {
            Until::Bytes(count) => End::Bytes(*count),
            Until::Delimiter(bytes) => {
                self.delimiter.clone_from(bytes);
                End::Delimiter(0)
            }
            Until::End => End::Close,
        };
        self.wait =
            Some(Wait { user: ask.user, end, keeps_body: ask.planned.keeps_body, reply: output.reply() });
        let kept = std::mem::take(&mut self.kept);
        let used = self.feed(&kept)?;
        self.kept = kept;
        self.kept.drain(..used);
        match self.wait.take_if(|wait| wait.end.is_reached()) {
            Some(wait) => Ok(Begun::Done(wait.reply)),
            None => Ok(Begun::Waiting),
        }
    }

    /// Gives bytes to the answer that is awaited. Returns how many belong to it.
    fn feed(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let Some(wait) = &mut self.wait else { return Ok(0) };
        let body = &mut wait.reply.body;
        let used = match &mut wait.end {
            End::Bytes(missing) => {
                let used = bytes.len().min(usize::try_from(*missing).unwrap_or(usize::MAX));
                *missing -= used as u64;
                if wait.keeps_body {
                    body.extend_from_slice(&bytes[..used]);
                }
                used
            }
            End::Close => {
                if wait.keeps_body {
                    body.extend_from_slice(bytes);
                }
                bytes.len()
            }
            End::Delimiter(from) => {
                let before = body.len();
                body.extend_from_slice(bytes);
                match find(&body[*from..], &self.delimiter).map(|at| *from + at + self.delimiter.len()) {
                    Some(end) => {
                        body.truncate(end);
                        wait.end = End::Bytes(0);
                        end - before
                    }
                    None => {
                        *from = (body.len() + 1).saturating_sub(self.delimiter.len());
                        bytes.len()
                    }
                }
            }
        };
        wait.reply.bytes_in += used as u64;
        if body.len() > ANSWER_BYTES_MAX {
            return Err("answer too large".into());
        }
        Ok(used)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.overflowed {
            return;
        }
        if self.kept.len() + bytes.len() > KEPT_BYTES_MAX {
            self.overflowed = true;
            self.kept = Vec::new();
        } else {
            self.kept.extend_from_slice(bytes);
        }
    }
}

impl End {
    fn is_reached(self) -> bool {
        matches!(self, End::Bytes(0))
    }
}

/// Where a delimiter begins.
fn find(bytes: &[u8], delimiter: &[u8]) -> Option<usize> {
    match delimiter {
        [] => Some(0),
        [byte] => bytes.iter().position(|other| other == byte),
        _ => bytes.windows(delimiter.len()).position(|window| window == delimiter),
    }
}
