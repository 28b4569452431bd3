//! The live view of a program that was built without the feature `tui`: nobody ever watches.

use std::convert::Infallible;
use std::io;

use super::wish::Wish;
use crate::run::Progress;

/// No value of it exists.
#[derive(Debug)]
pub struct Terminal(Infallible);

impl Terminal {
    /// Never: lines are printed instead.
    pub fn watched() -> bool {
        false
    }

    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this program was built without `tui`"))
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn show(&mut self, _: &Progress<'_>) -> io::Result<()> {
        match self.0 {}
    }

    /// Cannot be called.
    pub fn key(&mut self) -> Option<Wish> {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn close(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}
