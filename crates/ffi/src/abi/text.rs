//! Texts, bytes and objects that C hands over.

use std::ffi::{CStr, c_char};

use crate::error::Error;

/// Bytes that somebody else owns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct stadium_bytes {
    /// The first of them; may be null where there are none.
    pub data: *const u8,
    /// How many.
    pub size: usize,
}

impl stadium_bytes {
    /// None.
    pub(super) const EMPTY: Self = Self { data: std::ptr::null(), size: 0 };

    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), size: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// `data` points at `size` bytes that nobody changes for as long as the slice is used.
    pub(super) unsafe fn read<'a>(self, what: &str) -> Result<&'a [u8], Error> {
        if self.size == 0 {
            return Ok(&[]);
        }
        if self.data.is_null() || self.size > isize::MAX as usize {
            return Err(Error::invalid(format!("{what} has {} bytes at {:p}", self.size, self.data)));
        }
        // SAFETY: not null, of a size that a slice may have; the rest is the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(self.data, self.size) })
    }

    /// The bytes, unless there is no pointer.
    ///
    /// # Safety
    /// As [`stadium_bytes::read`].
    pub(super) unsafe fn read_optional<'a>(self, what: &str) -> Result<Option<&'a [u8]>, Error> {
        if self.data.is_null() && self.size == 0 {
            return Ok(None);
        }
        // SAFETY: the caller's promise is the same.
        unsafe { self.read(what) }.map(Some)
    }
}

/// A text that ends with a zero byte.
///
/// # Safety
/// `text` is null, or points at bytes of which one is zero and that nobody changes meanwhile.
pub(super) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(Error::invalid(format!("{what} is null")));
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Error::invalid(format!("{what} is not UTF-8")))
}

/// An object of this library.
///
/// # Safety
/// `object` is null, or was made by this library and not freed.
pub(super) unsafe fn object<'a, T>(object: *const T, what: &str) -> Result<&'a T, Error> {
    // SAFETY: the caller's promise.
    unsafe { object.as_ref() }.ok_or_else(|| Error::invalid(format!("{what} is null")))
}

/// As [`object`], for one that only this thread uses.
///
/// # Safety
/// As [`object`], and nobody else uses it meanwhile.
pub(super) unsafe fn object_mut<'a, T>(object: *mut T, what: &str) -> Result<&'a mut T, Error> {
    // SAFETY: the caller's promise.
    unsafe { object.as_mut() }.ok_or_else(|| Error::invalid(format!("{what} is null")))
}

/// Frees an object.
///
/// # Safety
/// `object` is null, or was made by this library, was not freed, and is not used any more.
pub(super) unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        let dropping = || {
            // SAFETY: it was made by `Box::into_raw`, and by the caller's promise it is not used again.
            drop(unsafe { Box::from_raw(object) });
            Ok(())
        };
        super::failing::guarded(|_| (), dropping);
    }
}
