//! Secrets in the text of a scenario, found by the keys that they stand under.
//!
//! Keys of the language are distinguished from names that people gave:
//! `extract = { token = "$.token" }` states where a token will be found, `[secrets]` where one
//! comes from, `tls = { key = "..." }` names a file. Text outside of values (comments) is hidden as
//! any other text is.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{HIDDEN, is_secret_name, shape};

/// Tables whose keys are names of variables and whose values state where they come from.
const SOURCES: &[&str] = &["extract", "secrets", "thresholds", "mix", "tls"];
/// Tables whose keys are expressions' variables: only texts in quotes within a value are literal.
const EXPRESSIONS: &[&str] = &["set"];
/// Tables whose keys name things that have a table of their own.
const NAMES: &[&str] = &["targets", "data"];

/// A literal under a secret name.
struct Found {
    at: Range<usize>,
    /// Its text as it is meant, without escapes.
    text: Option<String>,
    is_expression: bool,
}

/// The text without secrets.
pub(super) fn hide(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let Ok(root) = DeTable::parse(text) else { return shape::hide(text) };
    let mut strings = Vec::new();
    let mut found = Vec::new();
    walk_table(root.get_ref(), Place::Root, &mut found, &mut strings);
    let mut parts: Vec<(Range<usize>, Option<&Found>)> =
        found.iter().map(|found| (found.at.clone(), Some(found))).collect();
    parts.extend(strings.into_iter().map(|at| (at, None)));
    parts.sort_by_key(|(at, _)| (at.start, at.end));
    for (at, found) in parts {
        if at.start < from || at.end > text.len() {
            continue;
        }
        out.push_str(&shape::hide(&text[from..at.start]));
        let raw = &text[at.clone()];
        match found {
            Some(found) => out.push_str(&hide_literal(raw, found.is_expression)),
            None => out.push_str(&shape::hide(raw)),
        }
        from = at.end;
    }
    out.push_str(&shape::hide(&text[from..]));
    out
}

/// All texts under secret names.
pub(super) fn literals(text: &str) -> Vec<String> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let mut found = Vec::new();
    walk_table(root.get_ref(), Place::Root, &mut found, &mut Vec::new());
    let texts = found.into_iter().filter(|found| !found.is_expression).filter_map(|found| found.text);
    texts.flat_map(|text| shape::literals(&text)).collect()
}

/// Where in the document a value stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    /// Below [`NAMES`].
    Names,
    /// Below [`SOURCES`].
    Sources,
    /// Below [`EXPRESSIONS`].
    Expressions,
    /// Below a secret name.
    Secret,
    /// Below a secret name, in an expression.
    SecretExpression,
    Other,
}

fn walk_table(table: &DeTable<'_>, place: Place, found: &mut Vec<Found>, strings: &mut Vec<Range<usize>>) {
    for (key, item) in table {
        let key: &str = key.get_ref();
        let below = match place {
            Place::Secret | Place::SecretExpression | Place::Sources => place,
            Place::Root if NAMES.contains(&key) => Place::Names,
            Place::Names => Place::Other,
            Place::Expressions if is_secret_name(key) => Place::SecretExpression,
            Place::Expressions => place,
            _ if SOURCES.contains(&key) => Place::Sources,
            _ if EXPRESSIONS.contains(&key) => Place::Expressions,
            _ if is_secret_name(key) => Place::Secret,
            _ => Place::Other,
        };
        walk(item, below, found, strings);
    }
}

fn walk(item: &Spanned<DeValue<'_>>, place: Place, found: &mut Vec<Found>, strings: &mut Vec<Range<usize>>) {
    let is_expression = place == Place::SecretExpression;
    let is_secret = is_expression || place == Place::Secret;
    match item.get_ref() {
        DeValue::Table(table) => walk_table(table, place, found, strings),
        DeValue::Array(items) => items.iter().for_each(|item| walk(item, place, found, strings)),
        DeValue::String(text) if is_secret => {
            found.push(Found { at: item.span(), text: Some(text.to_string()), is_expression });
        }
        DeValue::Integer(_) | DeValue::Float(_) if is_secret && !is_expression => {
            found.push(Found { at: item.span(), text: None, is_expression });
        }
        DeValue::String(_) => strings.push(item.span()),
        _ => {}
    }
}

/// A literal as it is written, with what is secret in it hidden: it stays one of its kind.
fn hide_literal(raw: &str, is_expression: bool) -> String {
    let Some(quote) = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| raw.starts_with(quote)) else {
        return format!("\"{HIDDEN}\"");
    };
    let inside = raw[quote.len()..].strip_suffix(quote).unwrap_or("");
    if is_expression {
        return format!("{quote}{}{quote}", hide_quoted(inside));
    }
    format!("{quote}{}{quote}", shape::hide_value(inside))
}

/// An expression without what stands in quotes in it.
fn hide_quoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"']) {
        let quote = &rest[at..=at];
        out.push_str(&rest[..at]);
        let inside = &rest[at + 1..];
        let end = inside.find(quote).unwrap_or(inside.len());
        out.push_str(&format!("{quote}{HIDDEN}{quote}"));
        rest = inside.get(end + 1..).unwrap_or("");
    }
    out.push_str(rest);
    out
}
