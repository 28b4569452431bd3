//! Wakes the owner of a journal when its partition has events.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stadium_journal::Wake;

#[derive(Default)]
pub(crate) struct Signal {
    state: Mutex<State>,
    raised: Condvar,
}

#[derive(Default)]
struct State {
    is_raised: bool,
    wake: Option<Wake>,
}

impl Signal {
    /// What a partition calls.
    pub(crate) fn as_wake(self: &Arc<Self>) -> Wake {
        let signal = Arc::clone(self);
        Arc::new(move || signal.raise())
    }

    fn raise(&self) {
        let mut state = self.state();
        state.is_raised = true;
        let wake = state.wake.clone();
        drop(state);
        self.raised.notify_all();
        if let Some(wake) = wake {
            wake();
        }
    }

    pub(crate) fn set_wake(&self, wake: Wake) {
        self.state().wake = Some(wake);
    }

    /// Call it before a look at the events: one that comes after the look is not missed then.
    pub(crate) fn lower(&self) {
        self.state().is_raised = false;
    }

    /// Waits until it is raised. Returns whether it was.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let waited = self.raised.wait_timeout_while(self.state(), timeout, |state| !state.is_raised);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_raised
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
