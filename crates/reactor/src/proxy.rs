//! PROXY protocol version 2: a proxy in front reports the peer.
//!
//! ```text
//! 0d 0a 0d 0a 00 0d 0a 51 55 49 54 0a | 2 command | family transport | length (2) | addresses | TLVs
//! ```
//!
//! Only version 2 is read. TLVs are skipped. Version 1, and a connection without a header, are refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const FIXED: usize = 16;

/// The longest header that is read, in bytes: addresses and a good many TLVs.
pub(crate) const HEADER_BYTES_MAX: usize = 4 * 1024;

/// The contents of a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// There is more to come.
    Partial,
    /// Whole: the bytes that it took, and the peer's address and the one dialled, unless the proxy speaks for itself.
    Whole(usize, Option<(SocketAddr, SocketAddr)>),
    /// This is no such header.
    Wrong,
}

/// Reads a header at the start of a connection.
pub(crate) fn read(bytes: &[u8]) -> Header {
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Header::Wrong;
    }
    let Some(fixed) = bytes.get(..FIXED) else { return Header::Partial };
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if fixed[12] >> 4 != 2 || FIXED + length > HEADER_BYTES_MAX {
        return Header::Wrong;
    }
    let Some(body) = bytes.get(FIXED..FIXED + length) else { return Header::Partial };
    let whole = FIXED + length;
    match (fixed[12] & 0x0f, fixed[13]) {
        // LOCAL: the proxy's own health check.
        (0, _) => Header::Whole(whole, None),
        (1, 0x11) => match body {
            [a, b, c, d, e, f, g, h, sp, sq, dp, dq, ..] => Header::Whole(
                whole,
                Some((
                    address(Ipv4Addr::new(*a, *b, *c, *d), [*sp, *sq]),
                    address(Ipv4Addr::new(*e, *f, *g, *h), [*dp, *dq]),
                )),
            ),
            _ => Header::Wrong,
        },
        (1, 0x21) => match (body.first_chunk::<16>(), body.get(16..32), body.get(32..36)) {
            (Some(source), Some(target), Some(ports)) => {
                let mut to = [0; 16];
                to.copy_from_slice(target);
                Header::Whole(
                    whole,
                    Some((
                        address(Ipv6Addr::from(*source), [ports[0], ports[1]]),
                        address(Ipv6Addr::from(to), [ports[2], ports[3]]),
                    )),
                )
            }
            _ => Header::Wrong,
        },
        // A family that we cannot name: the receiver must use the socket's addresses.
        (1, _) => Header::Whole(whole, None),
        _ => Header::Wrong,
    }
}

fn address(ip: impl Into<IpAddr>, port: [u8; 2]) -> SocketAddr {
    SocketAddr::new(ip.into(), u16::from_be_bytes(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend_from_slice(&[0x20 | command, family]);
        bytes.extend_from_slice(&(body.len() as u16).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn addresses_of_both_families_are_read_one_byte_at_a_time() {
        let four = header(1, 0x11, &[192, 0, 2, 7, 198, 51, 100, 9, 0x30, 0x39, 0x07, 0x5b, 4, 0, 1, 9]);
        let mut body = vec![0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        body.extend_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        body.extend_from_slice(&[0x30, 0x39, 0x07, 0x5b]);
        let six = header(1, 0x21, &body);
        for (bytes, peer, local) in [
            (&four, "192.0.2.7:12345", "198.51.100.9:1883"),
            (&six, "[2001:db8::1]:12345", "[2001:db8::2]:1883"),
        ] {
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Header::Partial, "after {end} bytes");
            }
            let expected = (peer.parse().expect("an address"), local.parse().expect("an address"));
            assert_eq!(read(bytes), Header::Whole(bytes.len(), Some(expected)));
        }
    }

    #[test]
    fn a_proxy_may_speak_for_itself() {
        assert_eq!(read(&header(0, 0, &[])), Header::Whole(16, None));
        assert_eq!(read(&header(1, 0, &[1, 2, 3])), Header::Whole(19, None));
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(read(b"PROXY TCP4 192.0.2.7 198.51.100.9 1 2\r\n"), Header::Wrong);
        assert_eq!(read(&[0x10, 0x0c, 0, 4]), Header::Wrong);
        assert_eq!(read(&header(2, 0x11, &[0; 12])), Header::Wrong);
        assert_eq!(read(&header(1, 0x11, &[0; 11])), Header::Wrong);
        assert_eq!(read(&header(1, 0x11, &[0; 5_000])), Header::Wrong);
        let mut old = header(1, 0x11, &[0; 12]);
        old[12] = 0x31;
        assert_eq!(read(&old), Header::Wrong);
    }
}
