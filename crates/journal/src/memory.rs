//! A disk in memory whose faults its owner decides: for the simulator, and for tests of crashes.
//!
//! It draws no random numbers and reads no clock: the caller decides what survives a crash, sector
//! by sector. Until a sync, written bytes are in the "page cache" only, and names are so until the
//! folder is synced. Several clones are one disk; files opened before a crash or a kill stay
//! unusable after it.

mod faults;
mod hanging;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::faults::Faults;
pub use self::faults::NameOperation;
pub use self::hanging::HangingDisk;
use crate::disk::{Disk, DiskFile, LockError, LockGuard};

/// What a disk writes whole or not at all, bytes.
pub const SECTOR_BYTES: usize = 512;

/// The disk. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

/// What of the bytes a failed sync had reached the disk nevertheless. The page cache forgets that they were dirty either way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// None.
    Nothing,
    /// Every second sector.
    Half,
    /// All: the disk reported a failure and had done it.
    Everything,
}

#[derive(Debug, Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    inodes_made: u64,
    /// As programs see them.
    names: BTreeMap<String, u64>,
    /// As they are after a crash at once.
    names_durable: BTreeMap<String, u64>,
    names_changed: Vec<NameChange>,
    capacity: Option<u64>,
    open_max: Option<usize>,
    /// Counts crashes and kills; a file or lock of an earlier life is dead.
    life: u64,
    is_locked: bool,
    operations: u64,
    stops_at: Option<u64>,
    failing_sync: Option<(u64, Kept)>,
    failing_write: Option<u64>,
    faults: Faults,
    random: u64,
}

#[derive(Debug, Default)]
struct Inode {
    /// As programs read it.
    data: Vec<u8>,
    /// As it is on the disk.
    durable: Vec<u8>,
    /// In order, what was done to `data` and not yet to `durable`.
    changes: Vec<Change>,
    /// Open files; it stays while there are any, as it does on a real disk.
    open: usize,
}

#[derive(Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Debug)]
enum NameChange {
    Create { name: String, inode: u64 },
    Rename { from: String, to: String, inode: u64 },
    Remove { name: String },
}

impl MemoryDisk {
    /// An empty disk without an end. `random` is what [`Disk::random`] begins with.
    #[must_use]
    pub fn new(random: u64) -> Self {
        let disk = Self::default();
        disk.state().random = random;
        disk
    }

    /// Bounds the bytes of all files; `None`: no bound. Files that are there stay.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Bounds the files that are open at once; `None`: no bound. One more fails as it does in a
    /// process without descriptors. Open files stay open.
    pub fn set_open_max(&self, files: Option<usize>) {
        self.state().open_max = files;
    }

    /// Bytes of all files.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// Operations that changed something, so far: writes, syncs, allocations, names.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Power fails after so many more operations: all later ones fail and change nothing, until [`MemoryDisk::crash`].
    pub fn stop_after(&self, operations: u64) {
        let mut state = self.state();
        state.stops_at = Some(state.operations + operations);
    }

