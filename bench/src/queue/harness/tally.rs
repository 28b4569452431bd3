//! What became of every job: each one that was put must be reserved and settled exactly once.
//!
//! Serials are handed out here, from 0 without gaps, so a bit for each job and each step is all that is kept.

use anyhow::{Result, bail};

/// The count of a run; several loads one after the other may share it.
#[derive(Default)]
pub(crate) struct Tally {
    serials: u64,
    /// Puts that were answered.
    put: Bits,
    reserved: Bits,
    settled: Bits,
    /// Deleted by hand: must not be reserved any more.
    cancelled: Bits,
    /// Put, and neither settled nor cancelled.
    open: u64,
}

impl Tally {
    /// The next serial.
    pub(crate) fn serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials - 1
    }

    /// One was put: its put was answered, so it must not be lost any more.
    pub(crate) fn put(&mut self, serial: u64) {
        // It may have been settled before its own put was answered.
        if self.put.add(serial) && !self.settled.has(serial) {
            self.open += 1;
        }
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
        self.open -= u64::from(self.put.has(serial));
        Ok(())
    }

    /// One that was put was cancelled.
    pub(crate) fn cancelled(&mut self, serial: u64) {
        self.open -= u64::from(self.cancelled.add(serial));
    }

    /// Jobs put so far.
    pub(crate) fn put_so_far(&self) -> u64 {
        self.put.set
    }

    /// Jobs reserved so far.
    pub(crate) fn reserved_so_far(&self) -> u64 {
        self.reserved.set
    }

    /// Jobs settled so far.
    pub(crate) fn settled_so_far(&self) -> u64 {
        self.settled.set
    }

    /// Jobs that were put and are neither settled nor cancelled.
    pub(crate) fn open(&self) -> u64 {
        self.open
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
        tally.put(first);
        tally.put(second);
        assert!(tally.reserved(first).is_ok());
        assert!(tally.reserved(first).is_err(), "twice");
        assert!(tally.reserved(2).is_err(), "never put");
        tally.cancelled(second);
        assert!(tally.reserved(second).is_err(), "cancelled");
        assert!(tally.settled(first).is_ok());
        assert!(tally.settled(first).is_err());
        assert_eq!(tally.open(), 0);
    }

    #[test]
    fn a_job_may_be_settled_before_its_put_is_answered() {
        let mut tally = Tally::default();
        let serial = tally.serial();
        assert!(tally.reserved(serial).is_ok() && tally.settled(serial).is_ok());
        assert_eq!(tally.open(), 0);
        tally.put(serial);
        assert_eq!(tally.open(), 0);
    }
}
