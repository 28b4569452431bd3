//! Reads values of a TOML document by their shape, and collects what is wrong with them.
//!
//! A reader never stops at the first problem: a value that cannot be read is `None`, and a problem
//! is noted. Keys that a shape does not have are found when its table is opened.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::shape::Table;
use crate::mistake::{Mistake, nearest};
use crate::problem::Problem;
use crate::value::Value;

/// A value with its place.
pub(crate) type Item<'a> = Spanned<DeValue<'a>>;

/// One key of a table, its place, and what it holds.
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a str,
    pub(crate) at: Range<usize>,
    pub(crate) item: &'a Item<'a>,
}

/// The text, and what is wrong with it.
pub(crate) struct Reader<'a> {
    source: &'a str,
    problems: BTreeMap<(usize, usize), Mistake>,
}

/// A table whose keys were checked against its shape.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    table: &'a DeTable<'a>,
    shape: &'static Table,
    /// Where it stands.
    pub(crate) at: Range<usize>,
}

impl<'a> Fields<'a> {
    /// The value of a key, which must be one of the shape's.
    pub(crate) fn item(&self, key: &str) -> Option<&'a Item<'a>> {
        debug_assert!(
            self.shape.keys.iter().any(|known| known.name == key),
            "{} has no {key}",
            self.shape.name
        );
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, item)| item)
    }

    /// The keys by which its table is known among several.
    pub(crate) fn marks(&self) -> &'static [&'static str] {
        self.shape.marks
    }

    /// The first of these keys that is there, and its value.
    pub(crate) fn first<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, &'a Item<'a>)> {
        keys.iter().find_map(|key| self.item(key).map(|item| (*key, item)))
    }
}

