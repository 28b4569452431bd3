//! The files of the log: `audit.ndjson`, and older ones that were full.
//!
//! A full file is renamed to `audit-000001.ndjson` and so on; the oldest ones beyond the bound are
//! removed. `audit.1.ndjson` is the older file of earlier versions.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Bytes read at once, from the end backwards.
const BLOCK_BYTES: u64 = 64 << 10;

/// Only the server's user reads it: paths and names of an audit log are nobody else's business.
const MODE: u32 = 0o600;

/// The file that is written.
pub(super) fn current(data_dir: &Path) -> PathBuf {
    data_dir.join("audit.ndjson")
}

/// The older files, the oldest first.
pub(super) fn older(data_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbered: Vec<(u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(data_dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name.strip_suffix(".ndjson").and_then(|name| name.strip_prefix("audit")) {
            Some(".1") => numbered.push((0, path)),
            Some(number) => {
                let number = number.strip_prefix('-').and_then(|number| number.parse().ok());
                numbered.extend(number.map(|number| (number, path)));
            }
            None => {}
        }
    }
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

/// All files, the oldest first; the current one is the last, and may not be there.
pub(super) fn all(data_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = older(data_dir)?;
    paths.push(current(data_dir));
    Ok(paths)
}

/// Opens the current file for new lines, and returns its bytes. A line that a crash tore is ended.
pub(super) fn append(data_dir: &Path) -> io::Result<(File, u64)> {
    let path = current(data_dir);
    let mut file = OpenOptions::new().create(true).append(true).read(true).mode(MODE).open(path)?;
    file.set_permissions(Permissions::from_mode(MODE))?;
    let mut bytes = file.metadata()?.len();
    if bytes > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(bytes - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
            bytes += 1;
        }
    }
    Ok((file, bytes))
}

/// Makes the current file the newest of the older ones, and removes the oldest beyond `files_max`
/// files in all; 0 removes none.
pub(super) fn rotate(data_dir: &Path, files_max: usize) -> io::Result<()> {
    let mut older = older(data_dir)?;
    let last = older.last().and_then(|path| path.file_stem()?.to_str()?.strip_prefix("audit-")?.parse().ok());
    let next: u64 = last.unwrap_or(0) + 1;
    let full = data_dir.join(format!("audit-{next:06}.ndjson"));
    fs::rename(current(data_dir), &full)?;
    older.push(full);
    let beyond = if files_max == 0 { 0 } else { (older.len() + 1).saturating_sub(files_max) };
    for path in older.iter().take(beyond) {
        tracing::warn!(path = %path.display(), "The oldest file of the audit log is removed");
        fs::remove_file(path)?;
    }
    Ok(())
}

/// The last things that a file's lines hold, the last first; none of a file that is not there.
/// Lines that `read` does not know are passed over.
pub(super) fn last<T>(path: &Path, limit: usize, read: impl Fn(&str) -> Option<T>) -> io::Result<Vec<T>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut from = file.metadata()?.len();
    let mut found = Vec::new();
    // The end of a line that begins in an earlier block.
    let mut rest: Vec<u8> = Vec::new();
    while from > 0 && found.len() < limit {
        let block = from.min(BLOCK_BYTES);
        from -= block;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; block as usize];
        file.read_exact(&mut bytes)?;
        bytes.extend(&rest);
        let whole = match bytes.iter().position(|&byte| byte == b'\n') {
            _ if from == 0 => 0,
            Some(end) => end + 1,
            None => bytes.len(),
        };
        let lines = bytes[whole..].split(|&byte| byte == b'\n').rev();
        let known = lines.filter_map(|line| read(&String::from_utf8_lossy(line)));
        found.extend(known.take(limit - found.len()));
        bytes.truncate(whole);
        rest = bytes;
    }
    Ok(found)
}
