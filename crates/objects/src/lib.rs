//! Object stores by URL: S3 and its relatives, Google, Azure, or a folder of this machine.
//!
//! A [`Place`] is a store and a prefix in it. Credentials come from an [`Access`], which is the
//! environment as a rule: never from arguments, which other users of the machine can see. Files
//! travel in parts, so memory is bounded, and no faster than a [`Pace`] allows. The purpose of the
//! objects is the caller's business.

mod access;
mod failure;
#[cfg(feature = "clients")]
mod pace;
#[cfg(feature = "clients")]
mod place;
#[cfg(feature = "s3-server")]
pub mod s3_server;
#[cfg(feature = "clients")]
mod transfer;

pub use access::Access;
pub use failure::{Error, is_out_of_room};
#[cfg(feature = "clients")]
pub use pace::Pace;
#[cfg(feature = "clients")]
pub use place::Place;
#[cfg(feature = "clients")]
pub use transfer::{PART_BYTES, Source, put_file, read_object};

/// A runtime of the calling thread, for callers that block until a transfer has ended.
///
/// # Errors
/// Of the system.
#[cfg(feature = "clients")]
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
