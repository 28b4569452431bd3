//! Commands that were not written yet, in three parts: gets, writes, and sealed bytes.
//!
//! Gets of several callers become one `get k1 k2 ..`; writes gather behind them. Sealing puts gets
//! before writes, and both behind all that was sealed before. A get of a key that an unsent write
//! changes seals first: commands for one key leave in the order in which they were submitted.

use std::hash::BuildHasher as _;
use std::time::Instant;

use foldhash::fast::FixedState;

use crate::protocol::{Dialect, Expect, Key, META_NOOP, Pipeline};

/// Bytes of a `get` line at most.
///
/// memcached reads into 2,048 bytes (`READ_BUFFER_SIZE` is greater, the check for a long line is not)
/// and copies longer lines.
const LINE_BYTES_MAX: usize = 2_000;

/// Quiet sets in a row at most: then `mn` confirms them, and their slots are free again.
const QUIET_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Keys of the `get` lines, each line whole but for the last one.
    line: Vec<u8>,
    /// The beginning of the last line.
    line_begin: usize,
    line_expects: Vec<Expect>,
    /// Gets that have a line of their own, and other reads.
    reads: Vec<u8>,
    read_expects: Vec<Expect>,
    writes: Vec<u8>,
    write_expects: Vec<Expect>,
    /// Of the keys of `writes`.
    write_hashes: Vec<u64>,
    /// The time at which the first of `writes` was submitted.
    written_at: Option<Instant>,
    quiet: usize,
    /// In the order of the wire.
    pub(super) sealed: Vec<u8>,
}

impl Outbox {
    /// A get that may share a line with others. The key is not binary.
    pub(super) fn add_get(&mut self, operation: u32, key: Key<'_>, pipeline: &mut Pipeline) {
        self.order(key, pipeline);
        let length = self.line.len() - self.line_begin;
        if length > 0 && length + key.bytes().len() + 3 > LINE_BYTES_MAX {
            self.end_line();
        }
        if self.line.len() == self.line_begin {
            self.line.extend_from_slice(b"get");
        }
        self.line.push(b' ');
        key.write(&mut self.line);
        self.line_expects.push(Expect::Get { operation, is_last: false });
    }

    /// Another read.
    pub(super) fn add_read(
        &mut self,
        key: Option<Key<'_>>,
        expect: Expect,
        pipeline: &mut Pipeline,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if let Some(key) = key {
            self.order(key, pipeline);
        }
        write(&mut self.reads);
        self.read_expects.push(expect);
    }

    /// A write. Where it is not quiet and quiet ones are before it, `mn` separates them: an error
    /// without an opaque token is then either of theirs or of its own.
    pub(super) fn add_write(
        &mut self,
        key: Key<'_>,
        expect: Expect,
        pipeline: &Pipeline,
        now: Instant,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let is_quiet = matches!(expect, Expect::Quiet { .. });
        self.quiet += usize::from(is_quiet);
        let follows_quiet = match self.write_expects.last() {
            Some(last) => matches!(last, Expect::Quiet { .. }),
            None => pipeline.ends_quiet(),
        };
        if follows_quiet && (!is_quiet || self.quiet > QUIET_MAX) {
            self.writes.extend_from_slice(META_NOOP);
            self.write_expects.push(Expect::Noop);
            self.quiet = 0;
        }
        write(&mut self.writes);
        self.write_expects.push(expect);
        self.write_hashes.push(hash(key));
        self.written_at.get_or_insert(now);
    }

    /// Seals everything where an unsent write is on this key.
    fn order(&mut self, key: Key<'_>, pipeline: &mut Pipeline) {
        if !self.write_hashes.is_empty() && self.write_hashes.contains(&hash(key)) {
            self.seal(true, pipeline);
        }
    }

    fn end_line(&mut self) {
        if let Some(Expect::Get { is_last, .. }) = self.line_expects.last_mut() {
            *is_last = true;
        }
        self.line.extend_from_slice(b"\r\n");
        self.line_begin = self.line.len();
    }

    /// Gets, and the writes where they are due, get their place on the wire.
    pub(super) fn seal(&mut self, with_writes: bool, pipeline: &mut Pipeline) {
        if !self.line.is_empty() {
            self.end_line();
            self.line_begin = 0;
            move_bytes(&mut self.line, &mut self.sealed);
            self.line_expects.drain(..).for_each(|expect| pipeline.push(expect));
        }
        move_bytes(&mut self.reads, &mut self.sealed);
        self.read_expects.drain(..).for_each(|expect| pipeline.push(expect));
        if with_writes {
            move_bytes(&mut self.writes, &mut self.sealed);
            self.write_expects.drain(..).for_each(|expect| pipeline.push(expect));
            self.write_hashes.clear();
            self.written_at = None;
        }
    }

