//! The contract, as text of Protocol Buffers: written by the tables of the types.

use std::any::type_name;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use crate::value::Field;

/// Messages and enums in the order in which they were begun.
#[derive(Default)]
pub(crate) struct Schema {
    /// The type of each name that is defined, or is about to be.
    types: BTreeMap<String, &'static str>,
    blocks: BTreeMap<String, String>,
    text: String,
}

/// A field whose type follows from its use.
pub(crate) struct Probe<F>(PhantomData<F>);

impl<F: Field> Probe<F> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }

    /// Only for the compiler, which learns the type here.
    pub(crate) fn value(&self) -> F {
        unreachable!("it is not called")
    }

    pub(crate) fn schema(&self, all: &mut Schema) -> String {
        F::schema(all)
    }
}

impl Schema {
    pub(crate) fn text(self) -> String {
        self.text
    }

    /// The type `T` under a name, defined once. Returns the name.
    pub(crate) fn define<T>(&mut self, name: &str, define: impl FnOnce(&mut Self)) -> String {
        match self.types.insert(name.to_owned(), type_name::<T>()) {
            None => define(self),
            Some(other) => assert_eq!(other, type_name::<T>(), "{name} is the name of one type"),
        }
        name.to_owned()
    }

    /// Adds a message, unless it is there.
    pub(crate) fn message(&mut self, name: &str, fields: &[(u32, &str, String)]) -> String {
        let lines = fields.iter().map(|(tag, field, kind)| format!("  {kind} {field} = {tag};"));
        self.block("message", name, lines.collect())
    }

    /// Adds a message without fields, unless it is there.
    pub(crate) fn empty(&mut self, name: &str) -> String {
        self.message(name, &[])
    }

    /// Adds a message of which one field is there.
    pub(crate) fn oneof(&mut self, name: &str, cases: &[(u32, &str, String)]) -> String {
        let cases = cases.iter().map(|(tag, case, kind)| format!("    {kind} {} = {tag};", snake(case)));
        let lines = ["  oneof case {".to_owned()].into_iter().chain(cases).chain(["  }".to_owned()]);
        self.block("message", name, lines.collect())
    }

    /// Adds an enum.
    pub(crate) fn enumeration(&mut self, name: &str, cases: &[(u64, &str)]) {
        let prefix = snake(name).to_uppercase();
        let none = format!("  {prefix}_UNSPECIFIED = 0;");
        let cases = cases.iter().map(|(number, case)| {
            let case = snake(case).to_uppercase();
            format!("  {prefix}_{case} = {number};")
        });
        self.block("enum", name, [none].into_iter().chain(cases).collect());
    }

    fn block(&mut self, what: &str, name: &str, lines: Vec<String>) -> String {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let open = if lines.is_empty() { "" } else { "\n" };
        let block = format!("\n{what} {name} {{{open}{lines}}}\n");
        match self.blocks.insert(name.to_owned(), block.clone()) {
            None => self.text.push_str(&block),
            Some(other) => assert_eq!(other, block, "{name} is the name of one type"),
        }
        name.to_owned()
    }

    /// A type as a part of another one's name.
    pub(crate) fn in_names(kind: &str) -> String {
        let words = kind.split(' ').map(|word| word[..1].to_uppercase() + &word[1..]);
        words.collect()
    }
}

/// `LeaseExpired` as `lease_expired`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}
