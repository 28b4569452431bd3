//! Keeps the next segment ready, room set aside, and uses removed segments again.
//!
//! Works beside the journal's thread, so that making a segment never delays a commit. A full disk is not an
//! error here, nor is a process without descriptors: it is noticed before anybody needs the room, and looked at again.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::DiskFile;
use crate::error::lacks_descriptors;
use crate::file::pool::Pool;
use crate::file::segments::SegmentFile;
use crate::file::shared::Shared;
use crate::file::stock::{Made, Replace, Stock, is_full};
use crate::file::writer::{Progress, check_epoch};
use crate::header::Header;
use crate::{Error, Position, SegmentNumber};

/// How soon a full disk, or a process without descriptors, is looked at again.
pub(crate) const FULL_RETRY: Duration = Duration::from_millis(250);

/// The requests of the shard's thread to the maintenance, and their results.
pub(crate) struct Orders {
    state: Mutex<State>,
    /// The owner waits here for the end.
    done: Condvar,
}

struct State {
    next: Next,
    removed: VecDeque<(String, u64)>,
    /// A next segment that was too small for the record that needed it: it steps aside for another one.
    withdrawn: Option<Made>,
    /// A thread has the maintenance, or will have it.
    is_scheduled: bool,
    /// When a thread has it again in any case.
    retried_at: Option<Instant>,
    is_closing: bool,
    is_closed: bool,
}

enum Next {
    Wanted { number: SegmentNumber, base: Position, bytes_min: u64, lacks: Option<Lack> },
    Ready(Made),
}

/// What a segment is not made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lack {
    /// Room on the disk.
    Room,
    /// A file descriptor.
    Descriptors,
}

impl Lack {
    /// The file that an error names as missing, if it names one.
    fn of(error: &io::Error) -> Option<Self> {
        if lacks_descriptors(error) {
            return Some(Self::Descriptors);
        }
        is_full(error).then_some(Self::Room)
    }

    /// The error for a caller that needs it.
    pub(crate) fn error(self) -> Error {
        match self {
            Self::Room => Error::Full,
            Self::Descriptors => Error::Descriptors,
        }
    }
}

/// The segments that are there to go on with when a segment is at its end.
pub(crate) enum NextSegment {
    /// This one is ready.
    Ready,
    /// This one is ready, for records that free room.
    ReadyReserved,
    /// It is being made.
    Soon,
    /// It was ordered just now: the maintenance is to be told.
    Ordered,
    /// It cannot be made now.
    Lacks(Lack),
}

impl Orders {
    pub(crate) fn new(after: &SegmentFile) -> Self {
        let state = State {
            next: Next::after(after),
            removed: VecDeque::new(),
            withdrawn: None,
            is_scheduled: false,
            retried_at: None,
            is_closing: false,
            is_closed: false,
        };
        Self { state: Mutex::new(state), done: Condvar::new() }
    }

    /// Looks at the next segment without taking it. One that is ready and smaller than `bytes` is
    /// withdrawn, and one of that size is ordered; not where it took the reserve, since then the disk
    /// has no room for a larger one.
    pub(crate) fn next(&self, bytes: u64, shared: &Shared) -> NextSegment {
        let mut state = self.state();
        let made = match &state.next {
            Next::Wanted { lacks, .. } => return lacks.map_or(NextSegment::Soon, NextSegment::Lacks),
            Next::Ready(made) => made,
        };
        let Header { number, base, capacity, .. } = made.segment.header;
        match (capacity >= bytes, shared.is_reserved(&made.segment)) {
            (true, false) => NextSegment::Ready,
            (true, true) => NextSegment::ReadyReserved,
            (false, true) => NextSegment::Lacks(Lack::Room),
            (false, false) => {
                let larger = Next::Wanted { number, base, bytes_min: bytes, lacks: None };
                if let Next::Ready(made) = std::mem::replace(&mut state.next, larger) {
                    state.withdrawn = Some(made);
                }
                NextSegment::Ordered
            }
        }
    }

    /// Takes the next segment, if it is ready, and orders the one after it.
    pub(crate) fn take(&self) -> Option<(Arc<SegmentFile>, Arc<dyn DiskFile>)> {
        let mut state = self.state();
        let Next::Ready(made) = &state.next else { return None };
        let taken = (Arc::clone(&made.segment), Arc::clone(&made.file));
        state.next = Next::after(&taken.0);
        Some(taken)
    }

