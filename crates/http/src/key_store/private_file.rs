//! Files that only the server's user may read.
//!
//! A file is replaced whole: a crash leaves the old or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::Error;

/// Replaces a file whole, readable by its owner alone; it is on disk when this returns.
pub(crate) fn write_private(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::Io { path: path.to_owned(), error };
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    // A file that a crash left behind may have other permissions.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut file =
        OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh).map_err(failed)?;
    file.write_all(contents).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&fresh, path).map_err(failed)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)
}
