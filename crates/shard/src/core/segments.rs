//! Which segments of the journal are still needed, and freeing those that hardly are.
//!
//! A segment may go when every record in it is older than the older kept checkpoint and no payload
//! in it is alive, *durably*: the record by which the last one died must be on disk, and answers
//! that were given before must have their payloads. One that is nearly dead gets its living
//! payloads written again, in slices. One that holds records of a machine whose records stay is
//! *pinned*: it is removed only where an object store has it ([`super::moves`]). A log without
//! segments is accounted for in stretches, and trimmed: [`super::stretches`].

use std::collections::BTreeSet;
use std::ops::Range;

use stadium_journal::{Journal, Position, SegmentNumber};
use stadium_state_machine::{Milliseconds, MoveCursor, PayloadChange, Time};

use super::moves::{SegmentMoves, SettledSegment};
use super::settings::CoreSettings;

/// How often to look for segments that may go.
const LOOK_EVERY: Milliseconds = 1_000;

/// What is known about a segment.
pub(super) struct Account {
    pub(super) number: SegmentNumber,
    pub(super) start: Position,
    pub(super) end: Position,
    /// Records from here on are in later segments.
    pub(super) limit: Position,
    /// Bytes of disk.
    pub(super) bytes: u64,
    /// Bytes of payloads that are alive.
    pub(super) live: i64,
    pub(super) sealed: bool,
    /// It holds records that stay, since they are the truth that people look up.
    pub(super) pinned: bool,
}

impl Account {
    /// Nothing in it is alive, and no recovery needs it: records before `floor` are in checkpoints.
    pub(super) fn is_dead(&self, floor: Position) -> bool {
        self.sealed && self.end <= floor && self.live <= 0
    }
}

/// The accounts of all segments.
pub(super) struct Segments {
    /// Bytes that are accounted for together in a log without segments.
    pub(super) stretch_bytes: u64,
    /// By position.
    pub(super) accounts: Vec<Account>,
    /// A position in each pinned segment that is not here: it moved. Checkpoints list it, so that
    /// it is pinned where a restore brings it back.
    moved: BTreeSet<u64>,
    /// Segments that were found dead, and where the journal ended then.
    pub(super) dead: Vec<(SegmentNumber, Position)>,
    pub(super) rewriting: Option<Rewriting>,
    looked: Time,
    changes: Vec<PayloadChange>,
    pub(super) removed: u64,
    pub(super) rewritten_bytes: u64,
}

/// A segment whose living payloads are being written again.
pub(super) struct Rewriting {
    pub(super) range: Range<u64>,
    /// The machine whose payloads are looked at, by its place among all.
    pub(super) machine: usize,
    pub(super) cursor: MoveCursor,
}

impl Rewriting {
    /// From the first machine on.
    pub(super) fn of(range: Range<u64>) -> Self {
        Rewriting { range, machine: 0, cursor: MoveCursor::default() }
    }
}

impl Segments {
    /// No accounts yet.
    pub(super) fn new(stretch_bytes: u64) -> Self {
        Self {
            stretch_bytes,
            accounts: Vec::new(),
            moved: BTreeSet::new(),
            dead: Vec::new(),
            rewriting: None,
            looked: Time::default(),
            changes: Vec::new(),
            removed: 0,
            rewritten_bytes: 0,
        }
    }

    /// Takes in which segments there are now.
    pub(super) fn refresh(&mut self, journal: &impl Journal) {
        let Some(segmented) = journal.segmented() else {
            self.refresh_stretches(journal);
            return;
        };
        let mut before = std::mem::take(&mut self.accounts).into_iter().peekable();
        for segment in segmented.segments() {
            let (mut live, mut pinned) = (0, false);
            while let Some(account) = before.next_if(|account| account.number <= segment.number) {
                if account.number == segment.number {
                    (live, pinned) = (account.live, account.pinned);
                } else if account.pinned {
                    // The owner whose journal this follows had it removed.
                    self.moved.insert(account.start.0);
                }
            }
            self.accounts.push(Account {
                number: segment.number,
                start: segment.start,
                end: segment.end,
                limit: segment.limit,
                bytes: segment.bytes,
                live,
                sealed: segment.is_sealed,
                pinned,
            });
        }
    }

    /// A buffer for changes, to be filled and given to [`Self::apply`].
    pub(super) fn changes(&mut self) -> &mut Vec<PayloadChange> {
        &mut self.changes
    }

    /// Books what was put into [`Self::changes`].
    pub(super) fn apply(&mut self, journal: &impl Journal) {
        let mut changes = std::mem::take(&mut self.changes);
        for change in changes.drain(..) {
            self.book(journal, Position(change.record), change.bytes);
        }
        self.changes = changes;
    }

