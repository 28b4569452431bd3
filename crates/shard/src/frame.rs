//! The frame of a journal record: a time, and a section for each state machine.
//!
//! docs/formats/record.md is the format. A record is written in place: the machine's events are
//! encoded behind room for the header, which is filled in last. One that cannot be read whole is not applied at all.

use std::fmt;

use stadium_state_machine::{StateMachine, Time};

/// Version of the frame and of the shard's part of a checkpoint.
const VERSION: u8 = 1;

/// Bytes in front of the first section's events.
pub(crate) const HEADER_BYTES: usize = FRAME_BYTES + SECTION_BYTES;

/// Bytes of a record without sections.
pub(crate) const FRAME_BYTES: usize = 16;

/// Bytes in front of a further section's events.
pub(crate) const SECTION_BYTES: usize = 8;

/// Distinguishes the state machines of a shard, and the versions of their events: as records and
/// checkpoints name them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MachineId {
    code: u8,
    version: u8,
}

impl MachineId {
    /// That of a state machine.
    pub const fn of<M: StateMachine>() -> Self {
        MachineId { code: M::CODE, version: M::VERSION }
    }

    const fn bytes(self) -> [u8; 2] {
        [self.code, self.version]
    }

    const fn from_bytes([code, version]: [u8; 2]) -> Self {
        MachineId { code, version }
    }

    /// Whether both are the same machine, in whatever version.
    pub(crate) fn is_machine(self, other: MachineId) -> bool {
        self.code == other.code
    }

    /// Why a record or checkpoint with this id cannot be read by a shard that has `known` of that
    /// machine, or has no such machine.
    pub(crate) fn not_known(self, known: Option<MachineId>) -> String {
        match known {
            Some(known) => {
                format!("its events have version {}; known is {}", self.version, known.version)
            }
            None => format!("it belongs to the machine {}, which this version has not", self.code),
        }
    }
}

impl fmt::Debug for MachineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "machine {}", self.code)
    }
}

/// Fills in a record without sections: `record` has [`FRAME_BYTES`].
pub(crate) fn write_empty(record: &mut [u8], time: Time) {
    record[0] = VERSION;
    record[1..8].fill(0);
    record[8..16].copy_from_slice(&time.0.to_le_bytes());
}

/// Fills in the header of a record with one section: `header` has [`HEADER_BYTES`], and so many bytes of events follow.
pub(crate) fn write_header(header: &mut [u8], machine: MachineId, time: Time, events_bytes: usize) {
    write_empty(header, time);
    header[1] = 1;
    write_section(&mut header[FRAME_BYTES..], machine, events_bytes);
}

/// Fills in the header of a further section: `front` is the record up to its events, of which so
/// many bytes follow.
pub(crate) fn write_next_section(front: &mut [u8], machine: MachineId, events_bytes: usize) {
    front[1] += 1;
    let header = front.len() - SECTION_BYTES;
    write_section(&mut front[header..], machine, events_bytes);
}

fn write_section(header: &mut [u8], machine: MachineId, events_bytes: usize) {
    let events_bytes = u32::try_from(events_bytes).expect("a record is shorter than 4 GiB");
    [header[0], header[1]] = machine.bytes();
    header[2..4].fill(0);
    header[4..SECTION_BYTES].copy_from_slice(&events_bytes.to_le_bytes());
}

/// A section of a record that was read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section<'a> {
    pub(crate) machine: MachineId,
    /// Where its events begin, from the record's first byte.
    pub(crate) offset: u32,
    pub(crate) events: &'a [u8],
}

impl<'a> Section<'a> {
    /// It, as its machine sees it: in a record at `at`.
    pub(crate) fn of(self, shard: u16, at: u64, time: Time) -> stadium_state_machine::Section<'a> {
        stadium_state_machine::Section { shard, at, time, offset: self.offset, events: self.events }
    }
}

/// The header of a record that was read back; its sections are not looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header<'a> {
    pub(crate) time: Time,
    /// Sections that follow.
    pub(crate) sections: u8,
    body: &'a [u8],
}

impl<'a> Header<'a> {
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, String> {
        let (header, _) = body
            .split_first_chunk::<FRAME_BYTES>()
            .ok_or_else(|| format!("a record of {} bytes has no whole header", body.len()))?;
        if header[0] != VERSION {
            return Err(format!("a record of version {}; known is {VERSION}", header[0]));
        }
        let time = u64::from_le_bytes(*header[8..].first_chunk().expect("the header has 16 bytes"));
        Ok(Header { time: Time(time), sections: header[1], body })
    }

