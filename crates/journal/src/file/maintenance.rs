//! Keeps the next segment ready, room set aside, and uses removed segments again.
//!
//! Works beside the journal's thread, so that making a segment never delays a commit. A full disk is not an
//! error here, nor is a process without descriptors: it is noticed before anybody needs the room, and looked at again.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::disk::DiskFile;
use crate::error::lacks_descriptors;
use crate::file::segments::SegmentFile;
use crate::file::shared::Shared;
use crate::file::stock::{Made, Replace, Stock, is_full};
use crate::file::writer::{Progress, check_epoch};
use crate::{Error, Position, SegmentNumber};

/// How soon a full disk, or a process without descriptors, is looked at again.
const FULL_RETRY: Duration = Duration::from_millis(250);

/// The requests of the shard's thread to the maintenance, and their results.
pub(crate) struct Orders {
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    next: Next,
    removed: VecDeque<(String, u64)>,
    is_closing: bool,
}

enum Next {
    Wanted { number: SegmentNumber, base: Position, lacks: Option<Lack> },
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
    /// It cannot be made now.
    Lacks(Lack),
}

impl Orders {
    pub(crate) fn new(after: &SegmentFile) -> Self {
        let state = State { next: Next::after(after), removed: VecDeque::new(), is_closing: false };
        Self { state: Mutex::new(state), work: Condvar::new() }
    }

    /// Looks at the next segment without taking it.
    pub(crate) fn next(&self, bytes: u64, shared: &Shared) -> NextSegment {
        match &self.state().next {
            Next::Ready(made) if made.segment.header.capacity < bytes => NextSegment::Lacks(Lack::Room),
            Next::Ready(made)
                if made.segment.from_reserve && !shared.reserve_ready.load(Ordering::Acquire) =>
            {
                NextSegment::ReadyReserved
            }
            Next::Ready(_) => NextSegment::Ready,
            Next::Wanted { lacks: Some(lack), .. } => NextSegment::Lacks(*lack),
            Next::Wanted { lacks: None, .. } => NextSegment::Soon,
        }
    }

    /// Takes the next segment, if it is ready, and orders the one after it.
    pub(crate) fn take(&self) -> Option<(Arc<SegmentFile>, Arc<dyn DiskFile>)> {
        let mut state = self.state();
        let Next::Ready(made) = &state.next else { return None };
        let taken = (Arc::clone(&made.segment), Arc::clone(&made.file));
        state.next = Next::after(&taken.0);
        drop(state);
        self.work.notify_one();
        Some(taken)
    }

    /// Hands over the file of a segment that was removed.
    pub(crate) fn removed(&self, name: String, bytes: u64) {
        self.state().removed.push_back((name, bytes));
        self.work.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state().is_closing = true;
        self.work.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Next {
    fn after(segment: &SegmentFile) -> Self {
        let number = SegmentNumber(segment.header.number.0 + 1);
        Self::Wanted { number, base: segment.header.limit(), lacks: None }
    }
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

    /// The thread of a real journal.
    pub(crate) fn run(mut self) {
        loop {
            while !self.orders.state().is_closing && self.step() == Progress::Worked {}
            let state = self.orders.state();
            if state.is_closing || self.shared.has_failed() {
                return;
            }
            let is_waiting_for_room = matches!(state.next, Next::Wanted { .. })
                || !self.shared.reserve_ready.load(Ordering::Acquire);
            // An order that came after the last look.
            let is_new = matches!(state.next, Next::Wanted { lacks: None, .. });
            if is_new || !state.removed.is_empty() {
                continue;
            }
            if is_waiting_for_room {
                drop(self.orders.work.wait_timeout(state, FULL_RETRY));
            } else {
                drop(self.orders.work.wait(state));
            }
        }
    }

    /// Does one thing, or finds that there is nothing that can be done now.
    pub(crate) fn step(&mut self) -> Progress {
        if self.shared.has_failed() {
            return Progress::Nothing;
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
        let order = match self.orders.state().next {
            Next::Wanted { number, base, .. } => Some((number, base)),
            Next::Ready(_) => None,
        };
        if let Some((number, base)) = order {
            let had_reserve = self.stock.has_reserve();
            let mut made = self.stock.segment(number, base, Replace::Nothing);
            while made.as_ref().is_err_and(lacks_descriptors) && self.shared.segments.close_oldest() {
                made = self.stock.segment(number, base, Replace::Nothing);
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
