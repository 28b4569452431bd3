//! Storms: a share of the devices loses its connections, at once or over a window, and comes back.
//!
//! The swarm's head gives the time; each loop cuts its own. Connections are reset, so that the
//! broker knows at once.

use super::device::{Ending, Phase};
use super::driver::Driver;
use crate::engine::order::{Cut, Io};
use crate::swarm::tally::Storm;
use crate::swarm::time::Dice;

/// How a device remembers its storm: the number modulo 255, and one, so that zero is none.
fn mark(number: u32) -> u8 {
    (number % 255) as u8 + 1
}

impl Driver {
    /// Cuts those that a storm hits now, and plans the others.
    pub(super) fn begin_storm(&mut self, io: &mut Io, cut: Cut) {
        self.storm = cut.number;
        self.storms.insert(cut.number, Storm { cut_ns: cut.at_ns, ..Storm::default() });
        let what = Dice::STORMS + 2 * u64::from(cut.number);
        let share = f64::from(cut.share_ppm) / 1e6;
        self.to_cut.clear();
        for slot in 0..self.devices.len() as u32 {
            let nth = self.share.nth(slot);
            if self.is_broadcaster(slot)
                || self.device(slot).phase != Phase::Up
                || self.dice.draw(nth, what) >= share
            {
                continue;
            }
            let after_ms = cut.over_ms as f64 * self.dice.draw(nth, what + 1);
            self.to_cut.push((cut.at_ns + (after_ms * 1e6) as u64, slot));
        }
        // The next one is the last.
        self.to_cut.sort_unstable_by(|one, other| other.cmp(one));
        self.cut_due(io, cut.at_ns);
    }

    /// Cuts the devices whose time has come.
    pub(super) fn cut_due(&mut self, io: &mut Io, now_ns: u64) {
        while let Some((due_ns, slot)) = self.to_cut.pop_if(|(due_ns, _)| *due_ns <= now_ns) {
            if self.device(slot).phase != Phase::Up || self.device(slot).ending != Ending::Theirs {
                continue;
            }
            self.storm_ns = due_ns;
            self.storms.entry(self.storm).or_default().cut += 1;
            self.device(slot).cut = mark(self.storm);
            self.abort(io, slot, Ending::Storm);
        }
    }

    /// When the next device is cut.
    pub(super) fn cut_ns(&self) -> Option<u64> {
        self.to_cut.last().map(|(due_ns, _)| *due_ns)
    }

    /// A device that a storm had cut is up again.
    pub(super) fn back_from_storm(&mut self, slot: u32, now_ns: u64) {
        let cut = std::mem::take(&mut self.device(slot).cut);
        if cut == 0 {
            return;
        }
        let since = (u32::from(mark(self.storm)) + 255 - u32::from(cut)) % 255;
        let storm = self.storms.entry(self.storm.saturating_sub(since)).or_default();
        storm.back += 1;
        storm.last_back_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_knows_which_storm_it_was() {
        for (storm, cut_in) in [(1, 1), (3, 1), (255, 254), (256, 255), (300, 290), (510, 256)] {
            let since = (u32::from(mark(storm)) + 255 - u32::from(mark(cut_in))) % 255;
            assert_eq!(storm - since, cut_in, "cut in {cut_in}, back in {storm}");
            assert_ne!(mark(cut_in), 0);
        }
    }
}
