//! The data folder: is it there or can it be made, may it be written, does a server have it.

use std::fs::{File, TryLockError};
use std::path::Path;

use rustix::fs::{Access, access};
use stadium_http::key_store::KeyStore;

use super::{Findings, Severity};
use crate::data_directory::LOCK_NAME;
use crate::running;
use crate::settings::Code;

const SETTING: &str = "server.data";

/// Looks. True where a server runs on it.
pub(super) fn check(findings: &mut Findings<'_>) -> bool {
    let data = findings.loaded.settings.server.data.clone();
    let error = (Severity::Error, Code::Data);
    if !data.exists() {
        makeable(findings, &data);
        return false;
    }
    if !data.is_dir() {
        findings.add(
            error,
            SETTING,
            Some(data),
            "it is no folder",
            "name another path, or move the file away",
        );
        return false;
    }
    if let Err(refused) = access(&data, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        let message = format!("the folder cannot be read and written: {refused}");
        findings.add(error, SETTING, Some(data), message, "make this user its owner (chown), mode 0700");
        return false;
    }
    if stadium_archive::is_unfinished(&data) {
        let message = "it is no whole data directory: a restore is writing it or was interrupted";
        let remedy = "run `stadium restore` on it again";
        findings.add(error, SETTING, Some(data.join(stadium_archive::MARK)), message, remedy);
        return false;
    }
    if let Err(wrong) = KeyStore::check(&data) {
        let remedy = "mend the file, or move it away: the next start makes one with a new admin key";
        findings.add(error, SETTING, Some(data.join("api-keys.toml")), wrong.to_string(), remedy);
    }
    let lock = data.join(LOCK_NAME);
    let taken = match File::options().write(true).open(&lock) {
        Ok(file) => match file.try_lock() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(refused)) => {
                let remedy = "use a file system that has file locks";
                findings.add(error, SETTING, Some(lock), format!("it cannot be locked: {refused}"), remedy);
                false
            }
        },
        Err(refused) if refused.kind() == std::io::ErrorKind::NotFound => false,
        Err(refused) => {
            let remedy = "make this user its owner (chown)";
            findings.add(error, SETTING, Some(lock), format!("it cannot be written: {refused}"), remedy);
            false
        }
    };
    if taken {
        let pid = running::read(&data).map_or_else(String::new, |running| format!(" (pid {})", running.pid));
        let message = format!("a server is running on this folder{pid}");
        let remedy = "a second one does not start; ports that it has are not counted as taken";
        findings.add((Severity::Note, Code::Data), SETTING, Some(data), message, remedy);
    }
    taken
}

/// Whether the folder can be made: the nearest that is there must be a folder that this user may write.
fn makeable(findings: &mut Findings<'_>, data: &Path) {
    let error = (Severity::Error, Code::Data);
    let named = |path| if path == Path::new("") { Path::new(".") } else { path };
    let Some(above) = data.ancestors().skip(1).map(named).find(|path| path.exists()) else { return };
    if !above.is_dir() {
        let message = format!("it cannot be made: {} is no folder", above.display());
        findings.add(error, SETTING, Some(data.to_owned()), message, "name another path");
    } else if let Err(refused) = access(above, Access::WRITE_OK | Access::EXEC_OK) {
        let message = format!("it cannot be made: {} may not be written: {refused}", above.display());
        let remedy = "make it for this user, or name another path";
        findings.add(error, SETTING, Some(data.to_owned()), message, remedy);
    }
}
