//! Authentication metadata (`message/x.rsocket.authentication.v0`): credentials and their kind.
//!
//! Reading checks the form only. Whether the credentials are right is the application's business.

use super::{Malformed, Mime, mime, write_entry_with};

/// The well-known id of simple authentication.
const SIMPLE: u8 = 0x00;
/// The well-known id of bearer tokens.
const BEARER: u8 = 0x01;

/// Credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// A name (at most 65,535 bytes) and a password, in clear text.
    Simple {
        /// Who.
        username: &'a str,
        /// What only they know.
        password: &'a str,
    },
    /// A token.
    Bearer(&'a str),
    /// A kind with an id that is not known here.
    WellKnown {
        /// The id, 0 to 127.
        id: u8,
        /// As that kind defines it.
        content: &'a [u8],
    },
    /// A kind that is called by name.
    Named {
        /// The name, 1 to 128 bytes.
        name: &'a [u8],
        /// As that kind defines it.
        content: &'a [u8],
    },
}

/// Reads an authentication entry.
pub fn read(content: &[u8]) -> Result<Authentication<'_>, Malformed> {
    // The kind is written exactly as a MIME type is.
    let (kind, content) = mime::read(content).ok_or(Malformed)?;
    match kind {
        Mime::WellKnown(SIMPLE) => simple(content),
        Mime::Named(b"simple") => simple(content),
        Mime::WellKnown(BEARER) | Mime::Named(b"bearer") => Ok(Authentication::Bearer(text(content)?)),
        Mime::WellKnown(id) => Ok(Authentication::WellKnown { id, content }),
        Mime::Named(name) => Ok(Authentication::Named { name, content }),
    }
}

fn simple(content: &[u8]) -> Result<Authentication<'_>, Malformed> {
    let (length, rest) = content.split_first_chunk::<2>().ok_or(Malformed)?;
    let (username, password) =
        rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or(Malformed)?;
    Ok(Authentication::Simple { username: text(username)?, password: text(password)? })
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(bytes).map_err(|_| Malformed)
}

/// Appends an authentication entry. A user name is cut to 65,535 bytes.
pub fn write(out: &mut Vec<u8>, authentication: Authentication<'_>) {
    write_entry_with(out, Mime::AUTHENTICATION, |out| match authentication {
        Authentication::Simple { username, password } => {
            let username = &username[..username.floor_char_boundary(usize::from(u16::MAX))];
            out.push(0x80 | SIMPLE);
            out.extend_from_slice(&(username.len() as u16).to_be_bytes());
            out.extend_from_slice(username.as_bytes());
            out.extend_from_slice(password.as_bytes());
        }
        Authentication::Bearer(token) => {
            out.push(0x80 | BEARER);
            out.extend_from_slice(token.as_bytes());
        }
        Authentication::WellKnown { id, content } => {
            out.push(0x80 | id);
            out.extend_from_slice(content);
        }
        Authentication::Named { name, content } => {
            mime::write(out, Mime::Named(name));
            out.extend_from_slice(content);
        }
    });
}
