//! Notices that the process was forked: a child has none of the threads that its objects need.
//!
//! Every object remembers the generation of the process that made it and refuses to work in
//! another one. A handler of `pthread_atfork(3)` counts, because asking for the process id would
//! cost a system call for each call.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Error;

static GENERATION: AtomicU32 = AtomicU32::new(0);
static REGISTERED: Once = Once::new();

/// The process that made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The process that runs now.
    #[must_use]
    pub fn current() -> Self {
        REGISTERED.call_once(|| crate::sys::after_fork(count));
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether the process was forked since, and this is the child.
    #[must_use]
    pub fn is_gone(self) -> bool {
        self.0 != GENERATION.load(Ordering::Relaxed)
    }

    /// Refuses to go on in a child.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn check(self) -> Result<(), Error> {
        if self.is_gone() { Err(Error::Forked) } else { Ok(()) }
    }
}

/// Something with threads or descriptors that belong to the process that made it. A child never
/// drops it: that would wait for threads which are not there, or change descriptors which the
/// parent uses.
pub struct OfProcess<T> {
    value: Option<T>,
    made_by: Process,
}

impl<T> OfProcess<T> {
    /// Something of this process.
    pub fn new(value: T) -> Self {
        Self { value: Some(value), made_by: Process::current() }
    }

    /// The value, unless this is a child of the process that made it.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn here(&self) -> Result<&T, Error> {
        self.made_by.check()?;
        Ok(self)
    }

    /// As [`OfProcess::here`], to change it.
    ///
    /// # Errors
    /// [`Error::Forked`].
    pub fn here_mut(&mut self) -> Result<&mut T, Error> {
        self.made_by.check()?;
        Ok(self)
    }

    /// The value itself. The process that made it is the one that asks.
    pub fn into_inner(mut self) -> T {
        self.value.take().expect("it is taken by drop alone")
    }
}

impl<T> Deref for OfProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is taken by drop alone")
    }
}

impl<T> DerefMut for OfProcess<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is taken by drop alone")
    }
}

impl<T> Drop for OfProcess<T> {
    fn drop(&mut self) {
        if self.made_by.is_gone() {
            std::mem::forget(self.value.take());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for OfProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

extern "C" fn count() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