    /// Where the first section begins.
    pub(crate) const fn first_section(&self) -> usize {
        FRAME_BYTES
    }

    /// The section that begins there, and where it ends.
    pub(crate) fn section(&self, at: usize) -> Result<(Section<'a>, usize), String> {
        let (header, rest) =
            self.body[at..].split_first_chunk::<SECTION_BYTES>().ok_or("a section is cut short")?;
        let length = u32::from_le_bytes(*header[4..].first_chunk().expect("the header has 8 bytes")) as usize;
        let machine = MachineId::from_bytes([header[0], header[1]]);
        let events = rest.get(..length).ok_or("a section's events are cut short")?;
        let offset = at + SECTION_BYTES;
        Ok((Section { machine, offset: offset as u32, events }, offset + length))
    }
}

/// A record that was read back and can be read whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) time: Time,
    header: Header<'a>,
}

impl<'a> Frame<'a> {
    /// Reads a frame, all of its sections' headers included.
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, String> {
        let header = Header::parse(body)?;
        let mut at = header.first_section();
        let mut before = 0;
        for _ in 0..header.sections {
            let (section, end) = header.section(at)?;
            if section.machine.code <= before {
                return Err("its sections are not in the order of their machines, one for each".into());
            }
            before = section.machine.code;
            at = end;
        }
        if at != body.len() {
            return Err(format!("{} bytes follow the last section", body.len() - at));
        }
        Ok(Frame { time: header.time, header })
    }

    /// Its sections.
    pub(crate) fn sections(self) -> impl Iterator<Item = Section<'a>> {
        let mut at = self.header.first_section();
        (0..self.header.sections).map(move |_| {
            let (section, end) = self.header.section(at).expect("parse has read every section");
            at = end;
            section
        })
    }
}

/// Bytes in front of a machine's part of a checkpoint chunk.
pub(crate) const CHUNK_HEADER_BYTES: usize = 2;

/// What a machine's chunk of a checkpoint begins with.
pub(crate) fn chunk_header(machine: MachineId) -> [u8; CHUNK_HEADER_BYTES] {
    machine.bytes()
}

/// Takes a machine's chunk of a checkpoint apart.
pub(crate) fn parse_chunk(chunk: &[u8]) -> Result<(MachineId, &[u8]), String> {
    let (header, body) = chunk.split_first_chunk::<CHUNK_HEADER_BYTES>().ok_or("a chunk without a header")?;
    Ok((MachineId::from_bytes(*header), body))
}

/// The first chunk of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) time: Time,
    pub(crate) position: u64,
    /// State machines whose chunks follow.
    pub(crate) machines: u32,
    /// A record of each segment that must stay because it holds records that stay; ascending.
    pub(crate) pinned: Vec<u64>,
    /// The place from which the journal's log is read on, where that is more than a position:
    /// [`stadium_journal::Journal::mark`].
    pub(crate) mark: Vec<u8>,
}