    /// Hands over the file of a segment that was removed.
    pub(crate) fn removed(&self, name: String, bytes: u64) {
        self.state().removed.push_back((name, bytes));
    }

    /// There are orders. True where a thread is to be given the maintenance.
    pub(crate) fn schedule(&self) -> bool {
        !std::mem::replace(&mut self.state().is_scheduled, true)
    }

    /// Ends the maintenance: what is being done is finished. True where a thread is to be given it.
    pub(crate) fn close(&self) -> bool {
        let mut state = self.state();
        state.is_closing = true;
        !state.is_closed && !std::mem::replace(&mut state.is_scheduled, true)
    }

    /// The maintenance has ended.
    pub(crate) fn closed(&self) {
        self.state().is_closed = true;
        self.done.notify_all();
    }

    /// Waits until the maintenance has ended.
    pub(crate) fn wait_closed(&self) {
        let state = self.done.wait_while(self.state(), |state| !state.is_closed);
        drop(state.unwrap_or_else(PoisonError::into_inner));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Next {
    fn after(segment: &SegmentFile) -> Self {
        let number = SegmentNumber(segment.header.number.0 + 1);
        Self::Wanted { number, base: segment.header.limit(), bytes_min: 0, lacks: None }
    }
}

/// With fewer bytes left in the segment before it the next one is filled without a pause: a fast writer
/// needs it in milliseconds.
const LEFT_MIN: u64 = 16 << 20;

/// Whether a segment of which `filled` bytes are filled will be ready when half of what was left in
/// the segment before it, `at_first` bytes, is used, should both go on like that.
fn keeps_ahead(filled: u64, of: u64, at_first: u64, left: u64) -> bool {
    let used = at_first.saturating_sub(left);
    at_first >= LEFT_MIN && u128::from(filled) * u128::from(at_first) >= 2 * u128::from(used) * u128::from(of)
}

/// What is left when a thread lets go of the maintenance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rest {
    /// More can be done at once.
    More,
    /// Nothing, until there is another order.
    Nothing,
    /// Room is missing: to be looked at again after [`FULL_RETRY`].
    NoRoom,
    /// The journal is being closed.
    Closing,
}

/// Carries out [`Orders`].
pub(crate) struct Maintenance {
    shared: Arc<Shared>,
    control: Arc<dyn DiskFile>,
    orders: Arc<Orders>,
    stock: Stock,
}

impl Maintenance {
    pub(crate) fn new(
        shared: Arc<Shared>,
        control: Arc<dyn DiskFile>,
        orders: Arc<Orders>,
        stock: Stock,
    ) -> Self {
        shared.reserve_ready.store(stock.has_reserve(), Ordering::Release);
        Self { shared, control, orders, stock }
    }

    /// For a thread: carries out the orders that there are, until other journals wait for the
    /// thread.
    pub(crate) fn carry_out(&mut self, pool: &Pool) -> Rest {
        loop {
            while !self.orders.state().is_closing && self.step() == Progress::Worked {
                if pool.is_pressed() {
                    return Rest::More;
                }
            }
            let mut state = self.orders.state();
            if state.is_closing {
                return Rest::Closing;
            }
            let is_failed = self.shared.has_failed();
            let is_waiting_for_room = matches!(state.next, Next::Wanted { .. })
                || !self.shared.reserve_ready.load(Ordering::Acquire);
            // An order that came after the last look.
            let is_new = matches!(state.next, Next::Wanted { lacks: None, .. });
            if !is_failed && (is_new || state.withdrawn.is_some() || !state.removed.is_empty()) {
                continue;
            }
            state.is_scheduled = false;
            let now = Instant::now();
            if is_failed || !is_waiting_for_room || state.retried_at.is_some_and(|at| at > now) {
                return Rest::Nothing;
            }
            state.retried_at = Some(now + FULL_RETRY);
            return Rest::NoRoom;
        }
    }

