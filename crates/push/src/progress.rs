//! What becomes of deliveries: steps from the edge are sifted, written in one event, and counted.
//!
//! Whether a step counts depends on what is owed, which is durable; only whether something was sent on the connection that the device has now is not.

use std::borrow::Cow;

use stadium_state_machine::Record;

use crate::events::{Event, Taken};
use crate::feed::Kind;
use crate::figures::Noted;
use crate::log::{Logged, PIECE_BYTES, Piece, What};
use crate::outcome::Outcome;
use crate::platform::{Platform, Spot};
use crate::single::Click;
use crate::{ClickAction, ConnectionName, Happened, Step, Time};

/// So long a connection that took nothing is left alone.
const HELD_BACK: u64 = 5_000;

impl Platform {
    /// Takes in steps of deliveries from the edge.
    pub(crate) fn progress(&mut self, now: Time, steps: &[Step], record: &mut Record) {
        let mut taken = Vec::with_capacity(steps.len());
        for step in steps {
            let Some(spot) = self.find_number(step.push) else { continue };
            let what = match step.what {
                Happened::Sent => What::Sent,
                Happened::Acknowledged => What::Acknowledged,
                Happened::Refused => What::Refused,
                Happened::TooLarge => What::TooLarge,
                Happened::Returned => {
                    if !self.returned(now, spot, step) || self.qos_of(spot) > 0 {
                        continue;
                    }
                    What::Lost
                }
            };
            let counts = match what {
                What::Sent => self.is_in_flight(spot, step.slot) && self.is_connected(spot, step),
                _ => self.is_owed(spot, step.slot),
            };
            if counts {
                let at = step.at.min(now);
                let (push, slot, connection) = (step.push, step.slot, step.connection);
                taken.push(Taken { push, slot, what, at, connection, action: None });
            }
        }
        if !taken.is_empty() {
            self.emit(now, record, &Event::Steps(Cow::Borrowed(&taken)));
            taken.iter().for_each(|step| self.note_step(step));
        }
    }

    /// Sends feeds the outcome of a delivery.
    pub(crate) fn note_step(&mut self, step: &Taken) {
        let Some(spot) = self.find_number(step.push) else { return };
        let kind = match step.what {
            What::Acknowledged => Kind::Delivered,
            What::Sent if self.qos_of(spot) == 0 => Kind::Delivered,
            What::Refused | What::TooLarge => Kind::Refused,
            What::Opened => Kind::Opened,
            What::Clicked => Kind::Clicked,
            What::Lost => Kind::Expired,
            What::Sent => return,
        };
        let (app, push) = self.name_at(spot);
        let action = step.action.as_deref().map(ClickAction::as_str);
        self.note_about(app, step.slot, Noted { kind, push: Some(push), action, at: step.at });
    }

    /// Writes that deliveries at most once have expired whose connection ended before they were
    /// sent, so many at most. Returns whether there were any.
    pub(crate) fn write_lost(&mut self, now: Time, record: &mut Record, at_most: usize) -> bool {
        let mut taken = Vec::new();
        while taken.len() < at_most
            && let Some((push, slot)) = self.lost.pop_first()
        {
            if self.find_number(push).is_some_and(|spot| self.is_owed(spot, slot)) {
                let connection = ConnectionName::default();
                taken.push(Taken { push, slot, what: What::Lost, at: now, connection, action: None });
            }
        }
        if taken.is_empty() {
            return false;
        }
        self.emit(now, record, &Event::Steps(Cow::Borrowed(&taken)));
        taken.iter().for_each(|step| self.note_step(step));
        true
    }

    /// Whether somebody is owed that push, which goes at most once.
    pub(crate) fn is_open_at_most_once(&self, number: u64) -> bool {
        match self.find_number(number) {
            Some(Spot::Single(place)) => {
                let single = self.singles.at(place);
                single.qos == 0 && single.outcome.is_open()
            }
            Some(Spot::Many(place)) => {
                let many = self.many(place);
                many.push.options.qos == 0 && many.is_open()
            }
            None => false,
        }
    }

    fn qos_of(&self, spot: Spot) -> u8 {
        match spot {
            Spot::Single(place) => self.singles.at(place).qos,
            Spot::Many(place) => self.many(place).push.options.qos,
        }
    }

