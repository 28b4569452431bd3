//! Sessions: steps become ops with jumps.
//!
//! ```text
//! repeat:  set i = 0 ─▶ top: unless i < n jump end ─▶ steps ─▶ set i = i + 1 ─▶ jump top    end:
//! if:      unless condition jump else ─▶ then ─▶ jump end    else: ... ─▶ end:
//! ```

use std::collections::{BTreeSet, HashSet};

use toml::de::DeValue;

use super::Builder;
use super::reader::{Fields, Item, entries};
use super::shape::{self, COUNT_MAX, NUMBER_MAX};
use crate::expression::Expression;
use crate::mistake::{Mistake, nearest};
use crate::program::{Op, Pause, Session, Slot};
use crate::value::Value;

/// Ops that a session may have.
const OPS_MAX: usize = 1_000_000;

/// A session in the making.
#[derive(Default)]
pub(super) struct Flow {
    pub(super) ops: Vec<Op>,
    pub(super) names: HashSet<String>,
    pub(super) target: Option<usize>,
    pub(super) used_targets: BTreeSet<usize>,
    /// Whether something was done that takes time, since this was last cleared.
    pub(super) waits: bool,
    /// Tables that a step draws from.
    drawn: BTreeSet<usize>,
}

impl Flow {
    /// A name that no step has yet.
    pub(super) fn unique(&mut self, name: String) -> String {
        let mut candidate = name.clone();
        let mut number = 2;
        while !self.names.insert(candidate.clone()) {
            candidate = format!("{name} ({number})");
            number += 1;
        }
        candidate
    }

    fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    /// Appends a jump whose end is not known yet.
    fn jump_later(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    /// Lets a jump lead here.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.ops[jump] {
            Op::Jump(to) | Op::JumpUnless { to, .. } => *to = here,
            _ => {}
        }
    }
}