    /// Books bytes that came to life, or died, at a record.
    pub(super) fn book(&mut self, journal: &impl Journal, record: Position, bytes: i64) {
        if let Some(account) = self.account(journal, record) {
            account.live += bytes;
        }
    }

    /// A record that stays stands there: its segment stays too.
    pub(super) fn pin(&mut self, journal: &impl Journal, record: Position) {
        match self.account(journal, record) {
            Some(account) => account.pinned = true,
            None => drop(self.moved.insert(record.0)),
        }
    }

    /// A position in each segment that stays, here or elsewhere.
    pub(super) fn pinned(&self) -> Vec<u64> {
        let here = self.accounts.iter().filter(|account| account.pinned).map(|account| account.start.0);
        self.moved.iter().copied().chain(here).collect()
    }

    fn account(&mut self, journal: &impl Journal, record: Position) -> Option<&mut Account> {
        if self.accounts.last().is_none_or(|newest| record >= newest.limit) {
            self.refresh(journal);
        }
        let after = self.accounts.partition_point(|account| account.start <= record);
        // The segment of an old record may have been removed.
        after.checked_sub(1).map(|at| &mut self.accounts[at]).filter(|account| record < account.limit)
    }

    /// Bytes of payloads that are alive, and bytes of disk, of all segments.
    pub(super) fn totals(&self) -> (u64, u64, u64) {
        let live = self.accounts.iter().map(|account| account.live.max(0) as u64).sum();
        let bytes = self.accounts.iter().map(|account| account.bytes).sum();
        (self.accounts.len() as u64, live, bytes)
    }

    /// Bytes of disk of the segments that stay for their records.
    pub(super) fn pinned_bytes(&self) -> u64 {
        self.accounts.iter().filter(|account| account.pinned).map(|account| account.bytes).sum()
    }

    /// Looks for segments that may go or are worth rewriting, now and then. What precedes `floor`
    /// is not needed for a recovery.
    pub(super) fn look(
        &mut self,
        journal: &impl Journal,
        settings: &CoreSettings,
        floor: Position,
        now: Time,
    ) {
        if now >= self.looked && now < self.looked.after(LOOK_EVERY) {
            return;
        }
        self.looked = now;
        self.refresh(journal);
        // A disk that is full keeps nothing for histories.
        let has_room = journal.room().is_some_and(|room| room == stadium_journal::Room::Ordinary);
        let keep = if has_room { settings.history_keep_bytes } else { 0 };
        if journal.segmented().is_none() {
            self.look_at_stretches(journal.end(), settings, floor, keep);
            return;
        }
        let end = journal.end();
        self.look_at_moves(&settings.moves, floor, end);
        let may_go = |account: &&Account| !account.pinned;
        let is_dead = |account: &&Account| account.is_dead(floor);
        let mut bytes: u64 = self.accounts.iter().filter(may_go).map(|account| account.bytes).sum();
        let held = |account: &&Account| has_room && settings.hold.holds(account.end);
        let of_held = self.accounts.iter().filter(may_go).filter(is_dead).filter(held);
        let mut held_bytes: u64 = of_held.map(|account| account.bytes).sum();
        for account in self.accounts.iter().filter(may_go) {
            if bytes <= keep {
                break;
            }
            if is_dead(&account) {
                if held(&account) {
                    if held_bytes <= settings.hold_bytes_max {
                        continue;
                    }
                    held_bytes -= account.bytes;
                }
                // One that was found before frees its bytes too: no other has to go for them.
                if !self.dead.iter().any(|&(number, _)| number == account.number) {
                    self.dead.push((account.number, end));
                }
                bytes -= account.bytes.min(bytes);
            }
        }
        if self.rewriting.is_none() {
            // A pinned one cannot move while a payload in it is alive.
            let moves = settings.moves.is_on();
            let worth_it = |account: &&Account| {
                account.sealed
                    && (!account.pinned || moves)
                    && account.end <= floor
                    && account.live > 0
                    && (account.live as u64).saturating_mul(100)
                        < account.bytes.saturating_mul(u64::from(settings.rewrite_below_percent))
            };
            self.rewriting = self
                .accounts
                .iter()
                .filter(worth_it)
                .min_by_key(|account| account.live)
                .map(|account| Rewriting::of(account.start.0..account.end.0));
        }
    }

    /// Names the settled segments, and lets those go that are stored. `floor` is as for
    /// [`Self::look`].
    fn look_at_moves(&mut self, moves: &SegmentMoves, floor: Position, end: Position) {
        if !moves.is_on() {
            return;
        }
        let is_settled = |account: &Account| account.pinned && account.is_dead(floor);
        let settled = self.accounts.iter().filter(|account| is_settled(account));
        let settled = settled.map(|account| SettledSegment {
            number: account.number,
            end: account.end,
            limit: account.limit,
        });
        for number in moves.exchange(settled.collect()) {
            let found = self.accounts.iter_mut().find(|account| account.number == number);
            if let Some(account) = found.filter(|account| is_settled(account)) {
                account.pinned = false;
                self.moved.insert(account.start.0);
                self.dead.push((number, end));
            }
        }
    }

