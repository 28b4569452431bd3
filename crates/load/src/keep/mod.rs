//! Keeps what a run measured: files in a folder, and copies of them in an object store.
//!
//! A folder is one run: `result.json` has everything, the other files are made from it. A result that is there already
//! is never written over.

#[cfg(feature = "upload")]
mod copy;
mod files;
#[cfg(feature = "upload")]
mod place;
mod upload;

pub use files::{Error, read, write};
pub use upload::{CAN_UPLOAD, Error as UploadError, Sent, UploadOptions, upload};

#[cfg(all(test, feature = "upload"))]
mod store;
