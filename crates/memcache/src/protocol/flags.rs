//! The flags behind the first word of a meta answer.

use super::error::ProtocolError;

/// Flags of a meta answer. An absent flag is `None` or `false`.
///
/// Source: "Meta Get" in `doc/protocol.txt`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags<'a> {
    /// `c`: the item's unique number, which changes with each change of the item.
    pub cas: Option<u64>,
    /// `f`: the client's flags.
    pub client_flags: Option<u32>,
    /// `t`: seconds that the item has left to live; -1 for unlimited.
    pub ttl_s: Option<i64>,
    /// `s`: bytes of the value.
    pub size: Option<u64>,
    /// `l`: seconds since the item was last read.
    pub idle_s: Option<u64>,
    /// `h`: whether it was read before.
    pub was_hit: Option<bool>,
    /// `O`: the opaque token of the command.
    pub opaque: Option<&'a [u8]>,
    /// `k`: the key, as it was sent.
    pub key: Option<&'a [u8]>,
    /// `b`: the key is in base64.
    pub is_base64: bool,
    /// `W`: this client is to make the value anew.
    pub won: bool,
    /// `X`: the item was marked as stale.
    pub is_stale: bool,
    /// `Z`: another client is making the value anew.
    pub is_taken: bool,
}

impl<'a> Flags<'a> {
    /// Reads the words behind the first one. Unknown flags are ignored: later servers have more.
    pub(super) fn read(words: impl Iterator<Item = &'a [u8]>) -> Result<Self, ProtocolError> {
        let mut flags = Self::default();
        for word in words {
            let Some((flag, token)) = word.split_first() else { continue };
            match flag {
                b'c' => flags.cas = Some(number(token)?),
                b'f' => flags.client_flags = Some(number(token)?.try_into().map_err(|_| BAD)?),
                b't' => flags.ttl_s = Some(signed(token)?),
                b's' => flags.size = Some(number(token)?),
                b'l' => flags.idle_s = Some(number(token)?),
                b'h' => flags.was_hit = Some(token == b"1"),
                b'O' => flags.opaque = Some(token),
                b'k' => flags.key = Some(token),
                b'b' => flags.is_base64 = true,
                b'W' => flags.won = true,
                b'X' => flags.is_stale = true,
                b'Z' => flags.is_taken = true,
                _ => {}
            }
        }
        Ok(flags)
    }
}

const BAD: ProtocolError = ProtocolError::BadField;

/// A decimal number without a sign, up to the greatest `u64`.
pub(super) fn number(text: &[u8]) -> Result<u64, ProtocolError> {
    if text.is_empty() {
        return Err(BAD);
    }
    text.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(BAD);
        }
        sum.checked_mul(10).and_then(|sum| sum.checked_add(u64::from(digit))).ok_or(BAD)
    })
}

fn signed(text: &[u8]) -> Result<i64, ProtocolError> {
    match text.strip_prefix(b"-") {
        Some(digits) => i64::try_from(number(digits)?).map(|number| -number).map_err(|_| BAD),
        None => i64::try_from(number(text)?).map_err(|_| BAD),
    }
}
