//! The results of a run: files in a folder, and copies of them in an object store.
//!
//! A folder is one run: `result.json` has everything, the other files are made from it. A result that is there already
//! is never written over.

#[cfg(feature = "upload")]
mod copy;
mod failure;
mod files;
#[cfg(feature = "upload")]
mod place;
mod transfer;
mod upload;

pub use failure::Error as UploadError;
pub use files::{Error, read, write};
pub use transfer::{Sent, UploadOptions};
pub use upload::{CAN_UPLOAD, upload};

#[cfg(all(test, feature = "upload"))]
mod store;