    /// The segment that is being rewritten.
    pub(super) fn rewriting(&mut self) -> Option<&mut Rewriting> {
        self.rewriting.as_mut()
    }

    /// All of its payloads were looked at.
    pub(super) fn rewritten(&mut self) {
        self.rewriting = None;
    }

    /// Removes dead segments whose death is durable, as everything answered before is. Called when
    /// no answer from before `durable` waits for its payloads.
    pub(super) fn remove_dead(&mut self, journal: &mut impl Journal, durable: Position) {
        let Some(segmented) = journal.segmented_mut() else {
            self.trim_dead(journal, durable);
            return;
        };
        let mut removed = false;
        while let Some(at) = self.dead.iter().position(|&(_, end)| end <= durable) {
            let (number, _) = self.dead.swap_remove(at);
            let still_dead = self
                .accounts
                .iter()
                .any(|account| account.number == number && account.live <= 0 && !account.pinned);
            if !still_dead {
                continue;
            }
            match segmented.remove(number) {
                Ok(()) => {
                    self.removed += 1;
                    removed = true;
                }
                Err(error) => tracing::warn!(%error, segment = %number, "Segment not removed"),
            }
        }
        if removed {
            self.refresh(journal);
        }
    }

    /// Whether something is to be done when the journal is durable further on.
    pub(super) fn has_dead(&self) -> bool {
        !self.dead.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stadium_journal::memory::MemoryDisk;
    use stadium_journal::{FileJournal, Journal, Options, Segmented as _};
    use stadium_state_machine::{Place, Time};

    use super::{CoreSettings, LOOK_EVERY, Segments};

    /// A journal of so many sealed segments, and one that is written.
    fn journal(sealed: usize) -> FileJournal {
        let options = Options { segment_bytes: 64 << 10, record_bytes_max: 16 << 10, ..Options::default() };
        let (mut journal, stepper) =
            FileJournal::open_stepped(Arc::new(MemoryDisk::new(1)), &options).expect("an empty disk");
        while journal.segments().len() <= sealed {
            match journal.append(&[7; 8 << 10]) {
                Ok(_) => journal.commit().expect("the disk works"),
                // The journal's own work is behind.
                Err(_) => assert!(stepper.commit() | stepper.keep(), "there is room"),
            }
        }
        while stepper.commit() | stepper.keep() {}
        journal
    }

    #[test]
    fn segments_that_no_backup_has_stay_up_to_a_bound() {
        let journal = journal(6);
        let mut segments = Segments::new(1 << 20);
        segments.refresh(&journal);
        let each = segments.accounts[0].bytes;
        let ends: Vec<_> = segments.accounts.iter().map(|account| account.end).collect();
        let mut settings = CoreSettings {
            history_keep_bytes: 0,
            ..CoreSettings::for_shard(Place { shard: 0, shards: 1, hash_seed: 0 })
        };
        let mut now = Time(1_000_000);
        let mut dead = |settings: &CoreSettings| {
            now = now.after(LOOK_EVERY);
            segments.look(&journal, settings, journal.end(), now);
            segments.dead.len()
        };
        settings.hold.from(stadium_journal::Position::START);
        assert_eq!(dead(&settings), 0, "nothing is stored");
        settings.hold.from(ends[1]);
        assert_eq!(dead(&settings), 2, "two are stored");
        settings.hold_bytes_max = 3 * each;
        assert_eq!(dead(&settings), 3, "the bound has room for three of four");
    }

    #[test]
    fn segments_on_their_way_out_free_their_bytes() {
        let journal = journal(6);
        let mut segments = Segments::new(1 << 20);
        segments.refresh(&journal);
        let each = segments.accounts[0].bytes;
        let settings = CoreSettings {
            history_keep_bytes: 4 * each,
            ..CoreSettings::for_shard(Place { shard: 0, shards: 1, hash_seed: 0 })
        };
        let mut now = Time(1_000_000);
        segments.look(&journal, &settings, journal.end(), now);
        let found = segments.dead.clone();
        assert!(!found.is_empty() && found.len() < 6, "{found:?}");
        // Until they are removed, later looks find no others.
        for _ in 0..3 {
            now = now.after(LOOK_EVERY);
            segments.look(&journal, &settings, journal.end(), now);
            assert_eq!(segments.dead, found);
        }
    }
}
