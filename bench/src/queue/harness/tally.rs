//! What became of every job: each one that was put must be reserved and settled exactly once.
//!
//! Serials are handed out here, from 0 without gaps, so a bit for each job and each step is all that is kept.

use anyhow::{Result, bail};

/// The count of a run; several loads one after the other may share it.
#[derive(Default)]
pub(crate) struct Tally {
    serials: u64,
    /// Puts that were answered.
    put: u64,
    reserved: Bits,
    settled: Bits,
    /// Deleted by hand: must not be reserved any more.
    cancelled: Bits,
}

impl Tally {
    /// The next serial.
    pub(crate) fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials - 1
    }

    /// So many were put.
    pub(crate) fn put(&mut self, jobs: u64) {
        self.put += jobs;
    }

    /// Jobs handed out and not yet known to be put never count as lost.
    pub(crate) fn put_so_far(&self) -> u64 {
        self.put
    }

    /// Jobs reserved so far.
    pub(crate) fn reserved_so_far(&self) -> u64 {
        self.reserved.set
    }

    /// Jobs settled so far.
    pub(crate) fn settled_so_far(&self) -> u64 {
        self.settled.set
    }

    /// One was reserved: an error where nobody put it, or where somebody had it before.
    pub(crate) fn reserved(&mut self, serial: u64) -> Result<()> {
        if serial >= self.serials {
            bail!("job {serial} was reserved, but never put");
        }
        if self.cancelled.has(serial) {
            bail!("job {serial} was reserved after it had been cancelled");
        }
        if !self.reserved.add(serial) {
            bail!("job {serial} was reserved twice");
        }
        Ok(())
    }

    /// One was settled.
    pub(crate) fn settled(&mut self, serial: u64) -> Result<()> {
        if !self.settled.add(serial) {
            bail!("job {serial} was settled twice");
        }
        Ok(())
    }

    /// One was cancelled.
    pub(crate) fn cancelled(&mut self, serial: u64) {
        self.cancelled.add(serial);
    }

    /// Jobs that were put and neither settled nor cancelled.
    pub(crate) fn open(&self) -> u64 {
        self.put - self.settled.set - self.cancelled.set
    }
}

/// A growing set of small numbers.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    set: u64,
}

impl Bits {
    fn has(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok().and_then(|index| self.words.get(index));
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Whether it was new.
    fn add(&mut self, number: u64) -> bool {
        let index = usize::try_from(number / 64).expect("serials count what fits memory");
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let bit = 1 << (number % 64);
        let new = self.words[index] & bit == 0;
        self.words[index] |= bit;
        self.set += u64::from(new);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn a_job_counts_once() {
        let mut tally = Tally::default();
        let (first, second) = (tally.serial(), tally.serial());
        tally.put(2);
        assert!(tally.reserved(first).is_ok());
        assert!(tally.reserved(first).is_err(), "twice");
        assert!(tally.reserved(2).is_err(), "never put");
        tally.cancelled(second);
        assert!(tally.reserved(second).is_err(), "cancelled");
        assert!(tally.settled(first).is_ok());
        assert!(tally.settled(first).is_err());
        assert_eq!(tally.open(), 0);
    }
}