    /// Whether power has failed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped()
    }

    /// The sync of a file after `syncs` more fails, once. The bytes that it should have written are
    /// lost but for `kept`; programs still read it, and a second sync succeeds and does nothing
    /// about it.
    pub fn fail_sync(&self, syncs: u64, kept: Kept) {
        self.state().failing_sync = Some((syncs, kept));
    }

    /// The write after `writes` more fails, once, and changes nothing.
    pub fn fail_write(&self, writes: u64) {
        self.state().failing_write = Some(writes);
    }

    /// Changes one bit, in the page cache and on the disk. Returns whether the file is that long.
    pub fn flip_bit(&self, name: &str, byte: u64, bit: u8) -> bool {
        let mut state = self.state();
        let Some(inode) = state.names.get(name).copied() else { return false };
        let Some(inode) = state.inodes.get_mut(&inode) else { return false };
        let at = byte as usize;
        let Some(cached) = inode.data.get_mut(at) else { return false };
        *cached ^= 1 << (bit % 8);
        let flipped = *cached;
        // A write that isn't on the disk yet must not undo it.
        for change in &mut inode.changes {
            if let Change::Write { offset, bytes } = change
                && let Some(byte) = at.checked_sub(*offset).and_then(|at| bytes.get_mut(at))
            {
                *byte = flipped;
            }
        }
        if let Some(byte) = inode.durable.get_mut(at) {
            *byte = flipped;
        }
        true
    }

    /// The files as programs see them, with their lengths.
    #[must_use]
    pub fn files(&self) -> Vec<(String, u64)> {
        let state = self.state();
        let length = |inode| state.inodes.get(inode).map_or(0, |inode| inode.data.len() as u64);
        state.names.iter().map(|(name, inode)| (name.clone(), length(inode))).collect()
    }

    /// A file's content as programs see it.
    #[must_use]
    pub fn content(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.names.get(name)?;
        Some(state.inodes.get(inode)?.data.clone())
    }

    /// The process is killed: everything written stays readable, synced or not. Files and locks of this life are dead.
    pub fn kill(&self) {
        let mut state = self.state();
        state.next_life();
        for inode in state.inodes.values_mut() {
            inode.open = 0;
        }
    }

    /// Another disk with the same files as programs see them now, all of it durable, and without faults.
    #[must_use]
    pub fn fork(&self) -> Self {
        let state = self.state();
        let mut copy = State {
            names: state.names.clone(),
            names_durable: state.names.clone(),
            inodes_made: state.inodes_made,
            random: state.random,
            faults: state.faults.of_files(),
            ..State::default()
        };
        for &number in state.names.values() {
            if let Some(inode) = state.inodes.get(&number) {
                let data = inode.data.clone();
                copy.inodes.insert(number, Inode { durable: data.clone(), data, ..Inode::default() });
            }
        }
        Self { state: Arc::new(Mutex::new(copy)) }
    }

    /// Power fails, and comes back: bytes that weren't synced survive as `choose` decides.
    ///
    /// It is called with a number of choices and gives one below it: for the names' changes, how many of them happened; for each
    /// file how many changes of its length; for each sector written since the last sync, how many of its writes.
    pub fn crash(&self, choose: &mut dyn FnMut(usize) -> usize) {
        let mut state = self.state();
        state.next_life();
        let changes = std::mem::take(&mut state.names_changed);
        let mut names = std::mem::take(&mut state.names_durable);
        faults::survive(changes, &mut names, state.faults.names_in_any_order, choose);
        state.names = names.clone();
        state.names_durable = names;
        let State { inodes, names, .. } = &mut *state;
        inodes.retain(|number, _| names.values().any(|named| named == number));
        for inode in inodes.values_mut() {
            inode.open = 0;
            inode.crash(choose);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, state: &mut State, inode: u64) -> Arc<dyn DiskFile> {
        if let Some(inode) = state.inodes.get_mut(&inode) {
            inode.open += 1;
        }
        Arc::new(MemoryFile { disk: self.clone(), inode, life: state.life })
    }
}

impl State {
    fn used(&self) -> u64 {
        self.names
            .values()
            .map(|inode| self.inodes.get(inode).map_or(0, |inode| inode.data.len() as u64))
            .sum()
    }

    fn is_stopped(&self) -> bool {
        self.stops_at.is_some_and(|stop| self.operations >= stop)
    }

    fn next_life(&mut self) {
        self.life += 1;
        self.is_locked = false;
        self.stops_at = None;
    }

    /// Counts an operation that changes something, unless power has failed.
    fn operate(&mut self) -> io::Result<()> {
        if self.is_stopped() {
            return Err(io::Error::other("the power has failed"));
        }
        self.operations += 1;
        Ok(())
    }

    fn check_descriptors(&self) -> io::Result<()> {
        let open: usize = self.inodes.values().map(|inode| inode.open).sum();
        if self.open_max.is_some_and(|max| open >= max) {
            return Err(rustix::io::Errno::MFILE.into());
        }
        Ok(())
    }

    fn check_room(&self, more: u64) -> io::Result<()> {
        if self.capacity.is_some_and(|capacity| self.used() + more > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Create { name, inode } => {
                names.insert(name, inode);
            }
            // A file is renamed, not whatever has its name: where another change was lost, that may be another file.
            Self::Rename { from, to, inode } => {
                if names.get(&from) == Some(&inode) {
                    names.remove(&from);
                    names.insert(to, inode);
                }
            }
            Self::Remove { name } => {
                names.remove(&name);
            }
        }
    }
}

impl Inode {
    fn sync(&mut self) {
        for change in self.changes.drain(..) {
            match change {
                Change::Write { offset, bytes } => put(&mut self.durable, offset, &bytes),
                Change::Length(length) => self.durable.resize(length, 0),
            }
        }
    }

