//! The mistakes of a configuration, in words by which the reader can act.
//!
//! Each problem names the setting, the source it came from and what to do, and carries a stable code that
//! `docs/reference/configuration.md` explains. All problems of a configuration are found at once.

use std::fmt;

use super::layers::Origin;

/// The kind of a problem; its code never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A file cannot be read, or is not TOML.
    File,
    /// No setting has this name.
    Unknown,
    /// The value has the wrong type.
    Kind,
    /// The value is outside its bounds.
    Bounds,
    /// Two settings contradict each other, or one needs another.
    Conflict,
    /// A file that a setting names cannot be used.
    Named,
    /// An address cannot be listened at.
    Address,
    /// The data folder cannot be used.
    Data,
    /// A limit of the process is below a bound of the settings.
    Limit,
}

impl Code {
    /// Every code, for the reference.
    pub const ALL: [Self; 9] = [
        Self::File,
        Self::Unknown,
        Self::Kind,
        Self::Bounds,
        Self::Conflict,
        Self::Named,
        Self::Address,
        Self::Data,
        Self::Limit,
    ];

    /// The stable code.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::File => "SET-001",
            Self::Unknown => "SET-002",
            Self::Kind => "SET-003",
            Self::Bounds => "SET-004",
            Self::Conflict => "SET-005",
            Self::Named => "SET-006",
            Self::Address => "SET-007",
            Self::Data => "SET-008",
            Self::Limit => "SET-009",
        }
    }

    /// What it means and what to do, for the reference.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::File => {
                "The configuration file cannot be read, or is not TOML. The line says where it stops being TOML."
            }
            Self::Unknown => {
                "No setting has this name. Stadium refuses it rather than run with a setting that you believe in and it \
                 ignores. The message suggests the nearest name."
            }
            Self::Kind => "The value has another type than the setting. The message says which is expected.",
            Self::Bounds => {
                "The value is outside the bounds of the setting, which the message and this page name."
            }
            Self::Conflict => {
                "The value is possible alone, but not together with another setting that the message names."
            }
            Self::Named => {
                "Found by `stadium config check`: a file that the setting names is missing, cannot be read, does not hold what it \
                 should, ends soon, or does not fit its counterpart (a certificate and its key)."
            }
            Self::Address => {
                "Found by `stadium config check`: the address was tried and cannot be listened at. Another process has the port, \
                 two settings name the same one, the address is none of this machine, or the user may not use the port."
            }
            Self::Data => {
                "Found by `stadium config check`: the data folder can neither be used nor made, a file in it is damaged, or \
                 (as a note) a server is running on it."
            }
            Self::Limit => {
                "Found by `stadium config check`: the open-file limit of the process is below the connections that the settings \
                 allow. The server starts and serves what fits."
            }
        }
    }
}

/// One thing wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind.
    pub code: Code,
    /// The setting's full name, such as `limits.connections_max`; empty when a whole file is at fault.
    pub setting: String,
    /// Where the offending value came from.
    pub origin: Origin,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if !self.setting.is_empty() {
            write!(f, "{} ", self.setting)?;
        }
        write!(f, "{} ({})", self.message, self.code.id())
    }
}

/// Everything wrong with the configuration, at least one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// The known name nearest to a mistyped one, when it is near enough to be what was meant.
#[must_use]
pub(super) fn nearest<'a>(mistyped: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let (wanted, mut best) = (last(mistyped), None);
    for name in known {
        // The same name in another section is the commonest mistake, closer than any typing error.
        let same_key = last(name) == wanted && name != mistyped;
        let score = if same_key { 0.95 } else { strsim::jaro_winkler(mistyped, name) };
        if score > 0.86 && best.is_none_or(|(_, other)| score > other) {
            best = Some((name, score));
        }
    }
    best.map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_names_find_the_one_that_was_meant() {
        let known = ["limits.connections_max", "server.loops", "mqtt.listen", "limits.receive_maximum"];
        let meant = |mistyped| nearest(mistyped, known.into_iter());
        assert_eq!(meant("limits.conections_max"), Some("limits.connections_max"));
        assert_eq!(meant("server.loop"), Some("server.loops"));
        assert_eq!(meant("mqtt.receive_maximum"), Some("limits.receive_maximum"));
        assert_eq!(meant("colour"), None);
    }
}
