//! Web Push: applications push to devices by RFC 8030, with any sender's library and without an API key.
//!
//! An endpoint is an address that cannot be guessed. All its data is sealed inside it ([`tokens`]),
//! so nothing is kept for it but its number, in the attribute [`ATTRIBUTE`] of its device: that is
//! journaled with the device, goes where it goes, and ends when the device is removed. A
//! subscription whose number does not stand there is over. Payloads are encrypted for the device
//! (RFC 8291) and forwarded as they are.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::Mutex;

pub(crate) mod description;
pub(crate) mod messages;
pub(crate) mod problems;
pub(crate) mod routes;
pub(crate) mod subscriptions;
pub(crate) mod tokens;
pub(crate) mod vapid;

use tokens::Vault;
use vapid::Verifier;

/// The attribute of a device that holds the numbers of its subscriptions, with a space between.
pub(crate) const ATTRIBUTE: &str = "webpush";

/// The file of the secret that endpoints are sealed with. A holder of the file can make endpoints;
/// without it all that were made are void.
const SECRET_FILE: &str = "webpush.key";

/// What the endpoints of one data directory share.
pub(crate) struct WebPush {
    pub(crate) vault: Vault,
    pub(crate) verifier: Verifier,
    /// Held while a device's attribute is read, changed and written, so that two subscriptions made at once are both there.
    pub(crate) changes: Mutex<()>,
}

impl WebPush {
    /// Opens the secret of a data directory; at the first start it is made.
    ///
    /// # Errors
    /// The system's error, or that the file is not one of this server; it is never replaced.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        let path = dir.join(SECRET_FILE);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let secret = match fs::read_to_string(&path) {
            Ok(text) => read_secret(&text).ok_or_else(|| {
                let reason = "it is not a secret of web push; mend it, or move it away to start anew, which ends all subscriptions";
                named(io::Error::new(io::ErrorKind::InvalidData, reason))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => make_secret(&path).map_err(named)?,
            Err(error) => return Err(named(error)),
        };
        Ok(Self { vault: Vault::new(&secret), verifier: Verifier::default(), changes: Mutex::new(()) })
    }
}

fn read_secret(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text.trim()).ok()?.try_into().ok()
}

/// Makes a secret; it is on disk, readable by its owner alone, when this returns.
fn make_secret(path: &Path) -> io::Result<[u8; 32]> {
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
    fn the_secret_is_made_once_for_its_owner_alone_and_a_damaged_one_stays() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        drop(WebPush::open(dir.path()).expect("opens"));
        let path = dir.path().join(SECRET_FILE);
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
        let first = fs::read_to_string(&path).expect("it is there");
        drop(WebPush::open(dir.path()).expect("opens again"));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), first);

        fs::write(&path, "short").expect("writes");
        let error = WebPush::open(dir.path()).err().expect("it is refused").to_string();
        assert!(error.contains("webpush.key: it is not a secret of web push"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "short");
    }
}
