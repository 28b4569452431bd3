//! Reading and writing of fixed fields, little-endian, and the envelope of all small objects.
//!
//! Each begins with eight magic bytes and a version, and ends with the CRC-32C of all before it.
//! These have the same places in all versions, so damage is not taken for a newer version.

use crate::Error;

/// The version of all objects that this code writes and reads.
pub(crate) const VERSION: u32 = 1;

/// Writes an object.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(magic: &[u8; 8]) -> Self {
        let mut bytes = magic.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The object, with its checksum.
    pub(crate) fn end(mut self) -> Vec<u8> {
        let sum = crc32c::crc32c(&self.0);
        self.u32(sum);
        self.0
    }
}

/// Reads an object whose checksum was verified.
pub(crate) struct Reader<'a> {
    name: &'a str,
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Verifies magic, checksum and version. `name` is for errors.
    ///
    /// # Errors
    /// `Damaged`; `Foreign` for another version.
    pub(crate) fn new(name: &'a str, magic: &[u8; 8], object: &'a [u8]) -> Result<Self, Error> {
        let damaged = || Error::Damaged(format!("{name} is damaged: its checksum is wrong"));
        let (body, sum) = object.split_last_chunk::<4>().ok_or_else(damaged)?;
        let rest = body.strip_prefix(magic).ok_or_else(damaged)?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*sum) {
            return Err(damaged());
        }
        let mut reader = Self { name, left: rest };
        match reader.u32()? {
            VERSION => Ok(reader),
            version => Err(Error::Foreign(format!(
                "{name} has version {version}, this program knows {VERSION}: use a newer stadium"
            ))),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, left) = self.left.split_first_chunk().ok_or_else(|| self.wrong("it ends too early"))?;
        self.left = left;
        Ok(*array)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (bytes, left) =
            self.left.split_at_checked(count).ok_or_else(|| self.wrong("it ends too early"))?;
        self.left = left;
        Ok(bytes)
    }

    /// Nothing may follow.
    pub(crate) fn end(self) -> Result<(), Error> {
        match self.left {
            [] => Ok(()),
            _ => Err(self.wrong("something follows its end")),
        }
    }

    /// An object whose checksum is right and whose content is not.
    pub(crate) fn wrong(&self, what: &str) -> Error {
        Error::Damaged(format!("{} is damaged: {what}", self.name))
    }
}
