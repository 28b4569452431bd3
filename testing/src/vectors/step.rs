//! Reading the fields of a step or of a case's settings, and bytes as hexadecimal digits.
//!
//! A field that is absent or of another type fails the test with the step that lacks it.

use serde_json::Value;

/// A step, or the settings of a case.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a>(pub &'a Value);

impl<'a> Step<'a> {
    /// The event.
    pub fn event(self) -> &'a str {
        self.text("do")
    }

    /// When the event happens, in microseconds.
    pub fn at_us(self) -> u64 {
        self.number("at_us")
    }

    /// A whole number.
    pub fn number(self, key: &str) -> u64 {
        self.number_or(key, None)
    }

    /// A whole number, or `absent` where the field is absent.
    pub fn number_or(self, key: &str, absent: impl Into<Option<u64>>) -> u64 {
        let value = self.0.get(key).map_or(absent.into(), Value::as_u64);
        value.unwrap_or_else(|| panic!("no whole number `{key}` in {}", self.0))
    }

    /// A whole number of 32 bits.
    pub fn small(self, key: &str) -> u32 {
        self.number(key).try_into().unwrap_or_else(|_| panic!("`{key}` has more than 32 bits in {}", self.0))
    }

    /// A number with a fraction.
    pub fn float(self, key: &str) -> f64 {
        self.0[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {}", self.0))
    }

    /// True or false; absent is false.
    pub fn is(self, key: &str) -> bool {
        self.0[key].as_bool().unwrap_or(false)
    }

    /// A text.
    pub fn text(self, key: &str) -> &'a str {
        self.text_if(key).unwrap_or_else(|| panic!("no text `{key}` in {}", self.0))
    }

    /// A text, where there is one.
    pub fn text_if(self, key: &str) -> Option<&'a str> {
        self.0[key].as_str()
    }

    /// The bytes of a field in hexadecimal digits.
    pub fn bytes(self, key: &str) -> Vec<u8> {
        bytes_of(self.text(key))
    }

    /// The objects of a list; absent is empty.
    pub fn list(self, key: &str) -> Vec<Step<'a>> {
        self.0[key].as_array().into_iter().flatten().map(Step).collect()
    }

    /// The texts of a list; absent is empty.
    pub fn texts(self, key: &str) -> Vec<&'a str> {
        self.0[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// The bytes that `digits` stand for.
pub fn bytes_of(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "two digits a byte: {digits}");
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The hexadecimal digits of `bytes`.
pub fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