    fn sync_and_fail(&mut self, kept: Kept) {
        for change in self.changes.drain(..) {
            match change {
                Change::Write { offset, bytes } => {
                    for (sector, piece) in sectors(offset, &bytes) {
                        if kept == Kept::Everything || (kept == Kept::Half && sector.is_multiple_of(2)) {
                            put(&mut self.durable, piece.0, piece.1);
                        }
                    }
                }
                Change::Length(length) => self.durable.resize(length, 0),
            }
        }
    }

    fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        let changes = std::mem::take(&mut self.changes);
        let lengths = changes.iter().filter(|change| matches!(change, Change::Length(_))).count();
        let mut lengths_left = if lengths == 0 { 0 } else { choose(lengths + 1).min(lengths) };
        let mut length = self.durable.len();
        let mut written: BTreeMap<usize, Vec<(usize, &[u8])>> = BTreeMap::new();
        for change in &changes {
            match change {
                Change::Length(to) if lengths_left > 0 => {
                    lengths_left -= 1;
                    length = *to;
                }
                Change::Length(_) => {}
                Change::Write { offset, bytes } => {
                    for (sector, piece) in sectors(*offset, bytes) {
                        written.entry(sector).or_default().push(piece);
                    }
                }
            }
        }
        for writes in written.values() {
            let happened = choose(writes.len() + 1).min(writes.len());
            for (offset, bytes) in &writes[..happened] {
                put(&mut self.durable, *offset, bytes);
            }
        }
        self.durable.resize(length, 0);
        self.data.clone_from(&self.durable);
    }
}

fn put(data: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if data.len() < end {
        data.resize(end, 0);
    }
    data[offset..end].copy_from_slice(bytes);
}

/// Cuts a write at the borders of sectors: the sector, and the offset and bytes of the piece.
fn sectors(offset: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, (usize, &[u8]))> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == bytes.len() {
            return None;
        }
        let start = offset + at;
        let sector = start / SECTOR_BYTES;
        let end = ((sector + 1) * SECTOR_BYTES - offset).min(bytes.len());
        let piece = &bytes[at..end];
        at = end;
        Some((sector, (start, piece)))
    })
}

impl Disk for MemoryDisk {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn lock(&self) -> Result<LockGuard, LockError> {
        let mut state = self.state();
        if state.is_locked {
            return Err(LockError::Held(0));
        }
        state.is_locked = true;
        Ok(Box::new(MemoryLock { disk: self.clone(), life: state.life }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.faults.name(NameOperation::List)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.check_descriptors()?;
        state.faults.name(NameOperation::Open)?;
        let inode = state.names.get(name).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(self.file(&mut state, inode))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        state.check_descriptors()?;
        state.operate()?;
        state.faults.name(NameOperation::Create)?;
        state.inodes_made += 1;
        let inode = state.inodes_made;
        state.inodes.insert(inode, Inode::default());
        state.names.insert(name.to_owned(), inode);
        state.names_changed.push(NameChange::Create { name: name.to_owned(), inode });
        Ok(self.file(&mut state, inode))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.faults.name(NameOperation::Rename)?;
        let inode = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), inode);
        state.names_changed.push(NameChange::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        Ok(())
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        if self.state().names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.faults.name(NameOperation::Remove)?;
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.names_changed.push(NameChange::Remove { name: name.to_owned() });
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.state();
        state.operate()?;
        state.faults.name(NameOperation::SyncFolder)?;
        let changes = std::mem::take(&mut state.names_changed);
        for change in changes {
            change.apply(&mut state.names_durable);
        }
        let State { inodes, names, .. } = &mut *state;
        inodes.retain(|number, inode| inode.open > 0 || names.values().any(|named| named == number));
        Ok(())
    }

    fn random(&self) -> u64 {
        let mut state = self.state();
        state.random = state.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.random
    }
}

struct MemoryLock {
    disk: MemoryDisk,
    life: u64,
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.life == self.life {
            state.is_locked = false;
        }
    }
}

struct MemoryFile {
    disk: MemoryDisk,
    inode: u64,
    life: u64,
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.life == self.life
            && let Some(inode) = state.inodes.get_mut(&self.inode)
        {
            inode.open -= 1;
        }
    }
}

impl MemoryFile {
    fn with<T>(&self, f: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.state();
        if state.life != self.life || !state.inodes.contains_key(&self.inode) {
            return Err(io::Error::other("this file was opened before the crash"));
        }
        f(&mut state)
    }

    /// Operates on the inode. `Self::with` has found it.
    fn change<T>(&self, f: impl FnOnce(&mut Inode) -> T) -> io::Result<T> {
        self.with(|state| {
            state.operate()?;
            let inode = state.inodes.get_mut(&self.inode).ok_or(io::ErrorKind::NotFound)?;
            Ok(f(inode))
        })
    }

