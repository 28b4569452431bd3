//! Secrets of the data directory: 32 random bytes in a file for its owner alone.
//!
//! A secret is made at the first start and never replaced: what was sealed or signed with it would
//! be void.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

/// Opens the secret in this file of a data directory; at the first start it is made. `what` names
/// its use, `loss` what a new one ends.
///
/// # Errors
/// The system's error, or that the file is not one of this server; it is never replaced.
pub(crate) fn open(dir: &Path, file: &str, what: &str, loss: &str) -> io::Result<[u8; 32]> {
    let path = dir.join(file);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    match fs::read_to_string(&path) {
        Ok(text) => read(&text).ok_or_else(|| {
            let reason = format!(
                "it is not a secret of {what}; mend it, or move it away to start anew, which ends {loss}"
            );
            named(io::Error::new(io::ErrorKind::InvalidData, reason))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path).map_err(named),
        Err(error) => Err(named(error)),
    }
}

fn read(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text.trim()).ok()?.try_into().ok()
}

/// Makes a secret; it is on disk, readable by its owner alone, when this returns.
fn make(path: &Path) -> io::Result<[u8; 32]> {
    let mut secret = [0; 32];
    SystemRandom::new().fill(&mut secret).map_err(|_| io::Error::other("the system gave no random bytes"))?;
    let fresh = path.with_extension("key.new");
    // A file that a crash left behind may have other permissions.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh)?;
    file.write_all(format!("{}\n", URL_SAFE_NO_PAD.encode(secret)).as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_for_its_owner_alone_and_a_damaged_one_stays() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let opened = || open(dir.path(), "some.key", "some kind", "all of it");
        let first = opened().expect("it is made");
        let path = dir.path().join("some.key");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        assert_eq!(opened().expect("opens again"), first);
        assert_ne!(open(dir.path(), "other.key", "", "").expect("it is made"), first);

        fs::write(&path, "short").expect("writes");
        let error = opened().expect_err("it is refused").to_string();
        assert!(error.contains("some.key: it is not a secret of some kind"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "short");
    }
}
