//! A shard of the simulated server: a real journal and real checkpoints in a folder.
//!
//! The journal has no threads: its own work is done when somebody waits for it. A kill drops it;
//! records that were not committed are gone then.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stadium_journal::{
    Checkpoints as _, Error, FileCheckpoints, FileJournal, FolderDisk, Journal as _, Opening, Options,
    Position,
};

use super::state::State;

/// Bytes of a segment.
const SEGMENT_BYTES: u64 = 64 << 10;
/// The journal keeps its promises without waiting: a stepped one works until it is done.
const AT_ONCE: Duration = Duration::from_secs(60);

/// A record as the books have it.
#[derive(Debug, Clone)]
pub struct Written {
    /// Its time.
    pub time_ms: u64,
    /// Its position.
    pub position: u64,
    /// Its body.
    pub body: Vec<u8>,
}

/// A shard.
pub struct Shard {
    number: u16,
    folder: PathBuf,
    journal: FileJournal,
    checkpoints: FileCheckpoints,
    /// The state after all records.
    pub state: State,
    /// Everything that was written and not lost.
    pub books: Vec<Written>,
    /// The number of those that are durable.
    durable: usize,
    /// Segments that end before it are stored.
    pub held: Position,
}

impl Shard {
    /// Opens the shard in a folder for the first time.
    pub fn new(number: u16, folder: PathBuf) -> Result<Self, String> {
        let Opened { journal, state, .. } = open(&folder, number)?;
        let checkpoints =
            FileCheckpoints::open(&folder.join("checkpoints"), number.into(), Some(journal.id()));
        let checkpoints = checkpoints.map_err(|error| error.to_string())?;
        let held = Position::START;
        Ok(Self { number, folder, journal, checkpoints, state, books: Vec::new(), durable: 0, held })
    }

    /// Starts again after a kill. All that was durable is there, and nothing but what was written.
    pub fn restart(self) -> Result<Self, String> {
        let Self { number, folder, journal, state: _, mut books, durable, .. } = self;
        drop(journal);
        let restarted = Self::new(number, folder)?;
        let kept = usize::try_from(restarted.state.records).expect("they are few");
        if kept < durable || kept > books.len() {
            return Err(format!("shard {number} has {kept} records after a kill, of {durable} durable ones"));
        }
        books.truncate(kept);
        Ok(Self { books, durable: kept, ..restarted })
    }

    /// Appends a record. It is durable after the next commit.
    pub fn append(&mut self, time_ms: u64, body: Vec<u8>) -> Result<(), String> {
        let position = loop {
            match self.journal.append(&body) {
                Err(error) if error.is_temporary() => drop(self.journal.wait(AT_ONCE)),
                appended => break appended.map_err(|error| error.to_string())?,
            }
        };
        self.state.apply(position.0, &body);
        self.books.push(Written { time_ms, position: position.0, body });
        Ok(())
    }

    /// Makes all records durable.
    pub fn commit(&mut self) -> Result<(), String> {
        let committed = self.journal.commit().and_then(|()| self.journal.wait(AT_ONCE));
        committed.map_err(|error| error.to_string())?;
        self.durable = self.books.len();
        Ok(())
    }

    /// Writes a checkpoint of the present state.
    pub fn checkpoint(&mut self) -> Result<(), String> {
        self.commit()?;
        let write = || -> Result<(), Error> {
            let mut writer = self.checkpoints.begin(self.journal.end())?;
            writer.chunk(&self.state.encode())?;
            writer.finish().map(drop)
        };
        write().map_err(|error| error.to_string())
    }

