//! What is remembered of transfers: their ids, so that each is booked at most once, and open holds.
//!
//! A party is an account's number, or with [`OTHER`] the place of a name: that wallet lives on another shard.

use stadium_table::{Damaged, Entry, take};

use crate::account::{NONE, wallet};
use crate::{BookState, Time, TransferId, WalletName};

/// Set where a party is not an account here but the place of a name.
pub(crate) const OTHER: u32 = 1 << 31;

/// The outcome of a remembered transfer, beyond [`BookState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// A post or a capture.
    Posted = 0,
    /// A hold that is open.
    Held = 1,
    /// A hold that was captured; the amount is the capture's place.
    Captured = 2,
    /// A hold that was voided, or what voided it.
    Voided = 3,
    /// A hold whose time was over.
    Expired = 4,
    /// A post or a capture that was reversed.
    Reversed = 5,
    /// A reversal.
    Reversal = 6,
    /// Its id was used again when it was forgotten, and that is replayed with a longer memory: its place only waits for its turn.
    Forgotten = 7,
    /// Decided by another shard, in a list with others. It would be decided here if it came alone: it is kept only so that it is not booked
    /// again, without parties, and where its id is asked for the other shard answers.
    Elsewhere = 8,
}

impl State {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            0 => State::Posted,
            1 => State::Held,
            2 => State::Captured,
            3 => State::Voided,
            4 => State::Expired,
            5 => State::Reversed,
            6 => State::Reversal,
            7 => State::Forgotten,
            8 => State::Elsewhere,
            _ => return None,
        })
    }

    pub(crate) fn state(self) -> BookState {
        match self {
            State::Posted | State::Reversal | State::Forgotten | State::Elsewhere => BookState::Posted,
            State::Held => BookState::Held,
            State::Captured => BookState::Captured,
            State::Voided => BookState::Voided,
            State::Expired => BookState::Expired,
            State::Reversed => BookState::Reversed,
        }
    }
}

/// A transfer whose id is remembered: 56 bytes.
pub(crate) struct Remembered {
    id: [u64; 2],
    /// The hash of the client's content.
    pub(crate) content: u64,
    /// How much.
    pub(crate) amount: u64,
    /// The record that describes it completely.
    pub(crate) record: u64,
    pub(crate) debit: u32,
    pub(crate) credit: u32,
    /// When it was booked: the low 56 bits, and in the top 8 what became of it.
    time_state: u64,
}

impl Remembered {
    pub(crate) fn new(
        id: TransferId,
        content: u64,
        amount: u64,
        record: u64,
        time: Time,
        state: State,
    ) -> Self {
        let time_state = time.0 & TIME | (state as u64) << 56;
        Self { id: halves(id), content, amount, record, debit: NONE, credit: NONE, time_state }
    }

    pub(crate) fn parties(self, debit: u32, credit: u32) -> Self {
        Self { debit, credit, ..self }
    }

    #[inline]
    pub(crate) fn id(&self) -> TransferId {
        TransferId(u128::from(self.id[0]) << 64 | u128::from(self.id[1]))
    }

    pub(crate) fn time(&self) -> Time {
        Time(self.time_state & TIME)
    }

    pub(crate) fn state(&self) -> State {
        State::of((self.time_state >> 56) as u8).expect("it was set from one")
    }

    /// A hold was captured: its amount makes room for where its capture is remembered, and for the
    /// half of its id that distinguishes it from another one in the same place.
    pub(crate) fn captured_by(&mut self, place: u32, id: TransferId) {
        self.amount = u64::from(place) | u64::from(id.0 as u32) << 32;
    }

    /// Where the capture is remembered, if that is the one with the id.
    pub(crate) fn capture(&self) -> (u32, u32) {
        (self.amount as u32, (self.amount >> 32) as u32)
    }

    pub(crate) fn set_state(&mut self, state: State) {
        self.time_state = self.time_state & TIME | (state as u64) << 56;
    }
}

const TIME: u64 = (1 << 56) - 1;

fn halves(id: TransferId) -> [u64; 2] {
    [(id.0 >> 64) as u64, id.0 as u64]
}

