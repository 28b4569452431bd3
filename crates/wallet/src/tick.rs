//! Work that falls due: holds that expire, transactions whose prepare timed out, seals.

use crate::chain::UNSEALED_MAX;
use crate::events::Event;
use crate::{Ledger, Record, Time};

/// What time brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// More is due now than fitted: call again.
    pub more: bool,
}

impl Ledger {
    /// Does the work that is due: holds that expire, transactions whose prepare timed out, seals.
    /// Writes about `events_max` events, at least one where something is due.
    pub fn tick(&mut self, at: u64, now: Time, record: &mut Record, events_max: u32) -> Ticked {
        self.now = self.now.max(now);
        let mut writer = self.writer(record, at, now);
        let events_max = u64::from(events_max.max(1));
        let mut more = false;
        while let Some(&(expires, place)) = self.expiries.first()
            && expires <= self.now
        {
            if writer.events() >= events_max {
                more = true;
                break;
            }
            let hold = self.holds.at(place).id;
            self.emit(&mut writer, &Event::Expired { hold });
        }
        more |= self.abort_timed_out(&mut writer, events_max);
        let is_due = self.chain.deadline(self.bounds.seal_after).is_some_and(|at| at <= self.now);
        let mut seals = 0;
        if is_due || self.chain.tree.leaves() >= UNSEALED_MAX {
            let (number, records, root) = self.chain.seal();
            self.emit(&mut writer, &Event::Seal { number, records, root });
            seals = 1;
        }
        self.close(writer, seals);
        self.order_new();
        Ticked { more }
    }

    /// When time brings something next.
    pub fn next_deadline(&self) -> Option<Time> {
        let expires = self.expiries.first().map(|&(expires, _)| expires);
        [expires, self.prepare_deadline(), self.chain.deadline(self.bounds.seal_after)]
            .into_iter()
            .flatten()
            .min()
    }
}
