//! What a variable holds.
//!
//! Four kinds, as in JSON without lists and objects: those are kept as their text. Repeated writes
//! of a text into a variable use the same memory.

use std::borrow::Cow;
use std::io::Write as _;

/// What a variable holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// Nothing: not set yet, or what cannot be computed.
    #[default]
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number; whole numbers are exact up to 2^53.
    Number(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// Makes it this text, in the memory of the text that it held.
    pub fn set_text(&mut self, text: &str) {
        match self {
            Value::Text(held) => {
                held.clear();
                held.push_str(text);
            }
            other => *other = Value::Text(text.to_owned()),
        }
    }

    /// Whether it counts as true: not null, not false, not zero, not the empty text.
    pub fn truthy(&self) -> bool {
        self.operand().truthy()
    }

    /// Appends its text: nothing for null, whole numbers without a fraction.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.operand().write(out);
    }

    /// It, borrowed.
    pub(crate) fn operand(&self) -> Operand<'_> {
        match self {
            Value::Null => Operand::Null,
            Value::Bool(value) => Operand::Bool(*value),
            Value::Number(value) => Operand::Number(*value),
            Value::Text(text) => Operand::Text(Cow::Borrowed(text)),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

/// A value in the middle of a computation: its text is borrowed where that is possible.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
}

impl<'a> Operand<'a> {
    /// A text from bytes; bytes that are not UTF-8 are replaced.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Operand<'a> {
        Operand::Text(String::from_utf8_lossy(bytes))
    }

    pub(crate) fn truthy(&self) -> bool {
        match self {
            Operand::Null => false,
            Operand::Bool(value) => *value,
            Operand::Number(value) => *value != 0.0 && !value.is_nan(),
            Operand::Text(text) => !text.is_empty(),
        }
    }

    /// As a number, where it reads as one.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Operand::Number(value) => Some(*value),
            Operand::Text(text) => read_number(text),
            Operand::Null | Operand::Bool(_) => None,
        }
    }

    /// As a text.
    pub(crate) fn text(self) -> Cow<'a, str> {
        match self {
            Operand::Text(text) => text,
            Operand::Null => Cow::Borrowed(""),
            Operand::Bool(true) => Cow::Borrowed("true"),
            Operand::Bool(false) => Cow::Borrowed("false"),
            Operand::Number(_) => {
                let mut bytes = Vec::new();
                self.write(&mut bytes);
                Cow::Owned(String::from_utf8(bytes).expect("numbers are written in ASCII"))
            }
        }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Operand::Null => {}
            Operand::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Operand::Number(value) => write_number(*value, out),
            Operand::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Puts it into a variable, in the memory that is there.
    pub(crate) fn store(self, into: &mut Value) {
        match self {
            Operand::Null => *into = Value::Null,
            Operand::Bool(value) => *into = Value::Bool(value),
            Operand::Number(value) => *into = Value::Number(value),
            Operand::Text(Cow::Borrowed(text)) => into.set_text(text),
            Operand::Text(Cow::Owned(text)) => *into = Value::Text(text),
        }
    }

    pub(crate) fn into_value(self) -> Value {
        let mut value = Value::Null;
        self.store(&mut value);
        value
    }
}

/// A number from a text: decimal, with a fraction and an exponent if one likes; no `inf`, no `nan`.
pub(crate) fn read_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let first = text.bytes().find(|byte| !matches!(byte, b'+' | b'-'))?;
    if !first.is_ascii_digit() && first != b'.' {
        return None;
    }
    text.parse().ok()
}

/// Appends a number: whole numbers without a fraction.
fn write_number(value: f64, out: &mut Vec<u8>) {
    /// Whole numbers are exact up to here.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    // Writing into a vector does not fail.
    let _ = if value.fract() == 0.0 && value.abs() <= WHOLE_MAX {
        write!(out, "{}", value as i64)
    } else {
        write!(out, "{value}")
    };
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn whole_numbers_are_written_without_a_fraction() {
        for (value, text) in [
            (Value::Number(7.0), "7"),
            (Value::Number(-0.5), "-0.5"),
            (Value::Number(1e21), "1000000000000000000000"),
            (Value::Bool(true), "true"),
            (Value::Null, ""),
            (Value::from("x"), "x"),
        ] {
            let mut out = Vec::new();
            value.write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn true_and_absent_values_are_distinguished() {
        for value in
            [Value::Null, Value::Bool(false), Value::Number(0.0), Value::Number(f64::NAN), Value::from("")]
        {
            assert!(!value.truthy(), "{value:?}");
        }
        for value in [Value::Bool(true), Value::Number(-1.0), Value::from("0")] {
            assert!(value.truthy(), "{value:?}");
        }
    }
}
