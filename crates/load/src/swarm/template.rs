//! Texts that differ from device to device: topics, user names, passwords.
//!
//! A template is parsed once; `{id}` stands for the device's id and `{n}` for its number. So a device costs no
//! string of its own.

use std::fmt::{self, Write};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text with places for a device's id and number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Id,
    Number,
}

/// A template that cannot be read: what stands in the braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidTemplate(String);

impl fmt::Display for InvalidTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a placeholder; use {{id}} or {{n}}", self.0)
    }
}

impl std::error::Error for InvalidTemplate {}

impl Template {
    /// Appends the text for one device.
    pub fn write(&self, out: &mut String, id_prefix: &str, number: u32) {
        for part in &self.parts {
            // Writing to a string cannot fail.
            let _ = match part {
                Part::Text(text) => out.write_str(text),
                Part::Id => write!(out, "{id_prefix}{number}"),
                Part::Number => write!(out, "{number}"),
            };
        }
    }

    /// Whether every device gets the same text.
    pub fn is_constant(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }
}

impl FromStr for Template {
    type Err = InvalidTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidTemplate> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            if open > 0 {
                parts.push(Part::Text(rest[..open].to_owned()));
            }
            let inside = &rest[open..];
            let end = inside.find('}').ok_or_else(|| InvalidTemplate(inside.to_owned()))? + 1;
            parts.push(match &inside[..end] {
                "{id}" => Part::Id,
                "{n}" => Part::Number,
                other => return Err(InvalidTemplate(other.to_owned())),
            });
            rest = &inside[end..];
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Template { parts })
    }
}

impl TryFrom<String> for Template {
    type Error = InvalidTemplate;

    fn try_from(text: String) -> Result<Self, InvalidTemplate> {
        text.parse()
    }
}

impl From<Template> for String {
    fn from(template: Template) -> String {
        template.to_string()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Id => f.write_str("{id}"),
            Part::Number => f.write_str("{n}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(template: &str) -> String {
        let mut out = String::new();
        template.parse::<Template>().expect("a template").write(&mut out, "bus-", 42);
        out
    }

    #[test]
    fn placeholders_become_the_device() {
        let table = [
            ("channels/everybody", "channels/everybody"),
            ("inbox/{id}", "inbox/bus-42"),
            ("{n}/{id}/{n}", "42/bus-42/42"),
            ("", ""),
        ];
        for (template, expected) in table {
            assert_eq!(written(template), expected);
            assert_eq!(template.parse::<Template>().expect("a template").to_string(), template);
        }
    }

    #[test]
    fn an_unknown_placeholder_is_named() {
        let error = "inbox/{device}".parse::<Template>().expect_err("no such placeholder");
        assert_eq!(error.to_string(), "\"{device}\" is not a placeholder; use {id} or {n}");
        assert!("inbox/{id".parse::<Template>().is_err());
    }
}
