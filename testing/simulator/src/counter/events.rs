//! The counter's events.
//!
//! Each is a byte that names its kind, and its numbers, seven bits a byte.

use stadium_state_machine::encoding::{Reader, corrupt, number};
use stadium_state_machine::{Corrupt, Description};

/// Something that was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Added(u64),
    /// An amount left for another shard, under the next number.
    Sent {
        to: u16,
        amount: u64,
    },
    Received {
        shard: u16,
        number: u64,
        confirmed_below: u64,
        amount: u64,
    },
    /// Another shard has the message with this number.
    Confirmed(u64),
}

impl Event {
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        let mut write = |kind: u8, numbers: &[u64]| {
            out.push(kind);
            numbers.iter().for_each(|&value| number(out, value));
        };
        match self {
            Event::Added(amount) => write(1, &[amount]),
            Event::Sent { to, amount } => write(2, &[u64::from(to), amount]),
            Event::Received { shard, number, confirmed_below, amount } => {
                write(3, &[u64::from(shard), number, confirmed_below, amount]);
            }
            Event::Confirmed(number) => write(4, &[number]),
        }
    }

    pub(super) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        Ok(match input.byte()? {
            1 => Event::Added(input.number()?),
            2 => Event::Sent { to: input.small()?, amount: input.number()? },
            3 => Event::Received {
                shard: input.small()?,
                number: input.number()?,
                confirmed_below: input.number()?,
                amount: input.number()?,
            },
            4 => Event::Confirmed(input.number()?),
            other => return Err(corrupt(format!("an event of a counter of kind {other}"))),
        })
    }

    pub(super) fn describe(self) -> Description {
        let text = match self {
            Event::Added(amount) => format!("{amount} added"),
            Event::Sent { to, amount } => format!("{amount} sent to shard {to}"),
            Event::Received { shard, number, amount, .. } => {
                format!("{amount} received from shard {shard}, message {number}")
            }
            Event::Confirmed(number) => format!("message {number} confirmed"),
        };
        text.into()
    }
}
