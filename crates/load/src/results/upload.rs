//! Copies a run's files to an object store: S3 and what speaks like it, Google, Azure, or a folder.
//!
//! The result goes last: where `result.json` lies, the rest lies too. Requests that fail for a
//! passing reason are repeated for [`Access::retry_for`]; nothing here is removed, so an
//! upload that failed can be made again.

use std::path::PathBuf;

use stadium_objects::{Access, Error};

use super::transfer::Sent;

/// Whether this program can upload: it was built with the feature `upload`.
pub const CAN_UPLOAD: bool = cfg!(feature = "upload");

/// Copies files under their own names to `url`, reporting to `progress` how far it is. Gives the
/// URLs of the copies.
///
/// An object of the same name is replaced: let the URL end with the run's id. Blocks until all is
/// stored.
///
/// # Errors
/// See [`Error`]; files stored before it stay there.
pub fn upload(
    files: &[PathBuf],
    url: &str,
    access: &Access,
    progress: &mut (dyn FnMut(Sent<'_>) + Send),
) -> Result<Vec<String>, Error> {
    #[cfg(feature = "upload")]
    {
        let runtime = stadium_objects::runtime()
            .map_err(|error| Error::Refused { object: url.to_owned(), reason: error.to_string() })?;
        runtime.block_on(super::copy::send(files, url, access, progress))
    }
    #[cfg(not(feature = "upload"))]
    {
        let _ = (files, access, progress);
        Err(Error::Url(format!("{url:?} cannot be uploaded to: this program was built without `upload`")))
    }
}

#[cfg(all(test, feature = "upload"))]
mod tests;
