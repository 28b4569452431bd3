//! The codes of the registry's refusals.
//!
//! Every code that it answers is in [`CODES`], and every one of it has a section in docs/reference/errors/device.md.

pub(crate) use stadium_state_machine::{busy, rejected};

stadium_state_machine::codes! {
    /// A device with more tags than allowed.
    TAGS = "DEV-001", "too many tags on a device";
    /// A device with more attributes than allowed.
    ATTRIBUTES = "DEV-002", "too many attributes on a device";
    /// A text that is too long.
    TEXT = "DEV-003", "attribute text too long";
    /// Changes that name too much at once, or the same thing twice.
    CHANGES = "DEV-004", "changes out of bounds";
    /// A named user with more devices than allowed.
    USER_DEVICES = "DEV-005", "too many devices of a named user";
    /// As many devices as the settings allow.
    DEVICES_FULL = "DEV-040", "too many devices";
    /// As many different tags as the settings allow.
    TAGS_FULL = "DEV-041", "too many different tags";
    /// As many different names of attributes as the settings allow.
    ATTRIBUTE_NAMES_FULL = "DEV-042", "too many different attributes";
    /// As many different versions, platforms, languages or quiet hours as the settings allow.
    FIELDS_FULL = "DEV-043", "too many different values of a field";
}
