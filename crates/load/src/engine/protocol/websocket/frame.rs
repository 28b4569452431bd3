//! Frames of a server, whole as they lie in the bytes that came, and the messages that they make up. RFC 6455, 5.
//! What must not come is refused as soon as its header shows it, with the code to close with.

use stadium_reactor::websocket::{CONTROL_MAX, close_code, opcode};

/// The longest message that is taken, in bytes. A frame waits in the reactor until it is whole.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) opcode: u8,
    /// Whether it is the last of its message.
    pub(super) last: bool,
    pub(super) payload: &'a [u8],
}

/// The frame at the beginning of some bytes and its length; `None` where it is not whole.
///
/// # Errors
/// The code to close with.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Frame<'_>, usize)>, u16> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    let (kind, last) = (first & 0x0f, first & 0x80 != 0);
    // No extension was agreed, and a server masks nothing.
    if first & 0x70 != 0 || second & 0x80 != 0 {
        return Err(close_code::PROTOCOL);
    }
    let short = usize::from(second & 0x7f);
    match kind {
        opcode::CONTINUATION | opcode::TEXT | opcode::BINARY => {}
        opcode::CLOSE | opcode::PING | opcode::PONG if last && short <= CONTROL_MAX => {}
        _ => return Err(close_code::PROTOCOL),
    }
    let (length, header) = match short {
        126 => match rest.first_chunk() {
            Some(length) => (u64::from(u16::from_be_bytes(*length)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk() {
            Some(length) => (u64::from_be_bytes(*length), 10),
            None => return Ok(None),
        },
        _ => (short as u64, 2),
    };
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= MESSAGE_BYTES_MAX)
        .ok_or(close_code::TOO_BIG)?;
    let Some(payload) = bytes.get(header..header + length) else { return Ok(None) };
    Ok(Some((Frame { opcode: kind, last, payload }, header + length)))
}

/// A message whose fragments are coming.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Its opcode; zero while there is none.
    kind: u8,
    bytes: Vec<u8>,
}

impl Fragments {
    /// Takes a data frame. Returns the message that it makes whole.
    ///
    /// # Errors
    /// The code to close with.
    pub(super) fn take<'a>(&'a mut self, frame: &Frame<'a>) -> Result<Option<&'a [u8]>, u16> {
        let begun = self.kind != 0;
        if begun != (frame.opcode == opcode::CONTINUATION) {
            return Err(close_code::PROTOCOL);
        }
        if !begun && frame.last {
            return text(frame.opcode, frame.payload).map(Some);
        }
        if !begun {
            self.kind = frame.opcode;
            self.bytes.clear();
        }
        if self.bytes.len() + frame.payload.len() > MESSAGE_BYTES_MAX {
            return Err(close_code::TOO_BIG);
        }
        self.bytes.extend_from_slice(frame.payload);
        if !frame.last {
            return Ok(None);
        }
        text(std::mem::take(&mut self.kind), &self.bytes).map(Some)
    }
}

/// A message, where it is no text that is none.
fn text(kind: u8, message: &[u8]) -> Result<&[u8], u16> {
    if kind == opcode::TEXT && std::str::from_utf8(message).is_err() {
        return Err(close_code::INVALID_TEXT);
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_whole_however_they_are_cut() {
        for (length, header) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            let mut bytes = match header {
                2 => vec![0x82, length as u8],
                4 => [&[0x82, 126][..], &(length as u16).to_be_bytes()].concat(),
                _ => [&[0x82, 127][..], &(length as u64).to_be_bytes()].concat(),
            };
            bytes.resize(header + length, 7);
            for cut in [0, 1, 2, 3, 9, bytes.len() - 1] {
                if cut < bytes.len() {
                    assert_eq!(read(&bytes[..cut]), Ok(None), "{length} cut to {cut}");
                }
            }
            bytes.push(0xff);
            let (frame, used) = read(&bytes).unwrap().expect("it is whole");
            assert_eq!((frame.opcode, frame.last, frame.payload.len()), (2, true, length));
            assert_eq!(used, header + length);
        }
    }

    #[test]
    fn what_a_server_must_not_send_is_refused() {
        for (bytes, code) in [
            (&[0xc1, 0][..], 1002),
            (&[0x81, 0x80], 1002),
            (&[0x83, 0], 1002),
            (&[0x09, 0], 1002),
            (&[0x89, 126], 1002),
            (&[0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0], 1009),
            (&[0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0], 1009),
        ] {
            assert_eq!(read(bytes), Err(code), "{bytes:x?}");
        }
    }

    fn frame(opcode: u8, last: bool, payload: &[u8]) -> Frame<'_> {
        Frame { opcode, last, payload }
    }

    #[test]
    fn fragments_make_messages() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.take(&frame(1, true, b"a")), Ok(Some(&b"a"[..])));
        assert_eq!(fragments.take(&frame(1, false, b"\xc3")), Ok(None));
        assert_eq!(fragments.take(&frame(0, false, b"")), Ok(None));
        assert_eq!(fragments.take(&frame(0, true, b"\xa9")), Ok(Some("é".as_bytes())));
        assert_eq!(fragments.take(&frame(2, true, b"\xff")), Ok(Some(&b"\xff"[..])));
        assert_eq!(fragments.take(&frame(0, true, b"")), Err(1002), "nothing is continued");
        assert_eq!(fragments.take(&frame(1, true, b"\xff")), Err(1007));
        assert_eq!(fragments.take(&frame(2, false, b"a")), Ok(None));
        assert_eq!(fragments.take(&frame(2, true, b"a")), Err(1002), "a message in another");
    }

    #[test]
    fn fragments_have_a_bound_together() {
        let mut fragments = Fragments::default();
        let half = vec![0; MESSAGE_BYTES_MAX / 2];
        assert_eq!(fragments.take(&frame(2, false, &half)), Ok(None));
        assert_eq!(fragments.take(&frame(0, false, &half)), Ok(None));
        assert_eq!(fragments.take(&frame(0, true, b"1")), Err(1009));
    }
}
