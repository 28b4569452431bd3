//! Numbers, texts and the like out of bytes, as docs/formats/wallet-events.md has them.
//!
//! Written for this crate alone: the wallet's own reading is what is checked here.

/// Bytes to be read from the front. An error describes the mistake in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, bytes: usize) -> Result<&'a [u8], String> {
        if bytes > self.rest.len() {
            return Err(format!("{bytes} bytes should follow, and {} do", self.rest.len()));
        }
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], String> {
        let taken = self.take(BYTES)?;
        Ok(taken.try_into().expect("so many were taken"))
    }

    /// Seven bits a byte, lowest first.
    pub(crate) fn number(&mut self) -> Result<u64, String> {
        let mut value = 0_u128;
        for place in 0..10 {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return u64::try_from(value).map_err(|_| "a number of more than 64 bits".to_owned());
            }
        }
        Err("a number of more than ten bytes".to_owned())
    }

    pub(crate) fn small(&mut self) -> Result<u32, String> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| format!("{number} is out of bounds"))
    }

    /// Zigzag: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
    pub(crate) fn signed(&mut self) -> Result<i64, String> {
        let raw = self.number()?;
        let half = i64::try_from(raw / 2).expect("half of it fits");
        Ok(if raw % 2 == 0 { half } else { -half - 1 })
    }

    /// A timestamp: its distance from the record's.
    pub(crate) fn timestamp(&mut self, time: u64) -> Result<u64, String> {
        let distance = self.signed()?;
        time.checked_add_signed(distance)
            .ok_or_else(|| "a time before 1970 or after the end of time".to_owned())
    }

    /// Bytes, by their number.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], String> {
        let length = self.number()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|_| "a text that is not UTF-8".to_owned())
    }

    pub(crate) fn id(&mut self) -> Result<u128, String> {
        Ok(u128::from_be_bytes(self.array()?))
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn numbers_come_out_as_on_the_page() {
        for (bytes, number) in [(&[0][..], 0), (&[0x7f], 127), (&[0x80, 1], 128), (&[0xac, 0x02], 300)] {
            assert_eq!(Cursor::new(bytes).number(), Ok(number));
        }
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Cursor::new(&most).number(), Ok(u64::MAX));
        assert_eq!(Cursor::new(&most).signed(), Ok(i64::MIN));
        for (raw, signed) in [(0, 0), (1, -1), (2, 1), (3, -2), (4, 2)] {
            assert_eq!(Cursor::new(&[raw]).signed(), Ok(signed));
        }
    }

    #[test]
    fn bytes_that_are_cut_or_too_long_are_an_error() {
        assert!(Cursor::new(&[0x80]).number().is_err());
        assert!(Cursor::new(&[0xff; 11]).number().is_err());
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number().is_err());
        assert!(Cursor::new(&[3, b'a', b'b']).text().is_err());
        assert!(Cursor::new(&[1, 0xff]).text().is_err());
        assert!(Cursor::new(&[1]).timestamp(0).is_err());
        assert_eq!(Cursor::new(&[1]).timestamp(5), Ok(4));
    }
}