impl Opening {
    const BYTES: usize = 24;

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; Self::BYTES];
        bytes[1] = VERSION;
        let mark_bytes = u16::try_from(self.mark.len()).expect("a mark has 64 KiB at most");
        bytes[2..4].copy_from_slice(&mark_bytes.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.machines.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[16..].copy_from_slice(&self.position.to_le_bytes());
        bytes.extend(self.pinned.iter().flat_map(|position| position.to_le_bytes()));
        bytes.extend_from_slice(&self.mark);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    pub(crate) fn decode(chunk: &[u8]) -> Result<Self, String> {
        let (numbers, rest) = chunk.as_chunks::<8>();
        if chunk.len() < Self::BYTES || !rest.is_empty() {
            return Err(format!("its first chunk has {} bytes", chunk.len()));
        }
        match chunk[..2] {
            [0, VERSION] => {}
            [0, version] => return Err(format!("a checkpoint of version {version}; known is {VERSION}")),
            _ => return Err("its first chunk is not the shard's".into()),
        }
        let mark_bytes = usize::from(u16::from_le_bytes([chunk[2], chunk[3]]));
        let mark_at = chunk.len().checked_sub(mark_bytes.next_multiple_of(8)).filter(|&at| at >= Self::BYTES);
        let mark_at = mark_at.ok_or_else(|| format!("its first chunk has no mark of {mark_bytes} bytes"))?;
        let mark = chunk[mark_at..][..mark_bytes].to_vec();
        let numbers = &numbers[..mark_at / 8];
        let machines = u32::from_le_bytes(*chunk[4..].first_chunk().expect("it has 24 bytes at least"));
        let mut numbers = numbers[1..].iter().map(|bytes| u64::from_le_bytes(*bytes));
        let time = Time(numbers.next().expect("three numbers at least"));
        let position = numbers.next().expect("three numbers at least");
        Ok(Opening { time, position, machines, pinned: numbers.collect(), mark })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        FRAME_BYTES, Frame, HEADER_BYTES, MachineId, Opening, SECTION_BYTES, write_empty, write_header,
        write_next_section,
    };
    use stadium_queue::{Queues, Time};
    use stadium_wallet::Ledger;

    fn record(events: &[u8]) -> Vec<u8> {
        let mut body = vec![0xff; HEADER_BYTES];
        body.extend_from_slice(events);
        write_header(&mut body[..HEADER_BYTES], MachineId::of::<Queues>(), Time(77), events.len());
        body
    }

    #[test]
    fn a_record_comes_back() {
        let body = record(b"events");
        let frame = Frame::parse(&body).expect("it was just written");
        assert_eq!(frame.time, Time(77));
        let sections: Vec<_> = frame.sections().collect();
        assert_eq!(sections.len(), 1);
        assert_eq!((sections[0].offset as usize, sections[0].events), (HEADER_BYTES, &b"events"[..]));
    }

    #[test]
    fn a_record_without_sections_comes_back() {
        let mut body = [0xff; FRAME_BYTES];
        write_empty(&mut body, Time(77));
        let frame = Frame::parse(&body).expect("it was just written");
        assert_eq!((frame.time, frame.sections().count()), (Time(77), 0));
    }

    #[test]
    fn a_record_that_is_cut_or_longer_is_refused() {
        let body = record(b"events");
        for length in 0..body.len() {
            assert!(Frame::parse(&body[..length]).is_err(), "{length} bytes");
        }
        let mut longer = body;
        longer.push(0);
        assert!(Frame::parse(&longer).is_err());
    }

    #[test]
    fn events_of_a_newer_version_are_named() {
        let mut body = record(b"events");
        body[0] = 9;
        let error = Frame::parse(&body).expect_err("9 is not known");
        assert!(error.contains("a record of version 9"), "{error}");
        let known = MachineId::of::<Queues>();
        for (byte, known, words) in [(16, None, "machine 9"), (17, Some(known), "version 9; known is 1")] {
            let mut body = record(b"events");
            body[byte] = 9;
            let frame = Frame::parse(&body).expect("it can be read whole");
            let machine = frame.sections().next().expect("there is one").machine;
            let error = machine.not_known(known);
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_checkpoints_opening_comes_back() {
        let marks = [vec![], vec![7; 13], vec![9; 136]];
        for (pinned, mark) in [vec![], vec![8, 1 << 39]]
            .into_iter()
            .flat_map(|pinned| marks.iter().map(move |mark| (pinned.clone(), mark.clone())))
        {
            let opening = Opening { time: Time(5), position: 1 << 40, machines: 4, pinned, mark };
            assert!(Opening::decode(&opening.encode()[1..]).is_err());
            assert_eq!(Opening::decode(&opening.encode()), Ok(opening));
        }
        let mut cut =
            Opening { time: Time(5), position: 8, machines: 4, pinned: vec![], mark: vec![7; 16] }.encode();
        cut.truncate(Opening::BYTES + 8);
        assert!(Opening::decode(&cut).is_err_and(|what| what.contains("no mark of 16 bytes")));
    }

    #[test]
    fn two_machines_share_a_record() {
        let queue = record(b"jobs");
        let mut both = queue.clone();
        both.extend_from_slice(&[0xff; SECTION_BYTES]);
        both.extend_from_slice(b"transfers");
        write_next_section(&mut both[..queue.len() + SECTION_BYTES], MachineId::of::<Ledger>(), 9);
        let frame = Frame::parse(&both).expect("it was just written");
        let sections: Vec<_> = frame.sections().collect();
        assert_eq!((sections[0].machine, sections[0].events), (MachineId::of::<Queues>(), &b"jobs"[..]));
        assert_eq!((sections[1].machine, sections[1].events), (MachineId::of::<Ledger>(), &b"transfers"[..]));
        assert_eq!(sections[1].offset as usize, queue.len() + SECTION_BYTES);
        // A machine has one section at most.
        both[queue.len()] = 1;
        assert!(Frame::parse(&both).is_err());
    }
}
