//! A log that can only be trimmed: accounts of *stretches* of it, and how its old end is given
//! back.
//!
//! A stretch is a range of positions, accounted for like a segment. The log is trimmed up to the
//! first stretch that is still needed: by a kept checkpoint, by a payload that is alive, or for
//! ever by a record that stays. Where little of what is old is alive, the living payloads at
//! the old end are written again, since they keep everything after them.

use stadium_journal::{Journal, Position, SegmentNumber};

use super::segments::{Account, Rewriting, Segments};
use super::settings::CoreSettings;

/// Stretches whose living payloads are written again in one scan of all machines.
const REWRITTEN_AT_ONCE: usize = 64;

impl Account {
    fn stretch(from: Position, bytes: u64) -> Self {
        let number = from.0 / bytes;
        Self {
            number: SegmentNumber(number),
            start: from,
            end: from,
            limit: Position((number + 1) * bytes),
            bytes: 0,
            live: 0,
            sealed: false,
            pinned: false,
        }
    }

    /// Nothing in it is needed, provided that no records before `floor` are needed for a recovery.
    fn may_be_trimmed(&self, floor: Position) -> bool {
        self.is_old(floor) && self.live <= 0 && !self.pinned
    }

    fn is_old(&self, floor: Position) -> bool {
        self.sealed && self.end <= floor
    }
}

impl Segments {
    /// Takes in where the log begins and ends now.
    pub(super) fn refresh_stretches(&mut self, journal: &impl Journal) {
        let (start, end) = (journal.start(), journal.end());
        self.accounts.retain(|account| account.limit > start);
        loop {
            let covered = self.accounts.last().map_or(start, |last| last.limit);
            if covered >= end {
                break;
            }
            self.accounts.push(Account::stretch(covered, self.stretch_bytes));
        }
        for account in &mut self.accounts {
            account.start = account.start.max(start);
            account.end = account.limit.min(end);
            account.sealed = account.limit <= end;
            account.bytes = account.end.since(account.start);
        }
    }

    /// Finds dead stretches at the old end, and records worth rewriting there. So many dead bytes
    /// are kept.
    pub(super) fn look_at_stretches(
        &mut self,
        end: Position,
        settings: &CoreSettings,
        floor: Position,
        keep: u64,
    ) {
        // Nothing from the first record that stays on can go.
        let free = self.accounts.iter().position(|account| account.pinned).unwrap_or(self.accounts.len());
        let free = &self.accounts[..free];
        let mut bytes: u64 = free.iter().map(|account| account.bytes).sum();
        let mut held_up = 0;
        while let Some(account) = free.get(held_up)
            && bytes > keep
            && account.may_be_trimmed(floor)
        {
            if !self.dead.iter().any(|&(number, _)| number == account.number) {
                self.dead.push((account.number, end));
            }
            bytes -= account.bytes;
            held_up += 1;
        }
        let old = || free[held_up..].iter().take_while(|account| account.is_old(floor));
        let live: u64 = old().map(|account| account.live.max(0) as u64).sum();
        let old_bytes: u64 = old().map(|account| account.bytes).sum();
        let is_worth_it = bytes > keep
            && live > 0
            && live.saturating_mul(100) < old_bytes.saturating_mul(u64::from(settings.rewrite_below_percent));
        if self.rewriting.is_none()
            && is_worth_it
            && let (Some(first), Some(last)) = (old().next(), old().take(REWRITTEN_AT_ONCE).last())
        {
            self.rewriting = Some(Rewriting::of(first.start.0..last.limit.0));
        }
    }

    /// Trims the log up to the first stretch whose death is not durable.
    pub(super) fn trim_dead(&mut self, journal: &mut impl Journal, durable: Position) {
        let is_dead = |account: &&Account| {
            let found =
                |&(number, end): &(SegmentNumber, Position)| number == account.number && end <= durable;
            account.live <= 0 && !account.pinned && self.dead.iter().any(found)
        };
        let dead = self.accounts.iter().take_while(is_dead).count();
        // A stretch that is alive all the same is looked at again.
        self.dead.retain(|&(_, end)| end > durable);
        let Some(last) = self.accounts[..dead].last() else { return };
        match journal.trim(last.limit) {
            Ok(()) => {
                self.removed += dead as u64;
                self.accounts.drain(..dead);
                self.refresh_stretches(journal);
            }
            Err(error) => tracing::warn!(%error, below = %last.limit, "Journal not trimmed"),
        }
    }
}
