//! What is taken from an answer into a variable: a value in JSON, a match, a header, the body, the status.
//!
//! An answer is what a step got back, whatever its protocol: the engine shows it as an [`Answer`].

use crate::json_path::JsonPath;
use crate::program::Slot;
use crate::value::{Operand, Value};

/// What a step got back.
pub trait Answer {
    /// The status: of HTTP, a reason code of MQTT; nothing where the protocol has none.
    fn status(&self) -> Option<u32>;
    /// The first header of this name; upper and lower case are the same.
    fn header(&self, name: &str) -> Option<&[u8]>;
    /// The body: of a response, or the last message.
    fn body(&self) -> &[u8];
    /// How long it took, in nanoseconds.
    fn elapsed_ns(&self) -> u64;
}

/// Something to take from an answer.
#[derive(Debug, Clone)]
pub struct Extract {
    /// The variable that it goes into.
    pub slot: Slot,
    /// Where it is.
    pub source: Source,
    /// What the variable gets where it is not there; without one the step fails.
    pub default: Option<Value>,
    /// As one would write it: "token from $.token".
    pub text: String,
}

/// Where something is in an answer.
#[derive(Debug, Clone)]
pub enum Source {
    /// A value in a JSON body.
    Json(JsonPath),
    /// A group of a match in the body; group 0 is the whole match.
    Regex(regex::bytes::Regex, usize),
    /// A header.
    Header(String),
    /// The whole body.
    Body,
    /// The status.
    Status,
}

impl Extract {
    /// Takes it into its variable. False: it is not there, there is no default, and the variable is as it was.
    pub fn take(&self, answer: &dyn Answer, into: &mut Value) -> bool {
        if self.source.take(answer, into) {
            return true;
        }
        match &self.default {
            Some(Value::Text(text)) => into.set_text(text),
            Some(value) => *into = value.clone(),
            None => return false,
        }
        true
    }

    /// As one would write it: "token from $.token".
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Source {
    fn take(&self, answer: &dyn Answer, into: &mut Value) -> bool {
        let found = match self {
            Source::Json(path) => return path.take(answer.body(), into),
            Source::Regex(regex, 0) => regex.find(answer.body()).map(|found| found.as_bytes()),
            Source::Regex(regex, group) => regex
                .captures(answer.body())
                .and_then(|groups| groups.get(*group))
                .map(|found| found.as_bytes()),
            Source::Header(name) => answer.header(name),
            Source::Body => Some(answer.body()),
            Source::Status => {
                let Some(status) = answer.status() else {
                    return false;
                };
                *into = Value::Number(f64::from(status));
                return true;
            }
        };
        match found {
            Some(bytes) => {
                Operand::from_bytes(bytes).store(into);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Canned;

    fn taken(source: Source, default: Option<Value>) -> Option<Value> {
        let answer = Canned::new(201, "id=42; {\"x\":1}").header("ETag", "\"v1\"");
        let mut value = Value::from("before");
        let extract = Extract { slot: Slot(0), source, default, text: String::new() };
        let there = extract.take(&answer, &mut value);
        if !there {
            assert_eq!(value, "before".into(), "what is not there changes nothing");
        }
        there.then_some(value)
    }

    #[test]
    fn every_source_gives_its_part() {
        let regex = |pattern| regex::bytes::Regex::new(pattern).unwrap();
        assert_eq!(taken(Source::Regex(regex("id=(\\d+)"), 1), None), Some("42".into()));
        assert_eq!(taken(Source::Regex(regex("\\d+"), 0), None), Some("42".into()));
        assert_eq!(taken(Source::Regex(regex("zzz"), 0), None), None);
        assert_eq!(taken(Source::Header("etag".into()), None), Some("\"v1\"".into()));
        assert_eq!(taken(Source::Header("age".into()), Some("0".into())), Some("0".into()));
        assert_eq!(taken(Source::Status, None), Some(Value::Number(201.0)));
        assert_eq!(taken(Source::Body, None), Some("id=42; {\"x\":1}".into()));
        assert_eq!(taken(Source::Json(JsonPath::parse("$.x").unwrap()), None), None);
    }
}
