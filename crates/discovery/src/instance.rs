//! An instance of a service, and the JSON value that announces it.
//!
//! ```text
//! {"load":0.4,"zone":"a","weight":100,"state":"serving"}
//! ```
//!
//! Every field may be absent and unknown ones are ignored, so that old and new can meet. A value that
//! cannot be read, or whose numbers make no sense, is not half believed: its instance is skipped.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::name::Place;

/// The weight of who names none.
pub(crate) const WEIGHT_DEFAULT: u32 = 100;
/// Bytes of a value that we read or write; ours have about sixty.
const VALUE_BYTES_MAX: usize = 4096;
/// Bytes of a zone's name.
const ZONE_BYTES_MAX: usize = 64;

/// One instance of a service, as last heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Where it listens.
    pub address: SocketAddr,
    /// The version it serves.
    pub version: String,
    /// How busy it reports to be: 0 idle, 1 at its limit, above 1 over it. Finite and not negative.
    pub load: f32,
    /// The zone it runs in.
    pub zone: Option<String>,
    /// Its share of the calls in proportion to others', 100 being usual; 0 asks for none.
    pub weight: u32,
    /// Whether it takes calls.
    pub state: State,
}

impl Instance {
    pub(crate) fn new(place: &Place, value: Value) -> Self {
        let Value { load, zone, weight, state } = value;
        Self { address: place.address, version: place.version.clone(), load, zone, weight, state }
    }
}

/// Whether an instance takes calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It does.
    #[default]
    Serving,
    /// It finishes what it has and will leave: send it nothing new.
    Quiescing,
}

/// The data of an instance about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Value {
    /// See [`Instance::load`].
    pub load: f32,
    /// See [`Instance::zone`]; at most 64 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// See [`Instance::weight`].
    pub weight: u32,
    /// See [`Instance::state`].
    pub state: State,
}

impl Default for Value {
    fn default() -> Self {
        Self { load: 0.0, zone: None, weight: WEIGHT_DEFAULT, state: State::Serving }
    }
}

impl Value {
    /// Reads a value; `None` when it cannot be believed.
    pub(crate) fn read(json: &[u8]) -> Option<Self> {
        // serde would also take a list of the fields' values in order.
        if json.len() > VALUE_BYTES_MAX || !json.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let value: Self = serde_json::from_slice(json).ok()?;
        value.makes_sense().then_some(value)
    }

    /// Whether the numbers and the zone are within their bounds.
    pub(crate) fn makes_sense(&self) -> bool {
        let zone_fits = self.zone.as_ref().is_none_or(|zone| zone.len() <= ZONE_BYTES_MAX);
        self.load.is_finite() && self.load >= 0.0 && zone_fits
    }

    /// The JSON that announces it.
    pub(crate) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers, text and names become JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_back_as_it_was_written() {
        let value = Value { load: 0.4, zone: Some("a".to_owned()), weight: 50, state: State::Quiescing };
        assert_eq!(value.write(), br#"{"load":0.4,"zone":"a","weight":50,"state":"quiescing"}"#);
        assert_eq!(Value::read(&value.write()), Some(value));
    }

    #[test]
    fn absent_fields_have_defaults_and_unknown_ones_are_ignored() {
        assert_eq!(Value::read(b"{}"), Some(Value::default()));
        assert_eq!(Value::read(br#"{"color":"red","zone":null}"#), Some(Value::default()));
    }

    #[test]
    fn values_that_cannot_be_believed_are_refused() {
        let long_zone = format!(r#"{{"zone":"{}"}}"#, "z".repeat(65));
        let long = format!("{{{}}}", " ".repeat(4096));
        for json in [
            "",
            "{",
            "null",
            r#"{"load":-1}"#,
            r#"{"load":1e40}"#,
            r#"{"state":"asleep"}"#,
            r#"{"weight":-1}"#,
        ]
        .into_iter()
        .chain([long_zone.as_str(), long.as_str()])
        {
            assert_eq!(Value::read(json.as_bytes()), None, "{json:.60}");
        }
    }
}