/// Spreads an id over 64 bits. Clients choose ids, and must not be able to choose them so that they
/// collide.
#[inline]
pub(crate) fn hash_of_id(id: TransferId, seed: u64) -> u64 {
    let [high, low] = halves(id);
    let product = u128::from(high ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let mixed = (product as u64) ^ (product >> 64) as u64 ^ low ^ seed.rotate_left(32);
    let product = u128::from(mixed) * 0xbf58_476d_1ce4_e5b9;
    (product as u64) ^ (product >> 64) as u64
}

impl Entry for Remembered {
    fn vacant() -> Self {
        Self { id: [0; 2], content: 0, amount: 0, record: 0, debit: NONE, credit: NONE, time_state: 0 }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut fixed = [0; 56];
        let words = [self.id[0], self.id[1], self.content, self.amount, self.record, self.time_state];
        for (to, word) in fixed.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        fixed[48..52].copy_from_slice(&self.debit.to_le_bytes());
        fixed[52..].copy_from_slice(&self.credit.to_le_bytes());
        out.extend_from_slice(&fixed);
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let mut words = [0; 6];
        for word in &mut words {
            *word = u64::from_le_bytes(take(input)?);
        }
        let [high, low, content, amount, record, time_state] = words;
        State::of((time_state >> 56) as u8).ok_or(Damaged("a transfer with an unknown state"))?;
        let debit = u32::from_le_bytes(take(input)?);
        let credit = u32::from_le_bytes(take(input)?);
        Ok(Self { id: [high, low], content, amount, record, debit, credit, time_state })
    }
}

/// A wallet of another shard.
pub(crate) struct Other {
    pub(crate) shard: u16,
    pub(crate) name: WalletName,
}

impl Entry for Other {
    fn vacant() -> Self {
        Self { shard: 0, name: WalletName::vacant() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.shard.to_le_bytes());
        out.push(self.name.as_str().len() as u8);
        out.extend_from_slice(self.name.as_str().as_bytes());
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let shard = u16::from_le_bytes(take(input)?);
        let [bytes] = take(input)?;
        Ok(Self { shard, name: wallet(input, usize::from(bytes))? })
    }
}

/// An open hold.
pub(crate) struct Hold {
    pub(crate) id: TransferId,
    pub(crate) content: u64,
    pub(crate) amount: u64,
    pub(crate) debit: u32,
    pub(crate) credit: u32,
    pub(crate) at: Time,
    pub(crate) expires: Time,
    /// Counts all holds: their order.
    pub(crate) number: u64,
    /// The record that describes it completely.
    pub(crate) record: u64,
    /// A transaction that is not decided wants to end it.
    pub(crate) locked: bool,
}

impl Entry for Hold {
    fn vacant() -> Self {
        Self {
            id: TransferId(0),
            content: 0,
            amount: 0,
            debit: 0,
            credit: 0,
            at: Time(0),
            expires: Time(0),
            number: 0,
            record: 0,
            locked: false,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.0.to_le_bytes());
        for word in [self.content, self.amount, self.at.0, self.expires.0, self.number, self.record] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.debit.to_le_bytes());
        out.extend_from_slice(&self.credit.to_le_bytes());
        out.push(u8::from(self.locked));
    }

    fn decode(input: &mut &[u8]) -> Result<Self, Damaged> {
        let id = TransferId(u128::from_le_bytes(take(input)?));
        let mut words = [0; 6];
        for word in &mut words {
            *word = u64::from_le_bytes(take(input)?);
        }
        let [content, amount, at, expires, number, record] = words;
        let debit = u32::from_le_bytes(take(input)?);
        let credit = u32::from_le_bytes(take(input)?);
        let [locked] = take(input)?;
        let (at, expires, locked) = (Time(at), Time(expires), locked == 1);
        Ok(Self { id, content, amount, debit, credit, at, expires, number, record, locked })
    }
}

const _: () = assert!(size_of::<Remembered>() == 56, "a remembered transfer takes 56 bytes");

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{TransferId, hash_of_id};

    #[test]
    fn ids_that_differ_in_few_bits_are_spread_over_all_bits_of_their_hashes() {
        let shapes: [fn(u128) -> u128; 3] = [|n| n << 64 | 7, |n| 7 << 64 | n, |n| n << 32];
        for (shape, id) in shapes.iter().enumerate() {
            for seed in [0, 1, 0x1234_5678_9abc_def0] {
                let hashes: Vec<u64> = (0..4_096).map(|n| hash_of_id(TransferId(id(n)), seed)).collect();
                for shift in [0, 12, 24, 36, 52] {
                    // As many balls thrown at random hit 2,589 of 4,096 boxes. Half of them is spread enough.
                    let boxes: HashSet<u64> = hashes.iter().map(|hash| hash >> shift & 0xfff).collect();
                    assert!(
                        boxes.len() > 1_295,
                        "shape {shape}, seed {seed}, bits from {shift}: {}",
                        boxes.len()
                    );
                }
            }
        }
    }
}
