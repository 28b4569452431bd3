//! Web Push: applications push to devices by RFC 8030, with any sender's library and without an API key.
//!
//! An endpoint is an address that cannot be guessed. All its data is sealed inside it ([`tokens`]),
//! so nothing is kept for it but its number, in the attribute [`ATTRIBUTE`] of its device: that is
//! journaled with the device, goes where it goes, and ends when the device is removed. A
//! subscription whose number does not stand there is over. Payloads are encrypted for the device
//! (RFC 8291) and forwarded as they are.

use std::io;

use tokio::sync::Mutex;

use crate::config::Config;
use crate::secret_file;

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
    /// Opens the secret of a data directory or a cluster; at the first start it is made.
    ///
    /// # Errors
    /// The system's error, or that the file is not one of this server; it is never replaced.
    pub(crate) fn open(config: &Config) -> io::Result<Self> {
        let secret = secret_file::open(config, SECRET_FILE, "web push", "all subscriptions")?;
        Ok(Self { vault: Vault::new(&secret), verifier: Verifier::default(), changes: Mutex::new(()) })
    }
}
