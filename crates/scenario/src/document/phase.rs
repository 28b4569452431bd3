//! Phases: which users come when, and what they do.
//!
//! Sessions are known when phases are read: a mix names them.

use super::Builder;
use super::reader::{Fields, Item};
use super::shape::{self, NUMBER_MAX};
use crate::mistake::{Mistake, nearest};
use crate::program::{Arrivals, Phase, Spacing};

impl<'a> Builder<'a, '_> {
    pub(super) fn phases(&mut self, fields: &Fields<'a>) -> Vec<Phase> {
        let Some(item) = fields.item("phases") else {
            return Vec::new();
        };
        let mut phases = Vec::new();
        for (number, item) in self.reader.list(item).iter().enumerate() {
            if let Some(fields) = self.reader.fields(item, &shape::PHASE) {
                phases.push(self.phase(number, &fields));
            }
        }
        phases
    }

    fn phase(&mut self, number: usize, fields: &Fields<'a>) -> Phase {
        let name = fields.item("name").and_then(|item| self.reader.text(item));
        let duration_ns = fields.item("duration").and_then(|item| {
            let ns = self.reader.duration(item)?;
            if ns == 0 {
                self.reader.problem(item.span(), "a phase of no time");
            }
            Some(ns)
        });
        let spacings = [("constant", Spacing::Constant), ("poisson", Spacing::Poisson)];
        let spacing = fields.item("spacing").and_then(|item| self.reader.word(item, &spacings));
        let arrivals = match (fields.item("rate"), fields.item("users")) {
            (Some(_), Some(users)) => {
                self.reader.note(
                    Mistake::new(users.span(), "a phase has a rate or users, not both")
                        .hint("`rate`: users come so often, whatever became of those before; `users`: so many are there"),
                );
                Arrivals::None
            }
            (Some(rate), None) => {
                let (from, to) = self.ramp(rate);
                Arrivals::Open { from, to, spacing: spacing.unwrap_or(Spacing::Constant) }
            }
            (None, Some(users)) => {
                let (from, to) = self.ramp(users);
                Arrivals::Closed { from, to }
            }
            (None, None) => Arrivals::None,
        };
        if let Some(item) = fields.item("spacing").filter(|_| fields.item("rate").is_none()) {
            self.reader.problem(item.span(), "`spacing` belongs to a `rate`");
        }
        if let Some((_, item)) = fields.first(&["rate", "users"])
            && self.session_names.is_empty()
        {
            self.reader.problem(item.span(), "users come, but there is no session that they could do");
        }
        let mut mix: Vec<f64> = self.session_names.iter().map(|(_, weight)| *weight).collect();
        if let Some(item) = fields.item("mix") {
            mix.fill(0.0);
            for entry in self.reader.map(item) {
                let weight = self.reader.number(entry.item, 0.0..=NUMBER_MAX).unwrap_or(0.0);
                match self.session_names.iter().position(|(name, _)| *name == entry.key) {
                    Some(session) => mix[session] = weight,
                    None => self.no_session(entry.key, entry.at),
                }
            }
        }
        if arrivals != Arrivals::None && !mix.is_empty() && mix.iter().sum::<f64>() <= 0.0 {
            let at = fields.item("mix").map_or(fields.at.clone(), |item| item.span());
            self.reader.problem(at, "all weights are zero: users would have nothing to do");
        }
        Phase {
            name: name.map_or_else(|| format!("phase {}", number + 1), str::to_owned),
            duration_ns: duration_ns.unwrap_or(0),
            arrivals,
            measured: fields.item("measured").and_then(|item| self.reader.bool(item)).unwrap_or(true),
            mix,
        }
    }

    /// A number, or from one to another.
    fn ramp(&mut self, item: &'a Item<'a>) -> (f64, f64) {
        if !item.get_ref().is_table() {
            let number = self.reader.number(item, 0.0..=NUMBER_MAX).unwrap_or(0.0);
            return (number, number);
        }
        let Some(fields) = self.reader.fields(item, &shape::RAMP) else {
            return (0.0, 0.0);
        };
        let mut end = |key| fields.item(key).and_then(|item| self.reader.number(item, 0.0..=NUMBER_MAX));
        (end("from").unwrap_or(0.0), end("to").unwrap_or(0.0))
    }

    fn no_session(&mut self, name: &str, at: std::ops::Range<usize>) {
        let mistake = Mistake::new(at, format!("there is no session `{name}`"));
        let known = self.session_names.iter().map(|(name, _)| *name);
        self.reader.note(match nearest(name, known) {
            Some(near) => mistake.hint(format!("did you mean `{near}`?")),
            None => mistake,
        });
    }
}
