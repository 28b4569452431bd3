//! The results of a run: files in a folder, and copies of them in an object store.
//!
//! A folder is one run: `result.json` has everything, the other files are made from it. A result that is there already
//! is never written over.

#[cfg(feature = "upload")]
mod copy;
mod files;
mod transfer;
mod upload;

pub use files::{Error, read, write};
pub use stadium_objects::{Access, Error as UploadError};
pub use transfer::Sent;
pub use upload::{CAN_UPLOAD, upload};
