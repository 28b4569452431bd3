//! Notes resume points while the mirror grows: sync, then note.
//!
//! One note is on its way at a time. It runs where the options have it run.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use stadium_journal::Position;
use stadium_journal::mirror::SyncJob;

use crate::marks::{Marks, Slot};
use crate::options::Spawn;
use crate::resume::ResumePoint;

/// Bytes between two notes. A mirror reads so much of the log again after a restart.
const NOTE_BYTES: u64 = 1 << 20;

pub(crate) struct Notes {
    marks: Marks,
    spawn: Option<Spawn>,
    progress: Arc<Progress>,
}

struct Progress {
    state: Mutex<State>,
    ended: Condvar,
}

struct State {
    noted: Position,
    is_busy: bool,
    failure: Option<String>,
}

impl Notes {
    pub(crate) fn new(marks: Marks, spawn: Option<Spawn>, noted: Position) -> Self {
        let state = Mutex::new(State { noted, is_busy: false, failure: None });
        Self { marks, spawn, progress: Arc::new(Progress { state, ended: Condvar::new() }) }
    }

    /// Whether the mirror has grown enough since the last note.
    ///
    /// # Errors
    /// The last note failed: what its sync should have made durable may be lost.
    pub(crate) fn is_due(&self, accepted: Position) -> Result<bool, String> {
        let state = self.progress.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        Ok(!state.is_busy && accepted.since(state.noted) >= NOTE_BYTES)
    }

    /// The end of the last point that was noted.
    pub(crate) fn noted(&self) -> Position {
        self.progress.state().noted
    }

    /// Notes a point: in another thread where there is one.
    pub(crate) fn note(&mut self, sync: SyncJob, point: ResumePoint) {
        let slot = self.marks.next_slot();
        self.progress.state().is_busy = true;
        let progress = Arc::clone(&self.progress);
        let job = move || progress.end(carry_out(&sync, &slot, &point), &point);
        match &self.spawn {
            Some(spawn) => spawn(Box::new(job)),
            None => job(),
        }
    }

    /// Notes a point before it returns. One that is on its way is noted first: its sync has taken
    /// files that this one does not know of.
    ///
    /// # Errors
    /// As for [`Notes::is_due`].
    pub(crate) fn note_now(&mut self, sync: &SyncJob, point: &ResumePoint) -> Result<(), String> {
        let state = self.progress.state();
        let waited = self.progress.ended.wait_while(state, |state| state.is_busy);
        let failure = waited.unwrap_or_else(PoisonError::into_inner).failure.clone();
        if let Some(failure) = failure {
            return Err(failure);
        }
        let slot = self.marks.next_slot();
        self.progress.end(carry_out(sync, &slot, point), point);
        self.is_due(Position::START).map(drop)
    }
}

impl Progress {
    fn end(&self, done: io::Result<()>, point: &ResumePoint) {
        let mut state = self.state();
        state.is_busy = false;
        match done {
            Ok(()) => state.noted = state.noted.max(point.mark.end),
            Err(error) => state.failure = Some(format!("the mirror cannot be synced: {error}")),
        }
        drop(state);
        self.ended.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn carry_out(sync: &SyncJob, slot: &Slot, point: &ResumePoint) -> io::Result<()> {
    sync.run()?;
    slot.write(point)
}
