//! The segment files of a mirror: frames that were accepted are written, and only those.
//!
//! Nothing here is ever cut: a frame that does not count never reaches a file. A file is synced
//! before a point behind it is noted, and never before an answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::blocks::{Blocks, segment_for};
use super::body::Body;
use super::sync::Sync;
use crate::disk::{Disk, DiskFile};
use crate::file::segments::{SegmentFile, segment_name};
use crate::file::shared::Shared;
use crate::frame::{self, GAP_BYTES};
use crate::header::{HEADER_USED, Header};
use crate::{Damage, Epoch, Error, Position, Room, SegmentNumber};

/// Where a log goes on: after which frame, and in which segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// The position after the last frame.
    pub end: Position,
    /// The segment in which that frame stands; `None` where the log has no records.
    pub segment: Option<PointSegment>,
}

/// The segment of a [`Point`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointSegment {
    /// The first bytes of its header, as in docs/formats/journal.md.
    pub header: [u8; HEADER_USED],
    /// Whether its last frame is a seal.
    pub is_sealed: bool,
}

impl Point {
    /// The beginning of a log without records.
    pub const START: Self = Self { end: Position::START, segment: None };
}

/// The last segment that holds an accepted frame.
#[derive(Clone)]
pub(super) struct Last {
    pub(super) header: Header,
    pub(super) seed: u32,
    pub(super) is_sealed: bool,
}

pub(super) struct Files {
    pub(super) shared: Arc<Shared>,
    pub(super) blocks: Blocks,
    /// Segments that are on the disk behind the point from which the log is read again.
    pub(super) left: BTreeMap<Position, (Header, u32)>,
    /// Frames before this are in the files, whether or not they were accepted again since opening.
    pub(super) known_end: Position,
    pub(super) last: Option<Last>,
    /// The segment that was written last.
    pub(super) writing: Option<(Arc<SegmentFile>, Arc<dyn DiskFile>)>,
    pub(super) unsynced: Sync,
    /// After the last record that was accepted.
    pub(super) records_end: Position,
}

impl Files {
    fn disk(&self) -> &Arc<dyn Disk> {
        &self.shared.disk
    }

    /// After the last accepted frame.
    pub(super) fn end(&self) -> Position {
        self.shared.durable()
    }

    /// Where the log goes on.
    pub(super) fn point(&self) -> Point {
        let segment = self.last.as_ref().map(|last| PointSegment {
            header: *last.header.encode().first_chunk().expect("a page is longer than its header"),
            is_sealed: last.is_sealed,
        });
        Point { end: self.end(), segment }
    }

    /// Writes accepted frames.
    ///
    /// `Corrupt` if they are not those that the files had there before.
    pub(super) fn accept(&mut self, body: &Body<'_>) -> Result<(), Error> {
        let end = body.first.plus(body.frames.len() as u64);
        if body.first < self.end() {
            return Err(self.damage(&body.segment, body.first, "the log has other records there"));
        }
        let (segment, file) = self.segment(body)?;
        let offset = segment.offset(body.first);
        let write_failed = |error: &std::io::Error| {
            Error::io(format!("writing {}/{} failed", self.shared.disk.place(), segment.name()), error)
        };
        if body.first < self.known_end {
            let known = usize::try_from(self.known_end.since(body.first)).unwrap_or(usize::MAX);
            let known = &body.frames[..known.min(body.frames.len())];
            let mut found = vec![0; known.len()];
            let read = file.read_at(&mut found, offset).map_err(|error| write_failed(&error))?;
            if &found[..read] != known {
                return Err(self.damage(
                    &body.segment,
                    body.first,
                    "the log has other records than the mirror",
                ));
            }
        }
        file.write_at(body.frames, offset).map_err(|error| write_failed(&error))?;
        self.unsynced.written(segment.header.base, &file);
        if body.seals {
            self.shared.segments.seal(&segment, end);
        }
        if body.records > 0 {
            self.records_end = body.records_end;
        }
        self.last = Some(Last { header: body.segment, seed: body.seed, is_sealed: body.seals });
        self.shared.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.shared.counters.batch_records.add(u64::from(body.records));
        self.shared.set_durable(end);
        Ok(())
    }

    /// The segment of a body, found or made.
    fn segment(&mut self, body: &Body<'_>) -> Result<(Arc<SegmentFile>, Arc<dyn DiskFile>), Error> {
        if let Some((segment, file)) = &self.writing
            && segment.header == body.segment
        {
            return Ok((Arc::clone(segment), Arc::clone(file)));
        }
        let opened = self.ensure(&body.segment, body.seed, body.first)?;
        self.writing = Some(opened.clone());
        Ok(opened)
    }

