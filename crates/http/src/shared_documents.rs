//! Documents that all nodes of a cluster share: API keys, and secrets that tokens are made with.
//!
//! The node gives them to the port ([`crate::Config::shared`]); this crate knows only this trait. A
//! standalone server has none, and keeps the same things in files of its data directory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Texts by name. A name is one or two words with a slash between, as `keys/k_3f9a01c2d4e5`.
pub type Texts = BTreeMap<String, String>;

/// Documents as of one version.
#[derive(Clone)]
pub struct Documents {
    /// Differs from that of every other state of the documents in this process.
    pub version: u64,
    /// All of them.
    pub texts: Arc<Texts>,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the texts: some are secrets.
        f.debug_struct("Documents").field("version", &self.version).finish_non_exhaustive()
    }
}

/// The documents of a cluster, as one of its nodes knows them.
/// `Debug` shows no text: some are secrets.
pub trait SharedDocuments: fmt::Debug + Send + Sync {
    /// The version of the documents that [`Self::read`] gives. Waits for nothing.
    fn version(&self) -> u64;

    /// The documents as this node knows them. Waits for nothing: they may be those of a second ago,
    /// or older while the other nodes cannot be reached.
    fn read(&self) -> Documents;

    /// Changes documents as one, and gives them as they are then. `change` gets the newest texts,
    /// and is called again with newer ones if another node changed them meanwhile. So it may get texts
    /// that have its own change already. Where it returns false, nothing is written.
    ///
    /// Waits for the other nodes' store, up to some seconds.
    ///
    /// # Errors
    /// [`NotChanged`].
    fn change(&self, change: &mut dyn FnMut(&mut Texts) -> bool) -> Result<Documents, NotChanged>;
}

/// Why shared documents were not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotChanged {
    /// The store is away or refuses; nothing was changed.
    Away(String),
    /// The store did not confirm the change in time: it may be made.
    Unknown(String),
    /// A document would be too large, or there would be too many of them; nothing was changed.
    TooLarge(String),
}

impl fmt::Display for NotChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(reason) => write!(f, "nothing was changed: {reason}"),
            Self::Unknown(reason) => write!(f, "it may have been changed: {reason}"),
            Self::TooLarge(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for NotChanged {}
