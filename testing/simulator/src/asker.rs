//! Those who ask a shard, by number.
//!
//! A panic in a turn drops the caller whose answer was being made. Production answers such a caller
//! that the outcome is not known (SHARD-015) when its ticket is dropped; here it is noted for the
//! world.

use std::cell::RefCell;

use stadium_shard::core::Caller;
use stadium_shard::{OUTCOME_UNKNOWN, UNKNOWN};
use stadium_state_machine::Refusal;

/// Who asked, by the number of the request.
pub struct Asker(pub u64);

impl Caller for Asker {
    fn id(&self) -> u64 {
        self.0
    }

    fn is_gone(&self) -> bool {
        false
    }
}

thread_local! {
    static CUT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Drop for Asker {
    fn drop(&mut self) {
        if std::thread::panicking() {
            CUT.with(|cut| cut.borrow_mut().push(self.0));
        }
    }
}

/// Whether nobody knows what became of a command: a panic cut its caller off, or a commit took too
/// long.
pub fn is_open(refusal: &Refusal) -> bool {
    [UNKNOWN, OUTCOME_UNKNOWN].contains(&refusal.code())
}

/// Those whom panics took along since this was asked, in this thread.
pub fn take_cut() -> Vec<u64> {
    CUT.with(RefCell::take)
}
