//! Files with blocks for the segments to come, and room set aside for a full disk.
//!
//! One file is always ready, so that a full disk is noticed before a record gets its position.
//! Blocks are reserved and not written: that takes no time in the owner's thread.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::file::segments::segment_name;
use crate::file::stock::{RESERVE, is_full};
use crate::header::{HEADER_BYTES, Header};
use crate::{Error, Room};

/// The file that becomes the next segment.
const NEXT: &str = "next.file";

pub(super) struct Blocks {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    reserve_bytes: u64,
    next: Option<Arc<dyn DiskFile>>,
    reserve: Option<Arc<dyn DiskFile>>,
}

/// A file that is no segment yet.
pub(super) struct Block {
    file: Arc<dyn DiskFile>,
    name: &'static str,
    pub(super) bytes: u64,
    pub(super) from_reserve: bool,
}

impl Blocks {
    /// Makes the files anew: those that were left may be of other sizes.
    pub(super) fn new(disk: Arc<dyn Disk>, segment_bytes: u64, reserve_bytes: u64) -> Result<Self, Error> {
        let mut blocks = Self { disk, segment_bytes, reserve_bytes, next: None, reserve: None };
        blocks.prepare()?;
        Ok(blocks)
    }

    /// Makes those files that are missing, as far as the disk has room.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        if self.next.is_none() {
            self.next = self.fresh(NEXT, self.segment_bytes)?;
        }
        if self.reserve.is_none() && self.next.is_some() {
            self.reserve = self.fresh(RESERVE, self.reserve_bytes)?;
        }
        Ok(())
    }

    pub(super) fn has_next(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn has_reserve(&self) -> bool {
        self.reserve.is_some()
    }

    /// A block of the usual size, or for records that free room the one set aside.
    pub(super) fn take(&mut self, needed: u64, room: Room) -> Result<Block, Error> {
        self.prepare()?;
        if self.next.is_some() && self.segment_bytes >= needed {
            let file = self.next.take().ok_or(Error::Full)?;
            return Ok(Block { file, name: NEXT, bytes: self.segment_bytes, from_reserve: false });
        }
        if room == Room::Reserved && self.reserve_bytes >= needed {
            let file = self.reserve.take().ok_or(Error::Full)?;
            return Ok(Block { file, name: RESERVE, bytes: self.reserve_bytes, from_reserve: true });
        }
        Err(Error::Full)
    }

    /// A block of exactly this size, at any price: another replica has decided it.
    pub(super) fn take_exactly(&mut self, bytes: u64) -> Result<Block, Error> {
        self.prepare()?;
        if bytes != self.segment_bytes {
            // The blocks of the other size are not needed now.
            self.next = None;
            self.remove(NEXT)?;
        } else if let Some(file) = self.next.take() {
            return Ok(Block { file, name: NEXT, bytes, from_reserve: false });
        }
        let mut file = self.fresh(NEXT, bytes)?;
        if file.is_none() && self.reserve.take().is_some() {
            self.remove(RESERVE)?;
            file = self.fresh(NEXT, bytes)?;
        }
        let file = file.ok_or(Error::Full)?;
        Ok(Block { file, name: NEXT, bytes, from_reserve: false })
    }

    /// Turns a block into a segment.
    pub(super) fn become_segment(&self, block: Block, header: &Header) -> Result<Arc<dyn DiskFile>, Error> {
        let name = segment_name(header.number);
        block
            .file
            .write_at(&header.encode(), 0)
            .and_then(|()| self.disk.rename(block.name, &name))
            .map_err(|error| Error::io(format!("making {}/{name} failed", self.disk.place()), &error))?;
        Ok(block.file)
    }

    fn fresh(&self, name: &'static str, bytes: u64) -> Result<Option<Arc<dyn DiskFile>>, Error> {
        let made = self.disk.create(name).and_then(|file| {
            file.reserve(bytes)?;
            Ok(file)
        });
        match made {
            Ok(file) => Ok(Some(file)),
            Err(error) if is_full(&error) => {
                self.remove(name)?;
                Ok(None)
            }
            Err(error) => Err(Error::io(format!("making {}/{name} failed", self.disk.place()), &error)),
        }
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        match self.disk.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(format!("removing {}/{name} failed", self.disk.place()), &error))
            }
            _ => Ok(()),
        }
    }
}

/// The least size of a segment that holds so many bytes of frames.
pub(super) fn segment_for(frames: u64) -> u64 {
    HEADER_BYTES + frames
}
