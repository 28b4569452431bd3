//! The file `marks` of a mirror: resume points that its files reach.
//!
//! Each stands in a slot of its own, so a torn write costs one of them. A point is written after the
//! sync of all before it. docs/formats/log-resume.md has the layout.

use std::io;
use std::sync::Arc;

use stadium_journal::{Disk, DiskFile, Error};
use stadium_journal_log::Log;

use crate::resume::{RESUME_BYTES, ResumePoint, Unreadable};

const FILE: &str = "marks";
/// What a disk writes whole or not at all.
const SLOT_BYTES: u64 = 512;
/// Points that are kept. After damage to the newest files an older one is used.
const SLOTS: u64 = 16;

pub(crate) struct Marks {
    file: Arc<dyn DiskFile>,
    /// The slot of the next point.
    next: u64,
}

/// The points that were noted, newest first.
pub(crate) fn read(disk: &dyn Disk, log: Log) -> Result<Vec<ResumePoint>, Error> {
    Ok(read_slots(disk, log)?.into_iter().map(|(_, point)| point).collect())
}

fn read_slots(disk: &dyn Disk, log: Log) -> Result<Vec<(u64, ResumePoint)>, Error> {
    let failed = |error: &io::Error| Error::io(format!("cannot read {}/{FILE}", disk.place()), error);
    let mut found: Vec<(u64, ResumePoint)> = Vec::new();
    if !is_there(disk).map_err(|error| failed(&error))? {
        return Ok(found);
    }
    let file = disk.open(FILE).map_err(|error| failed(&error))?;
    for slot in 0..SLOTS {
        let mut bytes = [0; RESUME_BYTES];
        let read = file.read_at(&mut bytes, slot * SLOT_BYTES).map_err(|error| failed(&error))?;
        match ResumePoint::decode(&bytes[..read]) {
            Ok(point) if point.log == log => found.push((slot, point)),
            Ok(point) => {
                let (place, other) = (disk.place(), point.log);
                return Err(Error::Foreign(format!("{place} mirrors {other}, not {log}")));
            }
            Err(newer @ Unreadable::Version(_)) => {
                let place = disk.place();
                return Err(Error::Foreign(format!("{place}/{FILE} is not for this program: {newer}")));
            }
            // Never written, or torn.
            Err(_) => {}
        }
    }
    found.sort_by_key(|(_, point)| std::cmp::Reverse((point.mark.offset, point.mark.end)));
    Ok(found)
}

fn is_there(disk: &dyn Disk) -> io::Result<bool> {
    Ok(disk.list()?.iter().any(|name| name == FILE))
}

impl Marks {
    /// Opens the file, or makes it. Points behind `chosen` are erased: the files do not reach them,
    /// and will seem to as soon as they are written again and not synced.
    pub(crate) fn open(disk: &dyn Disk, chosen: &ResumePoint) -> Result<Self, Error> {
        let slots = read_slots(disk, chosen.log)?;
        let open = || {
            if is_there(disk)? {
                let file = disk.open(FILE)?;
                let stale = slots.iter().filter(|(_, point)| point.mark.offset > chosen.mark.offset);
                for (slot, _) in stale.clone() {
                    file.write_at(&[0; RESUME_BYTES], slot * SLOT_BYTES)?;
                }
                if stale.count() > 0 {
                    file.sync()?;
                }
                return Ok(file);
            }
            let file = disk.create(FILE)?;
            file.allocate(SLOTS * SLOT_BYTES)?;
            file.sync()?;
            disk.sync_folder()?;
            Ok(file)
        };
        let next = slots.first().map_or(0, |(slot, _)| (slot + 1) % SLOTS);
        let failed = |error: &io::Error| Error::io(format!("cannot use {}/{FILE}", disk.place()), error);
        open().map(|file| Self { file, next }).map_err(|error| failed(&error))
    }

    /// Where the next point is written.
    pub(crate) fn next_slot(&mut self) -> Slot {
        let slot = Slot { file: Arc::clone(&self.file), at: self.next * SLOT_BYTES };
        self.next = (self.next + 1) % SLOTS;
        slot
    }
}

/// A place for one point.
pub(crate) struct Slot {
    file: Arc<dyn DiskFile>,
    at: u64,
}

impl Slot {
    /// Writes the point, and waits until it is durable.
    pub(crate) fn write(&self, point: &ResumePoint) -> io::Result<()> {
        self.file.write_at(&point.encode(), self.at)?;
        self.file.sync()
    }
}