    /// Does one thing, or finds that there is nothing that can be done now.
    pub(crate) fn step(&mut self) -> Progress {
        if self.shared.has_failed() {
            return Progress::Nothing;
        }
        let withdrawn = self.orders.state().withdrawn.take();
        if let Some(made) = withdrawn {
            self.shared.segments.withdraw(&made.segment);
            if let Err(error) = self.stock.recycle(&made.segment.name(), made.segment.header.capacity) {
                self.shared.fail(self.why(&error));
            }
            return Progress::Worked;
        }
        let removed = self.orders.state().removed.pop_front();
        let progress = if let Some((name, bytes)) = removed {
            if let Err(error) = self.stock.recycle(&name, bytes) {
                tracing::warn!(shard = self.shared.shard, file = name, %error, "A removed segment's file stays");
            }
            Progress::Worked
        } else {
            match self.make() {
                Ok(progress) => progress,
                Err(error) => {
                    self.shared.fail(self.why(&error));
                    Progress::Worked
                }
            }
        };
        self.shared.counters.spare_bytes.store(self.stock.bytes(), Ordering::Relaxed);
        progress
    }

    fn make(&mut self) -> io::Result<Progress> {
        let order = {
            let state = self.orders.state();
            match state.next {
                // Withdrawn since the last look: its name is to be free first.
                _ if state.withdrawn.is_some() => return Ok(Progress::Worked),
                Next::Wanted { number, base, bytes_min, .. } => Some((number, base, bytes_min)),
                Next::Ready(_) => None,
            }
        };
        if let Some((number, base, bytes_min)) = order {
            let had_reserve = self.stock.has_reserve();
            let left = || base.since(self.shared.durable());
            let at_first = left();
            let has_time = |filled, of| keeps_ahead(filled, of, at_first, left());
            let mut made = self.stock.segment(number, base, bytes_min, Replace::Nothing, &has_time);
            while made.as_ref().is_err_and(lacks_descriptors) && self.shared.segments.close_oldest() {
                made = self.stock.segment(number, base, bytes_min, Replace::Nothing, &has_time);
            }
            if had_reserve && !self.stock.has_reserve() {
                tracing::warn!(
                    shard = self.shared.shard,
                    "The disk is full: only records that free room are taken"
                );
                self.shared.reserve_ready.store(false, Ordering::Release);
            }
            return match made {
                Ok(made) => {
                    let header = made.segment.header;
                    let file = Some(Arc::clone(&made.file));
                    self.shared.segments.add(Arc::clone(&made.segment), file, header.capacity, None);
                    self.orders.state().next = Next::Ready(made);
                    self.shared.announce();
                    Ok(Progress::Worked)
                }
                Err(error) => match Lack::of(&error) {
                    Some(lack) => {
                        self.wait_for(lack);
                        Ok(Progress::Nothing)
                    }
                    None => Err(error),
                },
            };
        }
        if self.stock.has_reserve() {
            return Ok(Progress::Nothing);
        }
        match self.stock.set_aside() {
            Ok(()) => {
                tracing::info!(shard = self.shared.shard, "Room is set aside for a full disk");
                self.shared.reserve_ready.store(true, Ordering::Release);
                self.shared.announce();
                Ok(Progress::Worked)
            }
            Err(error) if Lack::of(&error).is_some() => Ok(Progress::Nothing),
            Err(error) => Err(error),
        }
    }

    /// The order stands, and is tried again.
    fn wait_for(&self, lack: Lack) {
        let mut state = self.orders.state();
        let Next::Wanted { lacks, .. } = &mut state.next else { return };
        let before = lacks.replace(lack);
        drop(state);
        if before == Some(lack) {
            return;
        }
        if lack == Lack::Descriptors {
            tracing::error!(
                shard = self.shared.shard,
                "The process has no file descriptors left for the next segment of the journal; it is tried again"
            );
        }
        self.shared.announce();
    }

    fn why(&self, error: &io::Error) -> Error {
        if let Err(fenced @ Error::Fenced { .. }) = check_epoch(&self.shared, &*self.control) {
            return fenced;
        }
        let what = format!("making a segment in {} failed: {error}", self.shared.disk.place());
        Error::Failed { durable: self.shared.durable(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::keeps_ahead;

    #[test]
    fn a_segment_is_filled_in_time_for_a_fast_writer() {
        const MIB: u64 = 1 << 20;
        let keeps = |filled, left| keeps_ahead(filled * MIB, 64 * MIB, 64 * MIB, left * MIB);
        assert!(keeps(1, 64), "nothing was written yet");
        assert!(keeps(32, 48) && !keeps(31, 48));
        assert!(!keeps(63, 32), "half is used: it should be ready");
        assert!(keeps_ahead(4_096 * MIB, 8_192 * MIB, 8_192 * MIB, 6_144 * MIB), "large ones, too");
        assert!(!keeps_ahead(MIB, 64 * MIB, 8 * MIB, 8 * MIB), "little is left");
    }
}