    /// Has the file of a segment whose next frame is at `at`. What is missing before becomes a gap.
    pub(super) fn ensure(
        &mut self,
        header: &Header,
        seed: u32,
        at: Position,
    ) -> Result<(Arc<SegmentFile>, Arc<dyn DiskFile>), Error> {
        if header.shard != self.shared.shard || header.journal != self.shared.id {
            return Err(Error::Foreign(format!(
                "the log has records of journal {}, shard {}; this is journal {}, shard {}",
                header.journal, header.shard, self.shared.id, self.shared.shard
            )));
        }
        if let Some(there) = self.shared.segments.at(header.base) {
            if there.header == *header {
                let opened = self.shared.segments.open_at(header.base)?;
                return Ok((opened.segment, opened.file));
            }
            if self.last.as_ref().is_some_and(|last| last.header.base >= there.header.base) {
                return Err(self.damage(header, at, "the log has another segment there"));
            }
            // One that was prepared for records that were never accepted.
            self.discard(there.header.base)?;
        }
        if let Some((left, _)) = self.left.remove(&header.base)
            && left == *header
        {
            let name = segment_name(header.number);
            let file = self
                .disk()
                .open(&name)
                .map_err(|error| Error::io(format!("cannot open {}/{name}", self.disk().place()), &error))?;
            return Ok(self.add(header, seed, false, file));
        }
        let block = self.blocks.take_exactly(header.capacity)?;
        let file = self.blocks.become_segment(block, header)?;
        if at.since(header.first()) >= GAP_BYTES as u64 {
            let gap = frame::gap(seed, header.first(), at);
            // Points up to here are noted already, and they promise that the file reaches them.
            let made = file.write_at(&gap, header.first().since(header.base)).and_then(|()| file.sync());
            made.and_then(|()| self.disk().sync_folder())
                .map_err(|error| Error::io("making a segment failed", &error))?;
        }
        Ok(self.add(header, seed, false, file))
    }

    /// Makes a segment for records that have no place yet: `needed` bytes of frames at least.
    pub(super) fn make(
        &mut self,
        number: SegmentNumber,
        base: Position,
        epoch: Epoch,
        needed: u64,
        room: Room,
    ) -> Result<Arc<SegmentFile>, Error> {
        let block = self.blocks.take(segment_for(needed), room)?;
        let (shard, journal) = (self.shared.shard, self.shared.id);
        let header = Header { shard, journal, number, base, capacity: block.bytes, epoch };
        let page = header.encode();
        let used: &[u8; HEADER_USED] = page.first_chunk().expect("a page is longer than its header");
        let (_, seed) = Header::decode(used).expect("the header was encoded just now");
        let from_reserve = block.from_reserve;
        // A segment of a former writer, of which nothing was accepted.
        self.left.remove(&base);
        let file = self.blocks.become_segment(block, &header)?;
        let (segment, _) = self.add(&header, seed, from_reserve, file);
        // The one after this is made now, so that the room for it is known.
        match self.blocks.prepare() {
            Err(error) if !error.is_temporary() => Err(error),
            _ => Ok(segment),
        }
    }

    fn add(
        &mut self,
        header: &Header,
        seed: u32,
        from_reserve: bool,
        file: Arc<dyn DiskFile>,
    ) -> (Arc<SegmentFile>, Arc<dyn DiskFile>) {
        let segment = Arc::new(SegmentFile { header: *header, seed, from_reserve });
        self.shared.segments.add(Arc::clone(&segment), Some(Arc::clone(&file)), header.capacity, None);
        self.unsynced.made(header.base, &file);
        (segment, file)
    }

    /// Removes the segments that begin at `from` or later; nothing in them was accepted.
    pub(super) fn discard(&mut self, from: Position) -> Result<(), Error> {
        for segment in self.shared.segments.cut(from) {
            self.remove_file(&segment)?;
        }
        if self.writing.as_ref().is_some_and(|(segment, _)| segment.header.base >= from) {
            self.writing = None;
        }
        Ok(())
    }

    /// Removes a sealed segment, all of which was accepted. Returns whether it was there.
    pub(super) fn remove(&mut self, number: SegmentNumber) -> Result<bool, Error> {
        let removed = self.shared.segments.remove(number, self.end());
        removed.map_or(Ok(false), |(segment, _)| self.remove_file(&segment).map(|()| true))
    }

    /// Removes the first segment if all of it is before `below`. Returns whether it did.
    pub(super) fn remove_first(&mut self, below: Position) -> Result<bool, Error> {
        let removed = self.shared.segments.remove_first(below.min(self.end()));
        removed.map_or(Ok(false), |(segment, _)| self.remove_file(&segment).map(|()| true))
    }

    fn remove_file(&mut self, segment: &SegmentFile) -> Result<(), Error> {
        self.unsynced.removed(segment.header.base);
        if self.writing.as_ref().is_some_and(|(writing, _)| writing.header.base == segment.header.base) {
            self.writing = None;
        }
        match self.disk().remove(&segment.name()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(format!("removing {}/{} failed", self.disk().place(), segment.name()), &error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn damage(&self, header: &Header, at: Position, what: &str) -> Error {
        Error::Corrupt(Damage {
            file: format!("{}/{}", self.disk().place(), segment_name(header.number)),
            offset: at.since(header.base),
            position: at,
            what: what.to_owned(),
        })
    }
}