/// Entries of a table in the order of the text.
pub(crate) fn entries<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> =
        table.iter().map(|(key, item)| Entry { key: key.get_ref(), at: key.span(), item }).collect();
    entries.sort_by_key(|entry| entry.at.start);
    entries
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a str) -> Reader<'a> {
        Reader { source, problems: BTreeMap::new() }
    }

    /// Notes a problem. A place has one: problems that follow from the first are not reported.
    pub(crate) fn problem(&mut self, at: Range<usize>, message: impl Into<String>) {
        self.note(Mistake::new(at, message));
    }

    pub(crate) fn note(&mut self, mistake: Mistake) {
        let place = (mistake.range.start, mistake.range.end);
        self.problems.entry(place).or_insert(mistake);
    }

    /// Notes a mistake in the text of a value.
    pub(crate) fn note_in(&mut self, item: &Item<'_>, mistake: Mistake) {
        let span = item.span();
        let written = self.source.get(span.clone()).unwrap_or("");
        let text = item.get_ref().as_str().unwrap_or("");
        // Where the text stands as it is, without escapes, the mistake's bytes are those of the document.
        let mistake = match written.find(text).filter(|_| !text.is_empty()) {
            Some(offset) => mistake.moved(span.start + offset),
            None => Mistake { range: span, ..mistake },
        };
        self.note(mistake);
    }

    pub(crate) fn problems(self) -> Vec<Problem> {
        self.problems
            .into_values()
            .map(|mistake| Problem::at(self.source, mistake.range, mistake.message, mistake.hint))
            .collect()
    }

    pub(crate) fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The line that a value is on, from 1.
    pub(crate) fn line(&self, at: usize) -> u32 {
        crate::problem::count_lines(self.source.get(..at).unwrap_or("")) + 1
    }

    fn wrong_kind(&mut self, item: &Item<'_>, wanted: &str) {
        self.problem(item.span(), format!("expected {wanted}, found {}", kind(item)));
    }

    /// Opens a table: its keys are checked.
    pub(crate) fn fields(&mut self, item: &'a Item<'a>, shape: &'static Table) -> Option<Fields<'a>> {
        let DeValue::Table(table) = item.get_ref() else {
            self.wrong_kind(item, &format!("a table ({})", shape.name));
            return None;
        };
        Some(self.fields_of(table, item.span(), shape))
    }

    pub(crate) fn fields_of(
        &mut self,
        table: &'a DeTable<'a>,
        at: Range<usize>,
        shape: &'static Table,
    ) -> Fields<'a> {
        let has = |key: &str| table.iter().any(|(name, _)| name.get_ref() == key);
        for entry in entries(table) {
            if shape.keys.iter().any(|key| key.name == entry.key) {
                continue;
            }
            let mistake = Mistake::new(entry.at, format!("unknown key `{}` in {}", entry.key, shape.name));
            let known: Vec<&str> = shape.keys.iter().map(|key| key.name).collect();
            self.note(match nearest(entry.key, known.iter().copied()) {
                Some(near) => mistake.hint(format!("did you mean `{near}`?")),
                None => mistake.hint(format!("known are {}", list(&known))),
            });
        }
        for key in shape.keys.iter().filter(|key| key.is_required && !has(key.name)) {
            let mistake = Mistake::new(at.clone(), format!("`{}` is missing in {}", key.name, shape.name));
            self.note(mistake.hint(format!("`{}`: {}", key.name, key.doc)));
        }
        Fields { table, shape, at }
    }

    /// Opens a table that is one of several, distinguished by a key that only it has.
    pub(crate) fn one_of(
        &mut self,
        item: &'a Item<'a>,
        what: &str,
        shapes: &[&'static Table],
    ) -> Option<Fields<'a>> {
        let DeValue::Table(table) = item.get_ref() else {
            self.wrong_kind(item, &format!("a table ({what})"));
            return None;
        };
        let mut marks: Vec<(Entry<'a>, &'static Table)> = Vec::new();
        for entry in entries(table) {
            if let Some(shape) = shapes.iter().find(|shape| shape.marks.contains(&entry.key)) {
                marks.push((entry, shape));
            }
        }
        let all: Vec<&str> = shapes.iter().flat_map(|shape| shape.marks.iter().copied()).collect();
        // A key may mark one shape and be an ordinary one of another: `receive` beside `send`.
        let open = |shape: &&'static Table| {
            marks.iter().all(|(entry, _)| shape.keys.iter().any(|key| key.name == entry.key))
                && marks.iter().filter(|(entry, _)| shape.marks.contains(&entry.key)).count() == 1
        };
        if let Some((_, shape)) = marks.iter().find(|(_, shape)| open(shape)) {
            return Some(self.fields_of(table, item.span(), shape));
        }
        if let [(first, _), .., (second, _)] = marks.as_slice() {
            let message = format!("`{}` does not go with `{}` in {what}", second.key, first.key);
            self.problem(second.at.clone(), message);
            return None;
        }
        let near = entries(table)
            .into_iter()
            .find_map(|entry| nearest(entry.key, all.iter().copied()).map(|near| (entry, near)));
        self.note(match near {
            Some((entry, near)) => Mistake::new(entry.at, format!("unknown key `{}` in {what}", entry.key))
                .hint(format!("did you mean `{near}`?")),
            None => Mistake::new(item.span(), format!("{what} says what is done"))
                .hint(format!("with one of {}", list(&all))),
        });
        None
    }

    /// Keys and values of a table whose keys are names.
    pub(crate) fn map(&mut self, item: &'a Item<'a>) -> Vec<Entry<'a>> {
        match item.get_ref() {
            DeValue::Table(table) => entries(table),
            _ => {
                self.wrong_kind(item, "a table");
                Vec::new()
            }
        }
    }

    pub(crate) fn list(&mut self, item: &'a Item<'a>) -> &'a [Item<'a>] {
        match item.get_ref() {
            DeValue::Array(list) => list,
            _ => {
                self.wrong_kind(item, "a list");
                &[]
            }
        }
    }

    /// The values of a list, or the one that stands alone.
    pub(crate) fn list_or_one(&mut self, item: &'a Item<'a>) -> &'a [Item<'a>] {
        match item.get_ref() {
            DeValue::Array(list) => list,
            _ => std::slice::from_ref(item),
        }
    }

    pub(crate) fn text(&mut self, item: &'a Item<'a>) -> Option<&'a str> {
        let text = item.get_ref().as_str();
        if text.is_none() {
            self.wrong_kind(item, "a text in quotes");
        }
        text
    }

    pub(crate) fn bool(&mut self, item: &'a Item<'a>) -> Option<bool> {
        let value = item.get_ref().as_bool();
        if value.is_none() {
            self.wrong_kind(item, "true or false");
        }
        value
    }

    /// A number in these bounds.
    pub(crate) fn number(&mut self, item: &'a Item<'a>, bounds: RangeInclusive<f64>) -> Option<f64> {
        let Some(number) = as_number(item) else {
            self.wrong_kind(item, "a number");
            return None;
        };
        if bounds.contains(&number) {
            return Some(number);
        }
        self.problem(item.span(), format!("{number} is not between {} and {}", bounds.start(), bounds.end()));
        None
    }

    /// A whole number in these bounds.
    pub(crate) fn whole(&mut self, item: &'a Item<'a>, bounds: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(integer) = item.get_ref() else {
            self.wrong_kind(item, "a whole number");
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        if let Some(number) = number.filter(|number| bounds.contains(number)) {
            return Some(number);
        }
        let message = format!("{integer} is not between {} and {}", bounds.start(), bounds.end());
        self.problem(item.span(), message);
        None
    }

    /// A time in nanoseconds: `"1m 30s"`.
    pub(crate) fn duration(&mut self, item: &'a Item<'a>) -> Option<u64> {
        let DeValue::String(text) = item.get_ref() else {
            let found = kind(item);
            self.note(
                Mistake::new(item.span(), format!("expected a time, found {found}"))
                    .hint("a time is a text with its unit: \"250ms\", \"10s\", \"1m 30s\""),
            );
            return None;
        };
        match crate::duration::parse(text) {
            Ok(ns) => Some(ns),
            Err(mistake) => {
                self.note_in(item, mistake);
                None
            }
        }
    }

    /// One of a few words, and what it stands for.
    pub(crate) fn word<T: Copy>(&mut self, item: &'a Item<'a>, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(item)?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let mistake = Mistake::new(item.span(), format!("`{text}` is not known here"));
        self.note(match nearest(text, known.iter().copied()) {
            Some(near) => mistake.hint(format!("did you mean \"{near}\"?")),
            None => mistake.hint(format!("known are {}", list(&known))),
        });
        None
    }

    /// A value of a variable.
    pub(crate) fn value(&mut self, item: &'a Item<'a>) -> Option<Value> {
        match item.get_ref() {
            DeValue::String(text) => Some(Value::Text(text.clone().into_owned())),
            DeValue::Boolean(value) => Some(Value::Bool(*value)),
            DeValue::Datetime(datetime) => Some(Value::Text(datetime.to_string())),
            DeValue::Integer(_) | DeValue::Float(_) => as_number(item).map(Value::Number),
            DeValue::Array(_) | DeValue::Table(_) => {
                self.wrong_kind(item, "a text, a number, true or false");
                None
            }
        }
    }
}

/// Words with commas between them, as code.
pub(crate) fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn as_number(item: &Item<'_>) -> Option<f64> {
    match item.get_ref() {
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|number| number as f64)
        }
        DeValue::Float(float) => float.as_str().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn kind(item: &Item<'_>) -> &'static str {
    match item.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
