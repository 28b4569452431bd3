//! Runs the asynchronous work of an archive on the caller's thread.
//!
//! Exports, backups and restores block: their callers are threads of their own.

use stadium_objects::Error as StoreError;

use crate::Error;

/// Runs to the end on this thread.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = stadium_objects::runtime()
        .map_err(|error| StoreError::Refused { object: "a runtime".to_owned(), reason: error.to_string() })?;
    runtime.block_on(work)
}
