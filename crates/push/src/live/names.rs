//! The names in the topics of pushes: MQTT clients and channels.
//!
//! A value of these types has passed its rule and is not checked again.

use std::fmt;

/// Bytes in a client id: what fits an MQTT client identifier together with the `inbox/` prefix of
/// its topic (MQTT 5.0, 1.5.4).
pub const CLIENT_ID_BYTES_MAX: usize = 65_535 - "inbox/".len();

/// Bytes in a channel's name: far more than a person types, far less than a topic may have.
pub const CHANNEL_NAME_BYTES_MAX: usize = 1_024;

/// The client identifier of an MQTT connection.
///
/// Not empty, without U+0000, at most 65,529 bytes. It may contain `+` or `#`, which MQTT allows in
/// a client identifier; such a client can be shown and kicked but has no inbox, see
/// [`ClientId::has_inbox`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(String);

impl ClientId {
    /// Checks and takes the name.
    ///
    /// # Errors
    /// [`InvalidName`] when it is empty, too long, or holds U+0000.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
        let name = name.into();
        check(&name, CLIENT_ID_BYTES_MAX)?;
        Ok(Self(name))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `inbox/{id}` is a topic name. A wildcard would make it a filter (MQTT 5.0, 4.7.1).
    pub fn has_inbox(&self) -> bool {
        !self.0.contains(['+', '#'])
    }

    /// The topic of the client's inbox.
    pub fn inbox_topic(&self) -> String {
        format!("inbox/{}", self.0)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A channel that devices subscribe to: the topic `channels/{name}`.
///
/// Not empty, without `+`, `#` and U+0000, at most 1,024 bytes. `/` is allowed and makes levels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(String);

impl ChannelName {
    /// Checks and takes the name.
    ///
    /// # Errors
    /// [`InvalidName`] when it is empty, too long, or holds a wildcard or U+0000.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
        let name = name.into();
        check(&name, CHANNEL_NAME_BYTES_MAX)?;
        if name.contains(['+', '#']) {
            return Err(InvalidName::Wildcard);
        }
        Ok(Self(name))
    }

    /// The channel that every device may subscribe to.
    pub fn everybody() -> Self {
        Self("everybody".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The topic of the channel.
    pub fn topic(&self) -> String {
        format!("channels/{}", self.0)
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a name was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidName {
    /// It has no characters.
    Empty,
    /// It is longer than the bound, in bytes.
    TooLong {
        /// The longest name allowed.
        bytes_max: usize,
    },
    /// It holds U+0000, which MQTT forbids in a string (MQTT 5.0, 1.5.4).
    Null,
    /// It holds `+` or `#`, which are wildcards in a topic filter.
    Wildcard,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong { bytes_max } => write!(f, "is longer than {bytes_max} bytes"),
            Self::Null => f.write_str("holds the character U+0000"),
            Self::Wildcard => f.write_str("holds `+` or `#`, which are wildcards"),
        }
    }
}

impl std::error::Error for InvalidName {}

fn check(name: &str, bytes_max: usize) -> Result<(), InvalidName> {
    if name.is_empty() {
        Err(InvalidName::Empty)
    } else if name.len() > bytes_max {
        Err(InvalidName::TooLong { bytes_max })
    } else if name.contains('\0') {
        Err(InvalidName::Null)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_topics() {
        assert_eq!(ClientId::new(""), Err(InvalidName::Empty));
        assert_eq!(ClientId::new("a\0"), Err(InvalidName::Null));
        assert_eq!(
            ClientId::new("x".repeat(CLIENT_ID_BYTES_MAX + 1)),
            Err(InvalidName::TooLong { bytes_max: CLIENT_ID_BYTES_MAX })
        );
        assert!(!ClientId::new("a+b").expect("MQTT allows it").has_inbox());
        assert_eq!(ChannelName::new("news/#"), Err(InvalidName::Wildcard));
        assert_eq!(ChannelName::new("news/sport").expect("levels are fine").topic(), "channels/news/sport");
    }
}