impl<'a> Builder<'a, '_> {
    pub(super) fn sessions(&mut self, fields: &Fields<'a>, headers: Vec<Option<&'a Item<'a>>>) {
        let items = fields.item("sessions").map_or(&[][..], |item| self.reader.list(item));
        let opened: Vec<Option<Fields<'a>>> =
            items.iter().map(|item| self.reader.fields(item, &shape::SESSION)).collect();
        // Headers of targets see the variables of all sessions, and sessions draw what those headers use.
        for fields in opened.iter().flatten() {
            self.variables.enter();
            self.declare_steps(fields.item("steps"));
        }
        self.target_headers(headers);
        for fields in opened.iter().flatten() {
            self.session(fields);
        }
    }

    fn session(&mut self, fields: &Fields<'a>) {
        self.variables.enter();
        self.declare_steps(fields.item("steps"));
        let name = fields.item("name").and_then(|item| self.reader.text(item)).unwrap_or("");
        let weight = fields.item("weight").and_then(|item| self.reader.number(item, 0.0..=NUMBER_MAX));
        if self.session_names.iter().any(|(other, _)| *other == name) {
            let at = fields.item("name").map_or(fields.at.clone(), |item| item.span());
            self.reader.problem(at, format!("two sessions are called `{name}`"));
        }
        self.session_names.push((name, weight.unwrap_or(1.0)));
        let mut flow = Flow {
            target: fields.item("target").and_then(|item| self.named_target(item)),
            ..Flow::default()
        };
        let mut draws: BTreeSet<usize> = BTreeSet::new();
        if let Some(item) = fields.item("draw") {
            draws.extend(self.table_names(item));
        }
        if let Some(item) = fields.item("steps") {
            let steps = self.reader.list(item);
            if steps.is_empty() {
                self.reader.problem(item.span(), format!("the session `{name}` has no steps"));
            }
            self.steps(steps, &mut flow);
            if flow.ops.len() > OPS_MAX {
                self.reader.problem(item.span(), format!("more than {OPS_MAX} steps"));
            }
        }
        let used = self.variables.take_used();
        let mut needed: BTreeSet<usize> = self.tables_of(&used).into_iter().collect();
        needed.extend(flow.used_targets.iter().flat_map(|target| self.target_draws[*target].iter().copied()));
        draws.extend(needed.difference(&flow.drawn));
        let ops = prepend(draws.into_iter().map(|table| Op::Draw { table }).collect(), flow.ops);
        self.sessions.push(Session { name: name.to_owned(), ops });
    }

    /// The tables whose columns are among these variables.
    pub(super) fn tables_of(&self, used: &BTreeSet<Slot>) -> Vec<usize> {
        let is_used = |table: usize| self.tables[table].columns.iter().any(|slot| used.contains(slot));
        (0..self.tables.len()).filter(|table| is_used(*table)).collect()
    }

    /// Makes the variables that steps extract, set and count with, so that they can be named before.
    fn declare_steps(&mut self, item: Option<&'a Item<'a>>) {
        let Some(DeValue::Array(items)) = item.map(toml::Spanned::get_ref) else {
            return;
        };
        for item in items {
            let DeValue::Table(table) = item.get_ref() else { continue };
            for entry in entries(table) {
                match entry.key {
                    "extract" | "set" => {
                        let DeValue::Table(names) = entry.item.get_ref() else { continue };
                        for name in entries(names) {
                            let is_column = self
                                .tables
                                .iter()
                                .any(|table| name.key.starts_with(&format!("{}.", table.name)));
                            if (is_column || self.is_variable(name.key, &name.at))
                                && self.variables.declare_here(name.key).is_none()
                            {
                                self.too_many_variables(name.at);
                                return;
                            }
                        }
                    }
                    "index" => {
                        let Some(name) = entry.item.get_ref().as_str() else { continue };
                        if self.is_variable(name, &entry.item.span()) {
                            self.variables.declare_here(name);
                        }
                    }
                    "steps" | "then" | "else" => self.declare_steps(Some(entry.item)),
                    "choose" => {
                        let DeValue::Array(branches) = entry.item.get_ref() else { continue };
                        for branch in branches {
                            self.declare_steps(branch.get_ref().get("steps"));
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn steps(&mut self, items: &'a [Item<'a>], flow: &mut Flow) {
        for item in items {
            if let Some(fields) = self.reader.one_of(item, "a step", shape::STEP_TABLES) {
                self.step(&fields, flow);
            }
        }
    }

    fn step(&mut self, fields: &Fields<'a>, flow: &mut Flow) {
        let Some((mark, item)) = fields.first(fields.marks()) else {
            return;
        };
        match mark {
            "think" => {
                if let Some(pause) = self.pause(item) {
                    flow.waits = true;
                    flow.ops.push(Op::Think(pause));
                }
            }
            "pace" => {
                if let Some(ns) = self.reader.duration(item) {
                    flow.waits |= ns > 0;
                    flow.ops.push(Op::Pace(ns));
                }
            }
            "repeat" => self.repeat(item, fields, flow),
            "while" => {
                let condition = self.expression(item);
                let top = flow.here();
                let out =
                    flow.jump_later(Op::JumpUnless { condition: condition.unwrap_or_else(always), to: 0 });
                self.nested(fields.item("steps"), flow);
                flow.ops.push(Op::Jump(top));
                flow.land(out);
            }
            "if" => {
                let condition = self.expression(item);
                let otherwise =
                    flow.jump_later(Op::JumpUnless { condition: condition.unwrap_or_else(always), to: 0 });
                self.nested(fields.item("then"), flow);
                if let Some(steps) = fields.item("else") {
                    let out = flow.jump_later(Op::Jump(0));
                    flow.land(otherwise);
                    self.nested(Some(steps), flow);
                    flow.land(out);
                } else {
                    flow.land(otherwise);
                }
            }
            "choose" => self.choose(item, flow),
            "set" => {
                for entry in self.reader.map(item) {
                    let value = self.expression_or_constant(entry.item);
                    let slot = self.variables.declare_here(entry.key);
                    if let (Some(slot), Some(value)) = (slot, value) {
                        flow.ops.push(Op::Set { slot, value });
                    }
                }
            }
            "draw" => {
                for table in self.table_names(item) {
                    flow.drawn.insert(table);
                    flow.ops.push(Op::Draw { table });
                }
            }
            "end" => {
                if let Some(failed) = self.reader.word(item, &[("ok", false), ("failed", true)]) {
                    flow.ops.push(Op::End { failed });
                }
            }
            mark => self.sending(mark, item, fields, flow),
        }
    }

    fn nested(&mut self, item: Option<&'a Item<'a>>, flow: &mut Flow) {
        if let Some(item) = item {
            let items = self.reader.list(item);
            self.steps(items, flow);
        }
    }

    fn repeat(&mut self, item: &'a Item<'a>, fields: &Fields<'a>, flow: &mut Flow) {
        let is_forever = item.get_ref().as_str() == Some("forever");
        let limit = match item.get_ref() {
            _ if is_forever => None,
            DeValue::String(_) => self.expression(item),
            _ => {
                let count = self.reader.whole(item, 0..=COUNT_MAX);
                count.map(|count| Expression::constant(Value::Number(count as f64)))
            }
        };
        let index = fields.item("index").and_then(|item| self.reader.text(item));
        let counter = match index {
            Some(name) => self.variables.declare_here(name),
            None if is_forever => None,
            None => self.variables.hidden("rounds"),
        };
        if counter.is_none() && !is_forever {
            return self.too_many_variables(item.span());
        }
        if let Some(slot) = counter {
            flow.ops.push(Op::Set { slot, value: Expression::constant(Value::Number(0.0)) });
        }
        // What is not a literal is computed once, before the first round.
        let limit = match limit {
            Some(limit) if limit.literal().is_none() => self.variables.hidden("limit").map(|slot| {
                flow.ops.push(Op::Set { slot, value: limit });
                Expression::of(slot)
            }),
            limit => limit,
        };
        let waited = std::mem::take(&mut flow.waits);
        let top = flow.here();
        let out = match (limit, counter) {
            (Some(limit), Some(slot)) => {
                Some(flow.jump_later(Op::JumpUnless { condition: Expression::below(slot, limit), to: 0 }))
            }
            _ => None,
        };
        self.nested(fields.item("steps"), flow);
        if is_forever && !flow.waits && !self.reader.has_problems() {
            self.reader.note(
                Mistake::new(item.span(), "this repeats for ever and takes no time")
                    .hint("it needs a step that sends something, or `think`"),
            );
        }
        flow.waits |= waited;
        if let Some(slot) = counter {
            flow.ops.push(Op::Set { slot, value: Expression::next(slot) });
        }
        match out {
            Some(out) => {
                flow.ops.push(Op::Jump(top));
                flow.land(out);
            }
            None => flow.ops.push(Op::Again(top)),
        }
    }

    fn choose(&mut self, item: &'a Item<'a>, flow: &mut Flow) {
        let at = flow.jump_later(Op::Choose(Vec::new()));
        let mut branches = Vec::new();
        let mut outs = Vec::new();
        for branch in self.reader.list(item) {
            let Some(fields) = self.reader.fields(branch, &shape::BRANCH) else {
                continue;
            };
            let weight = fields.item("weight").map(|item| self.reader.number(item, 0.0..=NUMBER_MAX));
            branches.push((weight.flatten().unwrap_or(1.0), flow.here()));
            self.nested(fields.item("steps"), flow);
            outs.push(flow.jump_later(Op::Jump(0)));
        }
        for out in outs {
            flow.land(out);
        }
        if branches.iter().map(|(weight, _)| weight).sum::<f64>() <= 0.0 {
            self.reader
                .problem(item.span(), "there is nothing to choose from: no branch has a weight above zero");
        }
        flow.ops[at] = Op::Choose(branches);
    }

    fn pause(&mut self, item: &'a Item<'a>) -> Option<Pause> {
        if !item.get_ref().is_table() {
            return self.reader.duration(item).map(Pause::Constant);
        }
        let fields = self.reader.fields(item, &shape::PAUSE)?;
        let given: Vec<&str> =
            shape::PAUSE.keys.iter().map(|key| key.name).filter(|key| fields.item(key).is_some()).collect();
        let mut time = |key| fields.item(key).and_then(|item| self.reader.duration(item));
        match given.as_slice() {
            ["from", "to"] => {
                let (from, to) = (time("from")?, time("to")?);
                if from > to {
                    self.reader.problem(item.span(), "`from` is longer than `to`");
                }
                Some(Pause::Uniform(from, to))
            }
            ["exponential"] => time("exponential").map(Pause::Exponential),
            ["mean", "deviation"] => Some(Pause::Normal(time("mean")?, time("deviation")?)),
            _ => {
                self.reader.note(
                    Mistake::new(item.span(), "a pause is none of those that are known")
                        .hint("a time, `{ from, to }`, `{ exponential }` or `{ mean, deviation }`"),
                );
                None
            }
        }
    }

    fn table_names(&mut self, item: &'a Item<'a>) -> Vec<usize> {
        let mut tables = Vec::new();
        for item in self.reader.list_or_one(item) {
            let Some(name) = self.reader.text(item) else {
                continue;
            };
            match self.tables.iter().position(|table| table.name == name) {
                Some(table) => tables.push(table),
                None => {
                    let mistake = Mistake::new(item.span(), format!("there is no table `{name}`"));
                    let near = nearest(name, self.tables.iter().map(|table| table.name.as_str()));
                    self.reader.note(match near {
                        Some(near) => mistake.hint(format!("did you mean `{near}`?")),
                        None => mistake.hint("tables are written `[data.NAME]`"),
                    });
                }
            }
        }
        tables
    }
}

fn always() -> Expression {
    Expression::constant(Value::Bool(true))
}

/// Ops before others, whose jumps move.
fn prepend(first: Vec<Op>, rest: Vec<Op>) -> Vec<Op> {
    let by = u32::try_from(first.len()).unwrap_or(0);
    let moved = rest.into_iter().map(|op| match op {
        Op::Jump(to) => Op::Jump(to + by),
        Op::Again(to) => Op::Again(to + by),
        Op::JumpUnless { condition, to } => Op::JumpUnless { condition, to: to + by },
        Op::Choose(branches) => {
            Op::Choose(branches.into_iter().map(|(weight, to)| (weight, to + by)).collect())
        }
        op => op,
    });
    first.into_iter().chain(moved).collect()
}