    fn data_length(&self) -> io::Result<usize> {
        self.with(|state| Ok(state.inodes[&self.inode].data.len()))
    }
}

impl DiskFile for MemoryFile {
    fn length(&self) -> io::Result<u64> {
        self.data_length().map(|length| length as u64)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|state| {
            state.faults.read(self.inode)?;
            let data = &state.inodes[&self.inode].data;
            let data = data.get(offset as usize..).unwrap_or_default();
            let count = data.len().min(into.len());
            into[..count].copy_from_slice(&data[..count]);
            Ok(count)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let grows = (offset as usize + bytes.len()).saturating_sub(self.data_length()?);
        self.with(|state| {
            if let Some(writes) = &mut state.failing_write {
                if *writes == 0 {
                    state.failing_write = None;
                    return Err(io::Error::other("the disk could not write"));
                }
                *writes -= 1;
            }
            state.check_room(grows as u64)
        })?;
        self.change(|inode| {
            put(&mut inode.data, offset as usize, bytes);
            if grows > 0 {
                inode.changes.push(Change::Length(inode.data.len()));
            }
            inode.changes.push(Change::Write { offset: offset as usize, bytes: bytes.to_vec() });
        })
    }

    fn sync(&self) -> io::Result<()> {
        let failing = self.with(|state| {
            Ok(match &mut state.failing_sync {
                Some((0, kept)) => {
                    let kept = *kept;
                    state.failing_sync = None;
                    Some(kept)
                }
                Some((syncs, _)) => {
                    *syncs -= 1;
                    None
                }
                None => None,
            })
        })?;
        match failing {
            Some(kept) => {
                self.change(|inode| inode.sync_and_fail(kept))?;
                Err(io::Error::other("the disk could not sync"))
            }
            None => self.change(Inode::sync),
        }
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let grows = bytes.saturating_sub(self.length()?);
        self.with(|state| state.check_room(grows))?;
        self.change(|inode| {
            inode.data.resize(bytes as usize, 0);
            inode.changes.push(Change::Length(bytes as usize));
        })
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.change(|inode| {
            inode.data.truncate(bytes as usize);
            inode.changes.push(Change::Length(bytes as usize));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsynced_writes_survive_as_chosen() {
        let disk = MemoryDisk::new(1);
        let file = disk.create("a").expect("there is room");
        file.allocate(2048).expect("there is room");
        file.sync().expect("no fault");
        disk.sync_folder().expect("no fault");
        file.write_at(&[1; 1024], 256).expect("no fault");
        // Sectors 0, 1 and 2 were written; the middle one is lost.
        let mut asked = Vec::new();
        disk.crash(&mut |choices| {
            asked.push(choices);
            usize::from(asked.len() != 3)
        });
        let content = disk.content("a").expect("its name was synced");
        assert_eq!(asked, [1, 2, 2, 2]);
        assert_eq!((content[300], content[600], content[1100]), (1, 0, 1));
        assert!(file.read_at(&mut [0], 0).is_err(), "a file of an earlier life");
    }

    #[test]
    fn a_name_that_was_not_synced_may_be_gone() {
        let disk = MemoryDisk::new(1);
        disk.create("a").expect("there is room").sync().expect("no fault");
        disk.crash(&mut |_| 0);
        assert!(disk.files().is_empty());
    }

    #[test]
    fn after_a_failed_sync_the_bytes_are_read_and_lost() {
        let disk = MemoryDisk::new(1);
        let file = disk.create("a").expect("there is room");
        file.allocate(512).expect("there is room");
        file.sync().expect("no fault");
        disk.sync_folder().expect("no fault");
        file.write_at(&[9; 512], 0).expect("no fault");
        disk.fail_sync(0, Kept::Nothing);
        assert!(file.sync().is_err());
        assert!(file.sync().is_ok(), "the second one lies");
        assert_eq!(disk.content("a").expect("it is there")[0], 9);
        disk.crash(&mut |choices| choices - 1);
        assert_eq!(disk.content("a").expect("it is there")[0], 0);
    }

    #[test]
    fn a_full_disk_refuses_and_keeps() {
        let disk = MemoryDisk::new(1);
        disk.set_capacity(Some(1000));
        let file = disk.create("a").expect("names are free");
        file.allocate(900).expect("there is room");
        let error = file.allocate(1100).expect_err("there is none");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.used(), 900);
    }
}
