//! What things of the push platform are called.

use std::fmt;
use std::str::FromStr;

use stadium_state_machine::{InvalidName, name};

name!(
    /// A saved audience.
    AudienceName, "saved audience", 64,
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-'),
    "a-z, 0-9, `.`, `_` and `-` are allowed"
);

name!(
    /// A schedule.
    ScheduleName, "schedule", 64,
    |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-'),
    "a-z, 0-9, `.`, `_` and `-` are allowed"
);

name!(
    /// The key by which a newer push takes the place of an older one.
    CollapseKey, "collapse key", 64,
    |c| !c.is_control(),
    "control characters are not allowed"
);

name!(
    /// The part of a notification that a user clicked, such as a button, by the app's own name.
    ClickAction, "action", 64,
    |c| !c.is_control(),
    "control characters are not allowed"
);

/// A push: 128 bits that its client chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PushId(pub u128);

impl fmt::Display for PushId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for PushId {
    type Err = InvalidName;

    /// 32 hexadecimal digits; hyphens, as in a UUID, are ignored.
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let digits: String = text.chars().filter(|&c| c != '-').collect();
        match u128::from_str_radix(&digits, 16) {
            Ok(id) if digits.len() == 32 && !digits.starts_with('+') => Ok(Self(id)),
            _ => Err(InvalidName { what: "push", reason: "an id has 32 hexadecimal digits".into() }),
        }
    }
}
