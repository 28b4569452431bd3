//! What things are called: wallets, assets, and transfers.
//!
//! A wallet's name decides where it lives: the same for ever.

use std::fmt;
use std::str::FromStr;

use stadium_state_machine::{InvalidName, home, name};

name!(
    /// A wallet's name: letters, digits and `-_.:@{}`; at most 64 bytes. A wallet has one account for each asset.
    ///
    /// One that begins with `@` is a *system wallet* (`@shop`, `@candidate:7`): it lies on all shards, a part on each, and is summed when
    /// it is read, so that it is never hot. Its accounts open by themselves, may be overdrawn and have no ceiling.
    ///
    /// All other wallets live on the shard of their name, or, like keys of a Redis cluster, of the part of it in the first braces: `{42}:votes`
    /// and `{42}:prizes` live together, so that a transfer between them stays on one shard.
    WalletName,
    "wallet",
    64,
    |c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@' | '{' | '}'),
    "letters, digits and - _ . : @ { } are allowed"
);

impl WalletName {
    /// Whether it lies on all shards.
    pub fn is_system(&self) -> bool {
        self.as_str().starts_with('@')
    }

    /// The shard where it lives, of so many; for a system wallet none.
    pub fn home(&self, shards: u16) -> Option<u16> {
        if self.is_system() {
            return None;
        }
        let name = self.as_str();
        let tag = name.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
        Some(home(tag.filter(|tag| !tag.is_empty()).unwrap_or(name).as_bytes(), shards))
    }
}

name!(
    /// What is counted: `EUR`, `VOTE`, `COIN`. Upper-case letters, digits and `_`; at most 16 bytes.
    AssetCode,
    "asset",
    16,
    |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_',
    "upper-case letters, digits and _ are allowed"
);

/// A transfer's id, made by the client: any 128 bits, such as a UUID, at most once. Written as a UUID; read with or without
/// hyphens, in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransferId(pub u128);

impl fmt::Display for TransferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

impl FromStr for TransferId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let wrong = || InvalidName {
            what: "transfer",
            reason: format!("{text:?} is not 32 hexadecimal digits, with or without the hyphens of a UUID"),
        };
        let is_hyphenated = text.len() == 36;
        let mut value = 0_u128;
        let mut digits = 0;
        for (at, c) in text.chars().enumerate() {
            if is_hyphenated && matches!(at, 8 | 13 | 18 | 23) {
                if c != '-' {
                    return Err(wrong());
                }
                continue;
            }
            let digit = c.to_digit(16).ok_or_else(wrong)?;
            value = value << 4 | u128::from(digit);
            digits += 1;
        }
        if digits == 32 && matches!(text.len(), 32 | 36) { Ok(TransferId(value)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::{TransferId, WalletName};

    #[test]
    fn a_transfer_id_is_written_as_a_uuid_and_read_in_either_form() {
        let id = TransferId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0123-456789abcdef");
        for text in ["01234567-89ab-cdef-0123-456789abcdef", "0123456789ABCDEF0123456789abcdef"] {
            assert_eq!(text.parse(), Ok(id));
        }
        for text in [
            "",
            "0123",
            "01234567-89ab-cdef-0123-456789abcde",
            "0123456789abcdef0123456789abcdeg",
            "é".repeat(18).as_str(),
        ] {
            assert!(text.parse::<TransferId>().is_err(), "{text}");
        }
    }

    #[test]
    fn wallets_of_one_tag_live_together() {
        let wallet = |name| WalletName::new(name).expect("a name");
        for shards in [1, 2, 3, 64] {
            assert_eq!(wallet("{42}:votes").home(shards), wallet("{42}:prizes").home(shards));
            assert_eq!(wallet("{42}:votes").home(shards), wallet("42").home(shards));
            assert_eq!(wallet("@shop").home(shards), None);
        }
        assert_eq!(wallet("{}a").home(64), wallet("{}a").home(64));
    }
}
