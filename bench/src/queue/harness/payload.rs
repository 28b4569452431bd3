//! What a job carries: its serial and its stamp as hexadecimal digits, then letters up to its size.
//!
//! Letters and digits only, so that it stands in SQL text and in JSON as it is, and that no protocol has to escape it.

use anyhow::{Context as _, Result};

use super::lane::{NewJob, Reserved, Token};

/// Digits of serial and stamp.
const HEAD_BYTES: usize = 32;
/// The least size of a payload.
pub(crate) const BYTES_MIN: usize = HEAD_BYTES;
/// Letters to fill with; a job's begin somewhere else than its neighbour's, so that no two look alike.
const FILLER: [u8; 8_192] = filler();
/// The most that one job is filled with.
pub(crate) const BYTES_MAX: usize = HEAD_BYTES + 4_096;

const fn filler() -> [u8; 8_192] {
    let mut letters = [0_u8; 8_192];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut at = 0;
    while at < letters.len() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[at] = b'a' + ((state >> 33) % 26) as u8;
        at += 1;
    }
    letters
}

/// Appends a job's payload.
pub(crate) fn write(job: &NewJob, out: &mut Vec<u8>) {
    hex(job.serial, out);
    hex(job.stamp_ns, out);
    let filled = job.bytes.clamp(BYTES_MIN, BYTES_MAX) - HEAD_BYTES;
    let start = (job.serial % 4_096) as usize;
    out.extend_from_slice(&FILLER[start..start + filled]);
}

/// Reads a payload back.
pub(crate) fn read(token: Token, payload: &[u8]) -> Result<Reserved> {
    let head = payload.get(..HEAD_BYTES).and_then(|head| std::str::from_utf8(head).ok());
    let head = head.context("a payload that nobody put")?;
    let number = |digits: &str| u64::from_str_radix(digits, 16).context("a payload that nobody put");
    Ok(Reserved { token, serial: number(&head[..16])?, stamp_ns: number(&head[16..])? })
}

fn hex(number: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for shift in (0..16).rev() {
        out.push(DIGITS[(number >> (4 * shift)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::{NewJob, Token};
    use super::{read, write};

    #[test]
    fn a_payload_has_its_size_and_is_read_back() {
        let mut out = Vec::new();
        write(&NewJob { serial: 77, stamp_ns: u64::MAX - 1, bytes: 200, run_at_ms: 0 }, &mut out);
        assert_eq!(out.len(), 200);
        let job = read(Token(5), &out).expect("just written");
        assert_eq!((job.serial, job.stamp_ns, job.token), (77, u64::MAX - 1, Token(5)));
        assert!(read(Token(5), b"short").is_err());
    }
}
