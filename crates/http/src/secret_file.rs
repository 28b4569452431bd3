//! Secrets that the server made: 32 random bytes in a file for its owner alone, or in a document
//! that the nodes of a cluster share.
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

use crate::config::Config;
use crate::shared_documents::SharedDocuments;

/// Opens the secret of this file in the data directory, or the one that the cluster has in its
/// place. At the first start it is made; that of a cluster is the file of the first node which has
/// one. `what` names its use, `loss` what a new one ends.
///
/// # Errors
/// The system's error, or that the file is not one of this server; it is never replaced.
pub(crate) fn open(config: &Config, file: &str, what: &str, loss: &str) -> io::Result<[u8; 32]> {
    match &config.shared {
        None => open_file(&config.data_dir, file, what, loss),
        Some(shared) => open_shared(&**shared, &config.data_dir, file, what, loss),
    }
}

pub(crate) fn open_file(dir: &Path, file: &str, what: &str, loss: &str) -> io::Result<[u8; 32]> {
    let path = dir.join(file);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    match fs::read_to_string(&path) {
        Ok(text) => read(&text).ok_or_else(|| named(damaged(what, loss))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path).map_err(named),
        Err(error) => Err(named(error)),
    }
}

/// As [`open`], of the cluster that these documents are of.
pub(crate) fn open_shared(
    shared: &dyn SharedDocuments,
    dir: &Path,
    file: &str,
    what: &str,
    loss: &str,
) -> io::Result<[u8; 32]> {
    let name = format!("secrets/{file}");
    let mut known = shared.read();
    if !known.texts.contains_key(&name) {
        let here = match dir.join(file).try_exists()? {
            true => open_file(dir, file, what, loss)?,
            false => random()?,
        };
        let changed = shared.change(&mut |texts| {
            texts.entry(name.clone()).or_insert_with(|| URL_SAFE_NO_PAD.encode(here));
            true
        });
        known = changed.map_err(|error| io::Error::other(format!("{name}: {error}")))?;
    }
    known.texts.get(&name).and_then(|text| read(text)).ok_or_else(|| {
        let error = damaged(what, loss);
        io::Error::new(error.kind(), format!("the cluster's document {name}: {error}"))
    })
}

fn damaged(what: &str, loss: &str) -> io::Error {
    let reason =
        format!("it is not a secret of {what}; mend it, or move it away to start anew, which ends {loss}");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn read(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text.trim()).ok()?.try_into().ok()
}

/// Makes a secret; it is on disk, readable by its owner alone, when this returns.
fn make(path: &Path) -> io::Result<[u8; 32]> {
    let secret = random()?;
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

fn random() -> io::Result<[u8; 32]> {
    let mut secret = [0; 32];
    SystemRandom::new().fill(&mut secret).map_err(|_| io::Error::other("the system gave no random bytes"))?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_for_its_owner_alone_and_a_damaged_one_stays() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let opened = || open_file(dir.path(), "some.key", "some kind", "all of it");
        let first = opened().expect("it is made");
        let path = dir.path().join("some.key");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        assert_eq!(opened().expect("opens again"), first);
        assert_ne!(open_file(dir.path(), "other.key", "", "").expect("it is made"), first);

        fs::write(&path, "short").expect("writes");
        let error = opened().expect_err("it is refused").to_string();
        assert!(error.contains("some.key: it is not a secret of some kind"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "short");
    }
}
