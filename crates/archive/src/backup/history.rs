//! The history of a data directory: an id that tells a server from its restored copy.
//!
//! Both have the journals of one id. Their records differ after the moment of the restore, so their
//! backups never go to one place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::Error;

/// The file in the data directory.
pub(super) const FILE: &str = "backup.id";

/// Reads the history of a data directory; draws one where it has none yet.
///
/// # Errors
/// `File`.
pub fn history(data: &Path) -> Result<String, Error> {
    let path = data.join(FILE);
    let read = || -> io::Result<String> {
        match fs::read_to_string(&path) {
            Ok(text) if is_history(text.trim()) => return Ok(text.trim().to_owned()),
            Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no id of 16 digits")),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let id = format!("{:016x}", fastrand::u64(..));
        let new = data.join(format!("{FILE}.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        writeln!(file, "{id}")?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(data)?.sync_all()?;
        Ok(id)
    };
    read().map_err(Error::file(&path))
}

fn is_history(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}
