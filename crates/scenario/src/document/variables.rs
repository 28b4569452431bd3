//! The variables of a scenario: their names, their slots, and which of them a session can see.
//!
//! A name is one slot in the whole scenario. A session sees scenario-wide variables, columns of tables and what its own
//! steps set: what only another session sets would always be null in it, so naming that is a mistake.

use std::collections::{BTreeSet, HashMap};

use crate::expression::Names;
use crate::mistake::nearest;
use crate::program::Slot;
use crate::value::Value;

/// All variables.
#[derive(Default)]
pub(super) struct Variables {
    pub(super) names: Vec<String>,
    pub(super) initial: Vec<Value>,
    by_name: HashMap<String, Slot>,
    /// Those that every session sees.
    everywhere: BTreeSet<Slot>,
    /// Those that the session sees beside them.
    here: BTreeSet<Slot>,
    /// Whether all are seen, as by headers of targets.
    sees_all: bool,
    /// Those that were named since this was last taken.
    used: BTreeSet<Slot>,
}

impl Variables {
    /// The slot of a name, made where there is none. `None`: there are too many.
    fn declare(&mut self, name: &str) -> Option<Slot> {
        if let Some(slot) = self.by_name.get(name) {
            return Some(*slot);
        }
        let slot = Slot(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.to_owned());
        self.initial.push(Value::Null);
        self.by_name.insert(name.to_owned(), slot);
        Some(slot)
    }

    pub(super) fn declare_everywhere(&mut self, name: &str) -> Option<Slot> {
        let slot = self.declare(name)?;
        self.everywhere.insert(slot);
        Some(slot)
    }

    pub(super) fn declare_here(&mut self, name: &str) -> Option<Slot> {
        let slot = self.declare(name)?;
        self.here.insert(slot);
        Some(slot)
    }

    /// A variable that no text can name.
    pub(super) fn hidden(&mut self, what: &str) -> Option<Slot> {
        let name = format!("({what} {})", self.names.len());
        self.declare(&name)
    }

    /// Begins another session.
    pub(super) fn enter(&mut self) {
        self.here.clear();
        self.used.clear();
        self.sees_all = false;
    }

    /// From here on all variables are seen.
    pub(super) fn see_all(&mut self) {
        self.used.clear();
        self.sees_all = true;
    }

    pub(super) fn take_used(&mut self) -> BTreeSet<Slot> {
        std::mem::take(&mut self.used)
    }

    fn is_seen(&self, slot: Slot) -> bool {
        self.sees_all || self.everywhere.contains(&slot) || self.here.contains(&slot)
    }

    /// Whether there is a variable of that name.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Whether the name is that of a variable which this session does not see.
    pub(super) fn is_elsewhere(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|slot| !self.is_seen(*slot))
    }
}

impl Names for Variables {
    fn slot(&mut self, name: &str) -> Option<Slot> {
        let slot = *self.by_name.get(name)?;
        if !self.is_seen(slot) {
            return None;
        }
        self.used.insert(slot);
        Some(slot)
    }

    fn suggestion(&self, name: &str) -> Option<String> {
        let seen = self.by_name.iter().filter(|(_, slot)| self.is_seen(**slot));
        let mut names: Vec<&str> =
            seen.map(|(name, _)| name.as_str()).filter(|name| is_nameable(name)).collect();
        names.sort_unstable();
        nearest(name, names).map(str::to_owned)
    }
}

fn is_nameable(name: &str) -> bool {
    !name.starts_with('(')
}

/// Whether a variable may be called so: letters, digits, `_`, not a digit first, not a word of expressions.
pub(super) fn is_name(name: &str) -> bool {
    let word = |at: char| at.is_ascii_alphanumeric() || at == '_';
    let first = |at: char| at.is_ascii_alphabetic() || at == '_';
    name.starts_with(first)
        && name.chars().all(word)
        && !["and", "or", "not", "true", "false", "null"].contains(&name)
}
