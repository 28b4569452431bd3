//! Scenarios from what other tools wrote: a HAR file of a browser, a Tsung XML file.
//!
//! An import is a text that the reader takes, and a list of what could not be translated, with lines of the other file.
//! Nothing is guessed in silence: what is left out is in the list.

mod har;
mod tsung;
mod tsung_session;

pub use har::har;
pub use tsung::tsung;

/// A scenario made of another tool's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The scenario.
    pub text: String,
    /// What is not in it, by its line in the other file.
    pub left_out: Vec<LeftOut>,
}

/// Something that could not be translated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its line in the other file, from 1.
    pub line: u32,
    /// What it is, and what was done instead.
    pub what: String,
}

/// Why a file is none that can be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where, as far as that is known; from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Unreadable {}

/// A text in quotes, as TOML and JSON write it.
fn quoted(text: &str) -> String {
    let mut out = b"\"".to_vec();
    crate::encode::json_text(text.as_bytes(), &mut out);
    out.push(b'"');
    String::from_utf8(out).expect("escapes of a text are a text").replace('\u{7f}', "\\u007f")
}

/// A literal text of a template, in quotes.
fn quoted_literal(text: &str) -> String {
    quoted(&literal(text))
}

/// A text in which nothing is a `${`.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// A name of a target or a table: a bare key.
fn bare_key(text: &str) -> String {
    let key: String =
        text.chars().map(|at| if at.is_ascii_alphanumeric() || at == '_' { at } else { '_' }).collect();
    if key.starts_with(|first: char| first.is_ascii_digit()) || key.is_empty() {
        format!("t{key}")
    } else {
        key
    }
}

/// A name that is not taken yet.
fn untaken(name: String, is_taken: impl Fn(&str) -> bool) -> String {
    let mut candidate = name.clone();
    let mut number = 2;
    while is_taken(&candidate) {
        candidate = format!("{name}{number}");
        number += 1;
    }
    candidate
}

/// A time with the largest unit that is exact.
fn time(milliseconds: u64) -> String {
    match milliseconds {
        ms if ms % 1000 == 0 => format!("\"{}s\"", ms / 1000),
        ms => format!("\"{ms}ms\""),
    }
}

/// A URL's scheme and authority, and its path and query.
fn split_url(url: &str) -> Option<(&str, &str)> {
    let after = url.find("://")? + 3;
    let slash = url[after..].find(['/', '?', '#']).map_or(url.len(), |at| after + at);
    let path = url[slash..].split('#').next().unwrap_or("");
    Some((&url[..slash], path))
}
