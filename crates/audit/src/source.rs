//! The sources of the journals that are read together.
//!
//! Usually a data directory has them whole. Where a server moved old segments to its backups, each
//! journal is given as a disk that finds them there, with the roots that the backups name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stadium_journal::inspect::Inspection;
use stadium_journal::{Checkpoints as _, Damage, Disk, FileCheckpoints, Position};

use crate::place::{Place, Places, shards};
use crate::{Error, HexHash};

/// The journals that are read together.
#[derive(Debug, Clone)]
pub struct Source(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Directory(PathBuf),
    Journals(Vec<Journal>),
}

/// The journal of a shard, on any disk.
#[derive(Clone)]
pub struct Journal {
    /// The shard.
    pub shard: u16,
    /// Its files.
    pub disk: Arc<dyn Disk>,
    /// The process that has it open, 0 where that is not known: it went on, or was copied, while it
    /// was written.
    pub in_use_by: Option<u32>,
    /// The position of the newest checkpoint.
    pub checkpoint: Position,
    /// Seals that somebody else noted: the journal must have them.
    pub seals: Vec<NotedSeal>,
    /// Damages that the disk has found so far, beside those that a reader notices.
    pub damages: Arc<dyn Fn() -> Vec<Damage> + Send + Sync>,
}

/// A seal as somebody else noted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotedSeal {
    /// Its number.
    pub number: u64,
    /// Its root.
    pub root: HexHash,
    /// The place of the note.
    pub by: String,
}

/// A journal that can be read.
pub(crate) struct Opened {
    pub(crate) shard: u16,
    /// The journal's name in messages.
    pub(crate) place: String,
    pub(crate) inspection: Inspection,
    pub(crate) checkpoint: Position,
    pub(crate) seals: Vec<NotedSeal>,
    pub(crate) damages: Option<Arc<dyn Fn() -> Vec<Damage> + Send + Sync>>,
}

impl Source {
    /// The journals of all shards, in their order.
    #[must_use]
    pub fn of(journals: Vec<Journal>) -> Self {
        Self(Kind::Journals(journals))
    }

    /// Opens the journals. The number is that of all shards, which are all here; `None` for a
    /// replica of one.
    pub(crate) fn open(&self) -> Result<(Vec<Opened>, Option<u16>), Error> {
        match &self.0 {
            Kind::Directory(directory) => {
                let Places { shards, count } = shards(directory)?;
                Ok((shards.into_iter().map(Opened::at).collect::<Result<_, _>>()?, count))
            }
            Kind::Journals(journals) => {
                let opened = journals.iter().map(Opened::of).collect::<Result<Vec<_>, _>>()?;
                let count = u16::try_from(opened.len()).ok();
                Ok((opened, count))
            }
        }
    }
}

impl From<&Path> for Source {
    fn from(directory: &Path) -> Self {
        Self(Kind::Directory(directory.to_owned()))
    }
}

impl From<&PathBuf> for Source {
    fn from(directory: &PathBuf) -> Self {
        Self::from(directory.as_path())
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("shard", &self.shard).field("place", &self.disk.place()).finish()
    }
}

impl Opened {
    fn at(place: Place) -> Result<Self, Error> {
        let shown = place.journal.display().to_string();
        let failed = |error| Error::Journal { place: shown.clone(), error };
        let inspection = Inspection::open(&place.journal).map_err(failed)?;
        let checkpoint = if place.checkpoints.is_dir() {
            let kept = FileCheckpoints::read_only(&place.checkpoints, u32::from(place.shard)).list();
            kept.map_err(failed)?.first().map_or(Position::START, |newest| newest.position)
        } else {
            Position::START
        };
        let shard = place.shard;
        Ok(Self { shard, place: shown, inspection, checkpoint, seals: Vec::new(), damages: None })
    }

    fn of(journal: &Journal) -> Result<Self, Error> {
        let Journal { shard, disk, in_use_by, checkpoint, seals, damages } = journal;
        let place = disk.place();
        let opened = Inspection::open_used(Arc::clone(disk), *in_use_by);
        let inspection = opened.map_err(|error| Error::Journal { place: place.clone(), error })?;
        Ok(Self {
            shard: *shard,
            place,
            inspection,
            checkpoint: *checkpoint,
            seals: seals.clone(),
            damages: Some(Arc::clone(damages)),
        })
    }
}
