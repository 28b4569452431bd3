//! The object of a backup: JSON in the envelope of all small objects.
//!
//! JSON, since it has names and optional parts, and an operator can read it in the bucket. A reader
//! ignores fields that it does not know.

use serde::{Deserialize, Serialize};

use crate::series::Series;
use crate::wire::{Reader, Writer};
use crate::{Archive, Error, layout};

const MAGIC: &[u8; 8] = b"STADBKUP";

/// One state of a server.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Backup {
    /// Its number, from 1; the newest has the greatest.
    pub number: u64,
    /// It holds every record whose time is not later, milliseconds since 1970.
    pub moment_ms: u64,
    /// When it was begun.
    pub began_ms: u64,
    /// When it was whole in the store, by the clock of its writer.
    pub stored_ms: u64,
    /// The history of the server: a restored data directory begins another one.
    pub history: String,
    /// The version of the program that made it.
    pub version: String,
    /// Drawn for each backup: its creator recognises it after an answer that was lost.
    pub random: u64,
    /// Each shard, in their order.
    pub shards: Vec<OfShard>,
    /// Files of the data directory beside the shards.
    pub files: Vec<StoredFile>,
    /// Files that were left out because they hold secrets in plain text.
    pub left_out: Vec<String>,
    /// The configuration, and the files that it names. Absent in backups of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<ConfiguredFile>,
}

/// A file of the configuration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConfiguredFile {
    /// The setting that names it, or the name of the configuration itself.
    pub setting: String,
    /// Where it was; none for the configuration, which may come from several places.
    pub path: Option<String>,
    /// The bits of its permissions.
    pub mode: u32,
    /// Its name among `files`; none where it was left out.
    pub stored: Option<String>,
}

/// A shard in a backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OfShard {
    /// The number of its manifest.
    pub manifest: u64,
    /// The position after the last record that was stored; records after the moment may be among
    /// them.
    pub end: u64,
    /// The newest seal of the wallets that the server knew before the moment.
    pub seal: Option<SealOf>,
}

/// A seal of the wallets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SealOf {
    /// Its number.
    pub number: u64,
    /// Its root, 64 hexadecimal digits.
    pub root: String,
}

/// A file beside the shards, in pieces.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its name in the data directory.
    pub name: String,
    /// Bytes of it.
    pub bytes: u64,
    /// The SHA-256 of each piece, which is the name of its object; 256 KiB each but the last.
    pub pieces: Vec<String>,
}

impl Backup {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut to = Writer::new(MAGIC);
        let json = serde_json::to_vec(self).expect("texts and numbers can be written as JSON");
        to.u32(u32::try_from(json.len()).expect("shards and files are bounded"));
        to.bytes(&json);
        to.end()
    }

    pub(crate) fn decode(name: &str, object: &[u8], shards: u16, number: u64) -> Result<Self, Error> {
        let mut from = Reader::new(name, MAGIC, object)?;
        let bytes = from.u32()? as usize;
        let json = from.bytes(bytes)?;
        let backup: Self =
            serde_json::from_slice(json).map_err(|error| from.wrong(&format!("its content: {error}")))?;
        if backup.number != number {
            return Err(from.wrong("it has another number than its name"));
        }
        if backup.shards.len() != usize::from(shards) {
            return Err(from.wrong("it has another number of shards than the archive"));
        }
        from.end()?;
        Ok(backup)
    }
}

impl Archive {
    pub(super) fn backup_series(&self) -> Series<'_> {
        Series::new(&self.root.place, layout::BACKUPS.0.to_owned(), layout::BACKUPS.1)
    }

    /// The numbers of all backups, oldest first.
    ///
    /// # Errors
    /// Of the store.
    pub async fn backups(&self) -> Result<Vec<u64>, Error> {
        Ok(self.backup_series().list().await?.iter().map(|entry| entry.number).collect())
    }

    /// Reads a backup.
    ///
    /// # Errors
    /// Of the store; `Damaged`, `Foreign`.
    pub async fn backup(&self, number: u64) -> Result<Backup, Error> {
        let series = self.backup_series();
        Backup::decode(&series.name(number), &series.read(number).await?, self.shards(), number)
    }

    /// The newest backup, if there is one.
    ///
    /// # Errors
    /// Of the store; `Damaged`, `Foreign`.
    pub async fn newest_backup(&self) -> Result<Option<Backup>, Error> {
        match self.backups().await?.last() {
            Some(newest) => self.backup(*newest).await.map(Some),
            None => Ok(None),
        }
    }
}