    fn is_owed(&self, spot: Spot, slot: u32) -> bool {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                single.slot == slot && single.outcome == Outcome::Owed
            }
            Spot::Many(place) => self.many(place).sets[Outcome::Owed].contains(slot),
        }
    }

    fn is_in_flight(&self, spot: Spot, slot: u32) -> bool {
        match spot {
            Spot::Single(place) => {
                let single = self.singles.at(place);
                single.slot == slot && single.in_flight
            }
            Spot::Many(place) => self.many(place).in_flight.contains(slot),
        }
    }

    fn is_connected(&self, spot: Spot, step: &Step) -> bool {
        let (app, _) = self.name_at(spot);
        let connection = self.apps.get(&app).and_then(|app| app.connections.get(&step.slot));
        connection.is_some_and(|connection| connection.name == step.connection)
    }

    /// It came back from the edge: the device is owed it still, and its connection is left alone
    /// for a while. Returns whether it was in flight.
    fn returned(&mut self, now: Time, spot: Spot, step: &Step) -> bool {
        if !self.is_in_flight(spot, step.slot) || !self.is_connected(spot, step) {
            return false;
        }
        match spot {
            Spot::Single(place) => self.singles.at_mut(place).in_flight = false,
            Spot::Many(place) => {
                self.many_mut(place).in_flight.remove(step.slot);
            }
        }
        self.counted.returned += 1;
        let (app_number, _) = self.name_at(spot);
        if let Some(app) = self.apps.get_mut(&app_number) {
            if let Some(connection) = app.connections.get_mut(&step.slot) {
                if connection.in_flight > 0 {
                    connection.in_flight -= 1;
                    self.counted.in_flight -= 1;
                }
                connection.more = true;
            }
            if app.reading.remove(step.slot) {
                self.held_back.insert((now.after(HELD_BACK), app_number, step.slot));
            }
        }
        true
    }

    /// A step that counts. A repeated step changes nothing.
    pub(crate) fn take_step(&mut self, now: Time, step: &Taken) {
        match self.find_number(step.push) {
            Some(Spot::Single(place)) => self.step_of_single(now, place, step),
            Some(Spot::Many(place)) => self.step_of_many(now, place, step),
            None => {}
        }
    }

    fn step_of_single(&mut self, now: Time, place: u32, step: &Taken) {
        let single = self.singles.at_mut(place);
        if single.slot != step.slot {
            return;
        }
        let (after, open) = (single.after(step.at), single.outcome.is_open());
        match step.what {
            What::Sent if open => {
                single.sent_after = after;
                single.connection = step.connection;
                if single.qos == 0 {
                    self.end_single(now, place, Outcome::Delivered);
                }
            }
            What::Acknowledged if open => {
                single.acknowledged_after = after;
                self.end_single(now, place, Outcome::Delivered);
            }
            What::Refused if open => self.end_single(now, place, Outcome::Refused),
            What::TooLarge if open => self.end_single(now, place, Outcome::TooLarge),
            What::Lost if open && single.qos == 0 => self.end_single(now, place, Outcome::Expired),
            What::Opened => {
                single.opened_after = single.opened_after.min(after);
                if open {
                    self.end_single(now, place, Outcome::Delivered);
                }
            }
            What::Clicked if single.click.is_none() => {
                let action = step.action.as_deref().cloned();
                single.click = Some(Box::new(Click { after, action }));
            }
            _ => {}
        }
    }

    fn step_of_many(&mut self, now: Time, place: u32, step: &Taken) {
        let slot = step.slot;
        let many = self.many_mut(place);
        let Some(started_at) = many.started_at else { return };
        let after = step.at.0.saturating_sub(started_at.0);
        let qos = many.push.options.qos;
        let mut action = 0;
        let counts = match step.what {
            What::Sent if many.sets[Outcome::Owed].contains(slot) => {
                many.sent.count(after);
                if let Some(sample) = many.sample(step.at) {
                    sample.sent += 1;
                }
                if qos == 0 {
                    self.end_one(now, place, slot, Outcome::Delivered);
                }
                true
            }
            What::Acknowledged if self.end_one(now, place, slot, Outcome::Delivered) => {
                let many = self.many_mut(place);
                many.acknowledged.count(after);
                if let Some(sample) = many.sample(step.at) {
                    sample.acknowledged += 1;
                }
                true
            }
            What::Refused => self.end_one(now, place, slot, Outcome::Refused),
            What::TooLarge => self.end_one(now, place, slot, Outcome::TooLarge),
            What::Lost if qos == 0 => self.end_one(now, place, slot, Outcome::Expired),
            What::Opened => {
                self.end_one(now, place, slot, Outcome::Delivered);
                let many = self.many_mut(place);
                let first = many.sets[Outcome::Delivered].contains(slot) && many.opened.insert(slot);
                if first && let Some(sample) = many.sample(step.at) {
                    sample.opened += 1;
                }
                first
            }
            What::Clicked => {
                let many = self.many_mut(place);
                let first = many.opened.contains(slot) && many.clicked.insert(slot);
                if first {
                    action = many.count_action(step.action.as_deref());
                    if let Some(sample) = many.sample(step.at) {
                        sample.clicked += 1;
                    }
                }
                first
            }
            _ => false,
        };
        if counts {
            let connection = (step.what == What::Sent).then_some(step.connection);
            self.log_step(place, &Logged { what: step.what, slot, after, connection, action });
        }
    }

    fn log_step(&mut self, place: u32, step: &Logged) {
        let many = self.manies.at_mut(place).many_mut();
        let last = many.log.last().copied().filter(|&piece| self.logs.at(piece).0.len() < PIECE_BYTES);
        let piece = last.unwrap_or_else(|| {
            let piece = self.logs.insert(Piece::default());
            many.log.push(piece);
            self.logged.insert(many.number);
            piece
        });
        let bytes = self.logs.at_mut(piece).push(step) as u64;
        many.log_bytes += bytes;
        self.pushes_bytes += bytes;
    }
}