    /// Removes the segments that nobody needs: behind the older checkpoint, without an item, and
    /// stored in a backup. Returns how many went that no backup has, where `forced` lets them go.
    pub fn remove_segments(&mut self, forced: bool) -> Result<u32, String> {
        self.commit()?;
        let checkpoints = self.checkpoints.list().map_err(|error| error.to_string())?;
        let [_, older, ..] = &checkpoints[..] else { return Ok(0) };
        let segments = self.journal.segmented().expect("it has segments").segments();
        let mut unstored = 0;
        for segment in segments.iter().filter(|segment| segment.is_sealed) {
            let range = segment.start.0..segment.limit.0;
            let is_live = self.state.items.values().any(|position| range.contains(position));
            let is_stored = segment.limit <= self.held;
            if segment.limit <= older.position && !is_live && (is_stored || forced) {
                let segmented = self.journal.segmented_mut().expect("it has segments");
                segmented.remove(segment.number).map_err(|error| error.to_string())?;
                unstored += u32::from(!is_stored);
            }
        }
        // The folder shows it now: the journal's own work is done.
        self.journal.wait(AT_ONCE).map_err(|error| error.to_string())?;
        Ok(unstored)
    }

    /// The state as it was after the last record whose time is not later.
    pub fn state_at(&self, time_ms: u64) -> State {
        let mut state = State::default();
        for written in self.books.iter().take_while(|written| written.time_ms <= time_ms) {
            state.apply(written.position, &written.body);
        }
        state
    }

    /// The bytes of the record at a position.
    pub fn body(&self, position: u64) -> Option<&[u8]> {
        let at = self.books.binary_search_by_key(&position, |written| written.position).ok()?;
        Some(&self.books[at].body)
    }

    /// Compares a restored shard with this one as it was at a time.
    pub fn compare(&self, data: &Path, time_ms: u64) -> Result<(), String> {
        let folder = stadium_journal::shards::folder(&data.join("shards"), self.number);
        let Opened { journal, state } = open(&folder, self.number)?;
        let wanted = self.state_at(time_ms);
        let number = self.number;
        if state != wanted {
            return Err(format!(
                "shard {number} at {time_ms} ms has {} records with root {:x} and {} items, and not {} with root {:x} and {}",
                state.records,
                state.root,
                state.items.len(),
                wanted.records,
                wanted.root,
                wanted.items.len()
            ));
        }
        for (id, position) in &state.items {
            let body = self.body(*position).ok_or("an item has a record that nobody wrote")?;
            let mut found = vec![0; body.len()];
            let read = journal.read_at(Position(*position), 0, &mut found);
            if read.is_err() || found != body {
                return Err(format!(
                    "shard {number} at {time_ms} ms: the payload of item {id} is not there: {read:?}"
                ));
            }
        }
        Ok(())
    }
}

/// A shard that was opened as a server does it.
struct Opened {
    journal: FileJournal,
    state: State,
}

fn open(folder: &Path, number: u16) -> Result<Opened, String> {
    let open = || -> Result<Opened, Error> {
        let files = folder.join("checkpoints");
        let mut state = State::default();
        let mut checkpoint = Position::START;
        if files.is_dir()
            && let Some(mut newest) = FileCheckpoints::read_only(&files, number.into()).newest()?
        {
            checkpoint = newest.info().position;
            state = newest.next()?.map(State::decode).unwrap_or_default();
        }
        let options = Options {
            shard: number.into(),
            segment_bytes: SEGMENT_BYTES,
            reserve_bytes: SEGMENT_BYTES,
            record_bytes_max: 16 << 10,
            opening: Opening { checkpoint, ..Opening::default() },
            ..Options::default()
        };
        let folder = folder.join("journal");
        let disk = FolderDisk::create(&folder).map_err(|error| Error::io("making a folder", &error))?;
        let (journal, _) = FileJournal::open_stepped(Arc::new(disk), &options)?;
        let mut reader = journal.reader();
        reader.seek(checkpoint)?;
        while let Some(record) = reader.next()? {
            state.apply(record.position.0, record.body);
        }
        drop(reader);
        Ok(Opened { journal, state })
    };
    open().map_err(|error| format!("shard {number} does not open: {error}"))
}