    /// Seals everything, with `mn` behind it where a quiet set is last.
    pub(super) fn seal_confirmed(&mut self, pipeline: &mut Pipeline) {
        self.seal(true, pipeline);
        if pipeline.ends_quiet() {
            self.sealed.extend_from_slice(META_NOOP);
            pipeline.push(Expect::Noop);
            self.quiet = 0;
        }
    }

    pub(super) fn write_bytes(&self) -> usize {
        self.writes.len()
    }

    pub(super) fn written_at(&self) -> Option<Instant> {
        self.written_at
    }

    /// Bytes that wait to be written.
    pub(super) fn bytes(&self) -> usize {
        self.line.len() + self.reads.len() + self.writes.len() + self.sealed.len()
    }

    pub(super) fn clear(&mut self) {
        self.line.clear();
        self.line_begin = 0;
        self.line_expects.clear();
        self.reads.clear();
        self.read_expects.clear();
        self.writes.clear();
        self.write_expects.clear();
        self.write_hashes.clear();
        self.written_at = None;
        self.sealed.clear();
        self.quiet = 0;
    }
}

/// True where sets may be quiet: the classic `noreply` hides errors.
pub(super) fn may_be_quiet(dialect: Dialect) -> bool {
    dialect == Dialect::Meta
}

/// Two keys with one hash cost an early write and nothing else.
fn hash(key: Key<'_>) -> u64 {
    FixedState::default().hash_one(key.bytes())
}

fn move_bytes(from: &mut Vec<u8>, to: &mut Vec<u8>) {
    to.extend_from_slice(from);
    from.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Store, store};

    fn key(text: &str) -> Key<'_> {
        Key::new(text.as_bytes()).unwrap()
    }

    fn set(outbox: &mut Outbox, pipeline: &Pipeline, name: &str) {
        outbox.add_write(key(name), Expect::Quiet { operation: 9 }, pipeline, Instant::now(), |out| {
            store(out, Dialect::Meta, key(name), b"v", &Store::default(), None);
        });
    }

    #[test]
    fn gets_share_a_line_and_leave_before_sets() {
        let (mut outbox, mut pipeline) = (Outbox::default(), Pipeline::default());
        set(&mut outbox, &pipeline, "c");
        outbox.add_get(1, key("a"), &mut pipeline);
        outbox.add_get(2, key("b"), &mut pipeline);
        outbox.seal_confirmed(&mut pipeline);
        assert_eq!(outbox.sealed, b"get a b\r\nms c 1 q\r\nv\r\nmn\r\n");
        assert_eq!(pipeline.len(), 4);
    }

    #[test]
    fn a_get_does_not_overtake_a_set_of_its_key() {
        let (mut outbox, mut pipeline) = (Outbox::default(), Pipeline::default());
        set(&mut outbox, &pipeline, "a");
        outbox.add_get(1, key("a"), &mut pipeline);
        set(&mut outbox, &pipeline, "a");
        outbox.seal(true, &mut pipeline);
        assert_eq!(outbox.sealed, b"ms a 1 q\r\nv\r\nget a\r\nms a 1 q\r\nv\r\n");
    }

    #[test]
    fn long_lines_of_gets_are_cut() {
        let (mut outbox, mut pipeline) = (Outbox::default(), Pipeline::default());
        let name = "k".repeat(240);
        for operation in 0..20 {
            outbox.add_get(operation, key(&name), &mut pipeline);
        }
        outbox.seal(false, &mut pipeline);
        let lines: Vec<&[u8]> = outbox.sealed.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= LINE_BYTES_MAX && line.starts_with(b"get ")));
    }

    #[test]
    fn quiet_sets_are_confirmed_before_an_answered_write_and_now_and_then() {
        let (mut outbox, mut pipeline) = (Outbox::default(), Pipeline::default());
        set(&mut outbox, &pipeline, "a");
        let expect = Expect::Meta { operation: 1, opaque: 1, verb: crate::protocol::Verb::Delete };
        outbox.add_write(key("b"), expect, &pipeline, Instant::now(), |out| {
            out.extend_from_slice(b"md b O1\r\n");
        });
        outbox.seal(true, &mut pipeline);
        assert_eq!(outbox.sealed, b"ms a 1 q\r\nv\r\nmn\r\nmd b O1\r\n");
        outbox.sealed.clear();
        for _ in 0..QUIET_MAX * 2 + 2 {
            set(&mut outbox, &pipeline, "a");
        }
        outbox.seal(true, &mut pipeline);
        let noops = outbox.sealed.split(|byte| *byte == b'\n').filter(|line| *line == b"mn\r").count();
        assert_eq!(noops, 2);
    }
}
