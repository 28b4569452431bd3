//! Tickets: what a web page shows in place of an API key to open a stream.
//!
//! ```text
//! ticket = "tt_" base64url( kind: 1 | expiry: 8 | holder | filter ... | signature: 32 )
//! signature = HMAC-SHA256(secret, all before)
//! ```
//!
//! `expiry` is seconds since 1970, big-endian; a text stands behind its length in two bytes. A
//! browser's EventSource sends no headers, so a ticket stands in a URL: it opens streams of its
//! filters and nothing else, and ends soon. It is void when the key that asked for it is.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::config::Config;
use crate::secret_file;

/// The beginning of each ticket. No API key and no token of a device has it.
pub(crate) const PREFIX: &str = "tt_";

/// The file of the secret that tickets are signed with. A holder of the file can make tickets.
const SECRET_FILE: &str = "topic-tickets.key";

/// Characters of a ticket: it stands in a URL, whose head has 16 KiB.
pub(crate) const TICKET_CHARS_MAX: usize = 8_192;

const KIND: u8 = 1;

const SIGNATURE_BYTES: usize = 32;

/// The claims of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The id of the key, or of the person, that asked for it.
    pub(crate) holder: String,
    /// Topic filters.
    pub(crate) filters: Vec<String>,
    /// Seconds since 1970.
    pub(crate) expires_at_s: u64,
}

/// Signs tickets and reads them.
pub(crate) struct Tickets {
    secret: hmac::Key,
}

impl Tickets {
    /// Opens the secret of a data directory or a cluster; at the first start it is made.
    ///
    /// # Errors
    /// The system's error, or that the file is not one of this server.
    pub(crate) fn open(config: &Config) -> io::Result<Self> {
        let secret = secret_file::open(config, SECRET_FILE, "tickets of topics", "all tickets of topics")?;
        Ok(Self::new(&secret))
    }

    fn new(secret: &[u8; 32]) -> Self {
        Self { secret: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// The ticket; none where it would be too long for a URL.
    pub(crate) fn sign(&self, ticket: &Ticket) -> Option<String> {
        let mut bytes = vec![KIND];
        bytes.extend_from_slice(&ticket.expires_at_s.to_be_bytes());
        for text in std::iter::once(&ticket.holder).chain(&ticket.filters) {
            bytes.extend_from_slice(&u16::try_from(text.len()).ok()?.to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        let signature = hmac::sign(&self.secret, &bytes);
        bytes.extend_from_slice(signature.as_ref());
        let text = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
        (text.len() <= TICKET_CHARS_MAX).then_some(text)
    }

    /// The claims of a ticket; none where this server did not sign it, or it is over at `now_s`.
    pub(crate) fn read(&self, ticket: &str, now_s: u64) -> Option<Ticket> {
        let ticket = ticket.strip_prefix(PREFIX).filter(|ticket| ticket.len() <= TICKET_CHARS_MAX)?;
        let bytes = URL_SAFE_NO_PAD.decode(ticket).ok()?;
        let (signed, signature) = bytes.split_last_chunk::<SIGNATURE_BYTES>()?;
        hmac::verify(&self.secret, signed, signature).ok()?;
        let (&kind, rest) = signed.split_first()?;
        let (expiry, mut rest) = rest.split_first_chunk()?;
        let expires_at_s = u64::from_be_bytes(*expiry);
        let holder = take(&mut rest)?.to_owned();
        let mut filters = Vec::new();
        while !rest.is_empty() {
            filters.push(take(&mut rest)?.to_owned());
        }
        (kind == KIND && now_s < expires_at_s).then_some(Ticket { holder, filters, expires_at_s })
    }
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(filters: &[&str]) -> Ticket {
        Ticket {
            holder: "k_1".to_owned(),
            filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
            expires_at_s: 1_000,
        }
    }

    #[test]
    fn a_ticket_names_its_filters_until_its_expiry() {
        let tickets = Tickets::new(&[7; 32]);
        for filters in [&["chat/#"][..], &["a/+", "b", "ü/#"]] {
            let text = tickets.sign(&ticket(filters)).expect("it is short");
            assert_eq!(tickets.read(&text, 999), Some(ticket(filters)));
            assert_eq!(tickets.read(&text, 1_000), None);
        }
        assert_eq!(tickets.sign(&ticket(&["x".repeat(9_000).as_str()])), None);
    }

    #[test]
    fn changed_tickets_and_those_of_another_server_open_nothing() {
        let tickets = Tickets::new(&[7; 32]);
        let text = tickets.sign(&ticket(&["chat/#"])).expect("it is short");
        assert_eq!(Tickets::new(&[8; 32]).read(&text, 0), None);
        let bytes = URL_SAFE_NO_PAD.decode(&text[3..]).expect("base64url");
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            let changed = format!("tt_{}", URL_SAFE_NO_PAD.encode(changed));
            assert_eq!(tickets.read(&changed, 0), None, "{place}");
            let cut = format!("tt_{}", URL_SAFE_NO_PAD.encode(&bytes[..place]));
            assert_eq!(tickets.read(&cut, 0), None, "{place}");
        }
    }
}
