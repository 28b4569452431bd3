//! Reading JSON with mistakes that name their place, the error and the allowed values.
//!
//! A [`Place`] is a value and the way to it; the way becomes a text only where there is a mistake.

use std::fmt;

use serde_json::{Map, Value as Json};

/// What is wrong with a JSON value, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where in the value: `and[1].tag`; empty for all of it.
    pub path: String,
    /// The error, and the allowed values.
    pub reason: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.path, self.reason)
        }
    }
}

impl std::error::Error for Mistake {}

/// A value and the way to it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) json: &'a Json,
    step: Step<'a>,
    from: Option<&'a Place<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Whole,
    Key(&'a str),
    Item(usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(from) = self.from else { return Ok(()) };
        from.fmt(f)?;
        match self.step {
            Step::Whole => Ok(()),
            Step::Item(at) => write!(f, "[{at}]"),
            Step::Key(key) => {
                let dot = if matches!(from.step, Step::Whole) { "" } else { "." };
                // A key may be anything, and as long as the input.
                let shown: String = key.chars().take(64).collect();
                write!(f, "{dot}{shown}")
            }
        }
    }
}

/// What kind of value it is, in words.
fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// What of a list of allowed words is most like a word.
pub(crate) fn suggestion<'a>(word: &str, allowed: &[&'a str]) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let likeness = |other: &str| strsim::jaro_winkler(&word.to_lowercase(), other);
    let likely =
        allowed.iter().map(|&other| (likeness(other), other)).filter(|&(likeness, _)| likeness > 0.84);
    likely.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, other)| other)
}

impl<'a> Place<'a> {
    pub(crate) fn whole(json: &'a Json) -> Self {
        Self { json, step: Step::Whole, from: None }
    }

    pub(crate) fn mistake<T>(&self, reason: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake { path: self.to_string(), reason: reason.into() })
    }

    fn wrong<T>(&self, wanted: &str) -> Result<T, Mistake> {
        self.mistake(format!("it is {}, and must be {wanted}", kind(self.json)))
    }

    /// The value of a key, if it is there.
    pub(crate) fn key(&'a self, key: &'a str) -> Option<Place<'a>> {
        let json = self.json.as_object()?.get(key)?;
        Some(Place { json, step: Step::Key(key), from: Some(self) })
    }

    /// The value of a key that must be there.
    pub(crate) fn needs(&'a self, key: &'a str) -> Result<Place<'a>, Mistake> {
        match self.key(key) {
            Some(place) => Ok(place),
            None => self.mistake(format!("it lacks {key:?}")),
        }
    }

    pub(crate) fn object(&self) -> Result<&'a Map<String, Json>, Mistake> {
        self.json.as_object().map_or_else(|| self.wrong("an object"), Ok)
    }

    /// That it is an object with no other keys than these.
    pub(crate) fn only(&'a self, allowed: &[&str]) -> Result<(), Mistake> {
        for key in self.object()?.keys() {
            if !allowed.contains(&key.as_str()) {
                return self.unknown(key, allowed);
            }
        }
        Ok(())
    }

    /// A key that is not allowed here.
    pub(crate) fn unknown<T>(&'a self, key: &'a str, allowed: &[&str]) -> Result<T, Mistake> {
        let place = Place { json: self.json, step: Step::Key(key), from: Some(self) };
        let hint = match suggestion(key, allowed) {
            Some(likely) => format!("; did you mean {likely:?}?"),
            None => format!("; known are {}", allowed.join(", ")),
        };
        place.mistake(format!("unknown field{hint}"))
    }

    pub(crate) fn is_null(&self) -> bool {
        self.json.is_null()
    }

    pub(crate) fn items(&'a self) -> Result<impl Iterator<Item = Place<'a>> + use<'a>, Mistake> {
        let Some(items) = self.json.as_array() else { return self.wrong("a list") };
        Ok(items.iter().enumerate().map(move |(at, json)| Place {
            json,
            step: Step::Item(at),
            from: Some(self),
        }))
    }

    pub(crate) fn text(&self) -> Result<&'a str, Mistake> {
        self.json.as_str().map_or_else(|| self.wrong("a text"), Ok)
    }

    /// A text that something is made of.
    pub(crate) fn parsed<T: std::str::FromStr>(&self) -> Result<T, Mistake>
    where
        T::Err: fmt::Display,
    {
        self.text()?.parse().or_else(|error: T::Err| self.mistake(error.to_string()))
    }

    pub(crate) fn boolean(&self) -> Result<bool, Mistake> {
        self.json.as_bool().map_or_else(|| self.wrong("true or false"), Ok)
    }

    pub(crate) fn number(&self) -> Result<f64, Mistake> {
        self.json.as_f64().map_or_else(|| self.wrong("a number"), Ok)
    }

    /// A whole number, not below nothing.
    pub(crate) fn whole_number(&self) -> Result<u64, Mistake> {
        self.json.as_u64().map_or_else(|| self.wrong("a whole number from 0 on"), Ok)
    }

    /// A time in RFC 3339.
    pub(crate) fn date(&self) -> Result<i64, Mistake> {
        let text = self.text()?;
        match crate::value::parse_date(text) {
            Some(at) => Ok(at),
            None => self.mistake("it is no time in RFC 3339, as 2026-01-31T18:00:00Z is"),
        }
    }
}
