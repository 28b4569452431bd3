//! A device as rules over topics see it, and the proof of its identity.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A device that asks.
#[derive(Debug, Clone, Copy)]
pub struct Principal<'a> {
    /// The value of `%u`; empty for an anonymous device.
    pub user: &'a str,
    /// The value of `%c`.
    pub client_id: &'a str,
    /// Groups of the identity.
    pub groups: &'a [Arc<str>],
    /// The proof of the identity.
    pub via: Via,
}

/// The proof of an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// Nothing was proved; the configuration lets such devices in.
    Anonymous,
    /// A name and password of the password file.
    Password,
    /// A signed token.
    Token,
    /// A client certificate.
    Certificate,
    /// The HTTP callback vouched for the device.
    Callback,
    /// The credential that the registry of devices has for it.
    Registry,
}

impl Via {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Anonymous, Self::Password, Self::Token, Self::Certificate, Self::Callback, Self::Registry];

    /// The lower-case word that rules files, logs and metrics use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Password => "password",
            Self::Token => "token",
            Self::Certificate => "certificate",
            Self::Callback => "callback",
            Self::Registry => "registry",
        }
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Via {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let via = Self::ALL.into_iter().find(|via| via.as_str() == word);
        via.ok_or_else(|| format!("{word:?} is no proof of identity"))
    }
}
