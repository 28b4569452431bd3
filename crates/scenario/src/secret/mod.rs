//! Secrets of a run: which values are secret, and texts without them.
//!
//! A value is secret where the scenario declares it (`[secrets]`), where its name does
//! ([`is_secret_name`]), or where it looks like one (`Bearer ...`, an API key, a JWT, the user part
//! of a URL, a private key). [`Secrets`] replaces all of them with [`HIDDEN`]. Code that shows or
//! keeps a text of a run passes it through here first.
//!
//! Values that are known are found anywhere. Shorter ones than [`KNOWN_CHARS_MIN`] are found by their name and place only.

mod command;
mod name;
mod scenario;
mod shape;

use std::fmt;

use crate::encode;
use crate::program::Program;
use crate::value::Value;

pub use name::is_secret_name;

/// What stands in the place of a secret.
pub const HIDDEN: &str = "<secret>";

/// Characters from which on a declared secret is replaced wherever it occurs.
///
/// A shorter one occurs in every report by chance: replacing it would spoil the report and so
/// reveal it.
pub const KNOWN_CHARS_MIN: usize = 4;

/// The same for values that only their name makes secret, which more often are ordinary words.
const NAMED_CHARS_MIN: usize = 6;

/// The secrets of a run. [`Secrets::default`] knows no values and still hides by name and by look.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The values in every spelling in which they may occur, the longest first.
    values: Vec<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

impl Secrets {
    /// The secrets of a program as it is: declared ones, variables with a secret name, and what its text holds under a
    /// secret name.
    pub fn of(program: &Program) -> Secrets {
        let mut secrets = Secrets::default();
        for (slot, value) in program.initial.iter().enumerate() {
            let is_declared = program.secrets.iter().any(|secret| usize::from(secret.slot.0) == slot);
            if let Value::Text(text) = value {
                if is_declared {
                    secrets.add(text, KNOWN_CHARS_MIN);
                } else if program.variables.get(slot).is_some_and(|name| is_secret_name(name)) {
                    secrets.add(text, NAMED_CHARS_MIN);
                }
            }
        }
        for literal in scenario::literals(&program.text) {
            secrets.add(&literal, NAMED_CHARS_MIN);
        }
        secrets.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.values.dedup();
        secrets
    }

    fn add(&mut self, value: &str, chars_min: usize) {
        if value.trim().chars().count() < chars_min {
            return;
        }
        let mut spellings = vec![value.to_owned(), value.trim().to_owned()];
        let mut bytes = Vec::new();
        encode::json_text(value.as_bytes(), &mut bytes);
        spellings.push(String::from_utf8_lossy(&bytes).into_owned());
        bytes.clear();
        encode::percent(value.as_bytes(), &mut bytes);
        spellings.push(String::from_utf8_lossy(&bytes).into_owned());
        // As `{:?}` writes it, in the messages of errors.
        let quoted = format!("{value:?}");
        spellings.push(quoted[1..quoted.len() - 1].to_owned());
        self.values.extend(spellings);
    }

    /// A text of any kind without secrets: known values, what follows a secret name, what looks like a secret.
    pub fn text(&self, text: &str) -> String {
        shape::hide(&self.known(text))
    }

    /// A scenario without secrets. It stays a scenario that can be read.
    pub fn scenario(&self, text: &str) -> String {
        self.known(&scenario::hide(text))
    }

    /// A command line without secrets: values of flags and variables with secret names as well.
    pub fn command(&self, words: &[String]) -> Vec<String> {
        command::hide(words, &|text| self.text(text))
    }

    /// The text without the values that are known.
    pub fn known(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), HIDDEN);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests;
