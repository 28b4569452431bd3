//! A node: it follows the log, or owns it, and keeps what counts.
//!
//! A node that stops keeps its state and its mail, and goes on later as if no time had passed. A
//! node that ends loses both.

use std::collections::VecDeque;
use std::rc::Rc;

use stadium_journal::Position;
use stadium_journal_log::{Effect, Header, Mark, Offset, Owner, Reader, Sequence, Verdict, WriterId};

use super::partition::Entry;
use super::truth;

/// What a node is to the log.
pub enum Role<J> {
    /// It reads.
    Standby(Reader<J>),
    /// It has claimed the log, or is about to.
    Owner(Owner<J>),
}

/// A message that a node sent, until it has an outcome.
#[derive(Clone)]
pub struct Outgoing {
    /// Its header.
    pub header: Header,
    /// All of it.
    pub bytes: Rc<[u8]>,
    /// The number of its body; a fence has none.
    pub id: Option<u64>,
}

/// An answer to a node.
#[derive(Clone)]
pub enum Answer {
    /// A message is replicated.
    Appended(WriterId, Sequence, Offset),
    /// The partition did not take a message.
    Failed(WriterId, Sequence),
    /// The end of the log, for the search of this number.
    End(u64, Offset),
    /// Messages from an offset on.
    Messages(Offset, Vec<Entry>),
    /// The log begins here.
    Trimmed(Offset),
}

/// One node.
pub struct Node<J> {
    /// Its role.
    pub role: Role<J>,
    /// The messages that count, as it read and wrote them.
    pub books: Vec<u64>,
    /// Its messages without an outcome, oldest first; its fence is among them.
    pub outgoing: VecDeque<Outgoing>,
    /// Bodies whose messages were handed over and not sent yet.
    pub taken: VecDeque<u64>,
    /// Messages that were given up: clients send them again.
    pub given_up: Vec<u64>,
    /// The position of its next message, at least.
    pub position: Position,
    /// The node has stopped until this step.
    pub stopped_until: u32,
    /// It waits for messages that it asked for.
    pub is_fetching: bool,
    /// An owner needs the messages before this offset.
    pub read_to: Offset,
    /// The number of the search for the end that it waits for.
    pub searching: Option<u64>,
    /// How often it started: answers to an earlier process are lost.
    pub life: u32,
}

impl<J: stadium_journal_log::Judge> Node<J> {
    /// A node that follows from a reader on.
    pub fn new(reader: Reader<J>, books: Vec<u64>, life: u32) -> Self {
        Self {
            role: Role::Standby(reader),
            books,
            outgoing: VecDeque::new(),
            taken: VecDeque::new(),
            given_up: Vec::new(),
            position: Position::START,
            stopped_until: 0,
            is_fetching: false,
            read_to: Offset(0),
            searching: None,
            life,
        }
    }

    /// Where its reader is.
    pub fn mark(&self) -> Mark {
        match &self.role {
            Role::Standby(reader) => reader.mark(),
            Role::Owner(owner) => owner.reader().mark(),
        }
    }

    /// Whether it may write.
    pub fn is_serving(&self) -> bool {
        matches!(&self.role, Role::Owner(owner) if owner.is_serving())
    }

    /// Whether it needs messages to read.
    pub fn wants_messages(&self) -> bool {
        match self.role {
            Role::Standby(_) => true,
            Role::Owner(_) => self.mark().offset < self.read_to,
        }
    }

    /// Takes a message that it read. Returns the number of its body if it counts and no
    /// [`Effect::Durable`] will report it.
    ///
    /// # Errors
    /// The message cannot be read, or the reader cannot go on.
    pub fn read(&mut self, offset: Offset, message: &[u8]) -> Result<Option<u64>, String> {
        let words = |error: &dyn std::fmt::Display| format!("at offset {offset}: {error}");
        let (header, body) = Header::decode(message).map_err(|error| words(&error))?;
        let taken = match &mut self.role {
            Role::Standby(reader) => reader.take(offset, &header),
            Role::Owner(owner) => owner.message(offset, &header),
        };
        let counts = taken.map_err(|error| words(&error))? == Some(Verdict::Accepted);
        let is_own = self.outgoing.iter().any(|own| own.header.is_copy_of(&header));
        if counts && !is_own { truth::id(body).map(Some) } else { Ok(None) }
    }

    /// Removes its messages of a writer up to a sequence, and returns the numbers of their bodies.
    pub fn settle(&mut self, writer: WriterId, up_to: Sequence) -> Vec<u64> {
        let settled = self.outgoing.iter().filter(|own| is_in(own, writer, Sequence::FIRST, up_to));
        let settled = settled.filter_map(|own| own.id).collect();
        self.outgoing.retain(|own| !is_in(own, writer, Sequence::FENCE, up_to));
        settled
    }

    /// Removes its messages of a writer from a sequence on; returns the numbers of their bodies.
    pub fn give_up(&mut self, writer: WriterId, from: Sequence) -> Vec<u64> {
        let given_up = self.outgoing.iter().filter(|own| is_in(own, writer, from, Sequence(u64::MAX)));
        let given_up = given_up.filter_map(|own| own.id).collect();
        self.outgoing.retain(|own| !is_in(own, writer, from, Sequence(u64::MAX)));
        given_up
    }

    /// The next effect of an owner.
    pub fn next_effect(&mut self) -> Option<Effect> {
        match &mut self.role {
            Role::Standby(_) => None,
            Role::Owner(owner) => owner.next_effect(),
        }
    }
}

fn is_in(own: &Outgoing, writer: WriterId, from: Sequence, up_to: Sequence) -> bool {
    own.header.claim.writer == writer && from <= own.header.sequence && own.header.sequence <= up_to
}
