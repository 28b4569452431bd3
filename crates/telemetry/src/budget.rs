//! The number of devices of a push with a span of their own: a push to a million makes a few.
//!
//! The first deliveries on this node count. A push is forgotten when many newer ones were sent; one
//! that is still delivered then may get its spans again.

use std::collections::{HashMap, VecDeque};

use stadium_state_machine::TraceContext;

/// Traced pushes that are remembered: about 100 KB, and more than one server sends in the seconds in
/// which connected devices get them.
const PUSHES_MAX: usize = 1_024;

/// Deliveries that had a span, by push.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    given: HashMap<TraceContext, u32>,
    oldest_first: VecDeque<TraceContext>,
}

impl Budget {
    /// Takes so many spans of a push if they are left; returns how many it may have.
    pub(crate) fn take(&mut self, push: TraceContext, wanted: u32, max: u32) -> u32 {
        if let Some(given) = self.given.get_mut(&push) {
            let taken = wanted.min(max.saturating_sub(*given));
            *given += taken;
            return taken;
        }
        if self.oldest_first.len() >= PUSHES_MAX
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.given.remove(&oldest);
        }
        let taken = wanted.min(max);
        self.given.insert(push, taken);
        self.oldest_first.push_back(push);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(number: u64) -> TraceContext {
        TraceContext { trace_id: [1; 16], span_id: number.to_be_bytes(), flags: 1 }
    }

    #[test]
    fn a_push_gets_so_many_spans_and_no_more() {
        let mut budget = Budget::default();
        assert_eq!(budget.take(push(1), 10, 16), 10);
        assert_eq!(budget.take(push(1), 10, 16), 6);
        assert_eq!(budget.take(push(1), 1, 16), 0);
        assert_eq!(budget.take(push(2), 1, 16), 1);
    }

    #[test]
    fn the_oldest_push_is_forgotten() {
        let mut budget = Budget::default();
        for number in 1..=PUSHES_MAX as u64 + 1 {
            assert_eq!(budget.take(push(number), 16, 16), 16);
        }
        assert_eq!(budget.given.len(), PUSHES_MAX);
        assert_eq!(budget.take(push(2), 1, 16), 0);
        assert_eq!(budget.take(push(1), 1, 16), 1);
    }
}
