//! Names in the tree `PREFIX/NAME/VERSION/HOST:PORT`: what may stand there, and reading a path back.
//!
//! A name that was accepted here can neither leave its place in the tree nor collide with
//! another's.

use std::net::SocketAddr;

use crate::error::Error;

/// Bytes of a service's name.
const NAME_BYTES_MAX: usize = 64;
/// Bytes of a version.
const VERSION_BYTES_MAX: usize = 32;
/// Bytes of the whole prefix.
const PREFIX_BYTES_MAX: usize = 256;

/// Whether `name` may be a service's.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    check("service name", name, NAME_BYTES_MAX)
}

/// Whether `version` may be a service's.
pub(crate) fn check_version(version: &str) -> Result<(), Error> {
    check("version", version, VERSION_BYTES_MAX)
}

/// Whether `prefix` may be the root of the tree.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), Error> {
    let refuse = || Error::Setting(format!("prefix {prefix:?} is not /SEGMENT or /SEGMENT/SEGMENT.."));
    let segments = prefix.strip_prefix('/').ok_or_else(refuse)?;
    if prefix.len() > PREFIX_BYTES_MAX
        || !segments.split('/').all(|segment| is_segment(segment, PREFIX_BYTES_MAX))
    {
        return Err(refuse());
    }
    Ok(())
}

fn check(what: &str, text: &str, bytes_max: usize) -> Result<(), Error> {
    if is_segment(text, bytes_max) {
        return Ok(());
    }
    // What is refused may be long or hostile: only its beginning is repeated.
    let shown: String = text.chars().take(bytes_max).collect();
    Err(Error::Name(format!("{what} {shown:?} is not 1 to {bytes_max} letters, digits, `.`, `_` or `-`")))
}

fn is_segment(text: &str, bytes_max: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    // ZooKeeper gives `.` and `..` a meaning.
    !text.is_empty() && text.len() <= bytes_max && text.bytes().all(allowed) && text != "." && text != ".."
}

/// A place in the tree, as read from a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) version: String,
    pub(crate) address: SocketAddr,
}

impl Place {
    /// Reads `VERSION/HOST:PORT`, what stands below a service's name.
    pub(crate) fn read(below_name: &str) -> Option<Self> {
        let (version, address) = below_name.split_once('/')?;
        check_version(version).ok()?;
        Some(Self { version: version.to_owned(), address: address.parse().ok()? })
    }
}

/// The name and place of `NAME/VERSION/HOST:PORT`, what stands below the prefix.
pub(crate) fn read_below_prefix(path: &str) -> Option<(&str, Place)> {
    let (name, below_name) = path.split_once('/')?;
    check_name(name).ok()?;
    Some((name, Place::read(below_name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_their_place_are_refused() {
        for name in ["", ".", "..", "a/b", "a b", "geo\n", "ge\u{f6}", &"n".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["geo", "Geo-2", "a.b_c", &"n".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_prefix_is_absolute_and_has_no_empty_segment() {
        for prefix in ["", "/", "services", "/a/", "//a", "/a//b", "/a/../b"] {
            assert!(check_prefix(prefix).is_err(), "{prefix:?}");
        }
        for prefix in ["/services", "/plant/services"] {
            assert!(check_prefix(prefix).is_ok(), "{prefix:?}");
        }
    }

    #[test]
    fn a_place_is_read_back_with_either_kind_of_address() {
        let place =
            |address: &str| Place { version: "1".to_owned(), address: address.parse().expect("address") };
        assert_eq!(read_below_prefix("geo/1/[::1]:7800"), Some(("geo", place("[::1]:7800"))));
        assert_eq!(read_below_prefix("geo/1/10.0.0.1:7800"), Some(("geo", place("10.0.0.1:7800"))));
        for path in
            ["geo", "geo/1", "geo/1/host:7800", "geo/1/10.0.0.1", "geo//10.0.0.1:1", "geo/1/2/10.0.0.1:1"]
        {
            assert_eq!(read_below_prefix(path), None, "{path}");
        }
    }
}
