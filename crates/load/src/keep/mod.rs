//! Keeps what a run measured: files in a folder, and copies of them in an object store.
//!
//! A folder is one run: `result.json` has everything, the other files are made from it. A result that is there already
//! is never written over.

mod files;
mod place;
mod upload;

pub use files::{Error, read, write};
pub use upload::{Error as UploadError, Sent, UploadOptions, upload};

#[cfg(test)]
mod store;
