//! What happened to whom and when, of pushes to many: packed, in pieces of a few kilobytes.
//!
//! A step is a byte that names its kind, the device's slot, the milliseconds since the push's
//! start, and for one that was sent its connection (with the node, unless that is 0), for a click
//! the place of its action; all numbers seven bits a byte. A trace reads a push's pieces from the
//! first to the last.

use stadium_state_machine::encoding::{Reader, number};
use stadium_table::{Damaged, Entry};

use crate::ConnectionName;

/// Bytes of a piece, about.
pub(crate) const PIECE_BYTES: usize = 4_096;

/// In the byte of a step: a connection follows.
const CONNECTION: u8 = 0x80;
/// In the byte of a step with a connection: its node follows.
const NODE: u8 = 0x40;

/// Steps of deliveries.
#[derive(Default)]
pub(crate) struct Piece(pub(crate) Vec<u8>);

/// What happened to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum What {
    Sent = 0,
    Acknowledged = 1,
    Refused = 2,
    TooLarge = 3,
    Opened = 4,
    /// At most once, and its connection ended before it was sent.
    Lost = 5,
    Clicked = 6,
}

impl What {
    pub(crate) fn of(byte: u8) -> Option<What> {
        const ALL: [What; 7] = [
            What::Sent,
            What::Acknowledged,
            What::Refused,
            What::TooLarge,
            What::Opened,
            What::Lost,
            What::Clicked,
        ];
        ALL.get(usize::from(byte)).copied()
    }
}

/// One step, with the milliseconds since the push's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) what: What,
    pub(crate) slot: u32,
    pub(crate) after: u64,
    pub(crate) connection: Option<ConnectionName>,
    /// Of a click: the place of its action among those of the push, from 1; 0 for none.
    pub(crate) action: u32,
}

impl Piece {
    /// Appends a step, and returns how many bytes it took.
    pub(crate) fn push(&mut self, step: &Logged) -> usize {
        let start = self.0.len();
        let flags = match step.connection {
            None => 0,
            Some(ConnectionName { node: 0, .. }) => CONNECTION,
            Some(_) => CONNECTION | NODE,
        };
        self.0.push(step.what as u8 | flags);
        number(&mut self.0, u64::from(step.slot));
        number(&mut self.0, step.after);
        if let Some(connection) = step.connection {
            if connection.node != 0 {
                number(&mut self.0, connection.node.into());
            }
            number(&mut self.0, u64::from(connection.loop_index));
            number(&mut self.0, connection.connection);
        }
        if step.what == What::Clicked {
            number(&mut self.0, step.action.into());
        }
        self.0.len() - start
    }

    /// All steps, the oldest first.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Logged> {
        let mut input = Reader::new(&self.0);
        std::iter::from_fn(move || {
            let first = input.byte().ok()?;
            let (slot, after) = (input.small().ok()?, input.number().ok()?);
            let connection = if first & CONNECTION == 0 {
                None
            } else {
                let node = if first & NODE == 0 { 0 } else { input.small().ok()? };
                let (loop_index, connection) = (input.small().ok()?, input.number().ok()?);
                Some(ConnectionName { node, loop_index, connection })
            };
            let what = What::of(first & !(CONNECTION | NODE))?;
            let action = if what == What::Clicked { input.small().ok()? } else { 0 };
            Some(Logged { what, slot, after, connection, action })
        })
    }
}

impl Entry for Piece {
    fn vacant() -> Self {
        Piece(Vec::new())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.0.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.0);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let bytes = u32::from_le_bytes(stadium_table::take(input)?) as usize;
        let (piece, rest) = input.split_at_checked(bytes).ok_or(Damaged("it ends within a log"))?;
        *input = rest;
        Ok(Piece(piece.to_vec()))
    }
}
