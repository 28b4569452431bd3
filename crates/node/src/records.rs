//! What stands in a record of a shard's journal, in words: for `stadium journal dump`.
//!
//! Reads the frame of docs/formats/record.md, and has each state machine tell of its own events. What a newer version
//! wrote, or what is none of ours, is told as such; nothing is guessed.

use stadium_queue::{Place, Time};

/// Bytes in front of the first section.
const FRAME_BYTES: usize = 16;

/// Bytes in front of a section's events.
const SECTION_BYTES: usize = 8;

/// The version of the frame that is read here.
const VERSION: u8 = 1;

/// The queues' number, and the version of their events.
const QUEUE: (u8, u8) = (1, 1);

/// The wallets' number, and the version of their events.
const WALLET: (u8, u8) = (2, 1);

/// A record in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// When it was decided, milliseconds since 1970.
    pub time_ms: u64,
    /// What happened, in its order.
    pub events: Vec<Event>,
    /// Why the rest cannot be told.
    pub trouble: Option<String>,
}

/// One event of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The job that it is about, if it is about one.
    pub job: Option<u64>,
    /// What happened.
    pub text: String,
}

/// Tells of the record at `position` of a shard's journal.
#[must_use]
pub fn tell(shard: u16, position: u64, body: &[u8]) -> Told {
    let mut told = Told { time_ms: 0, events: Vec::new(), trouble: None };
    told.trouble = read(shard, position, body, &mut told).err();
    told
}

fn read(shard: u16, position: u64, body: &[u8], told: &mut Told) -> Result<(), String> {
    let frame: &[u8; FRAME_BYTES] = body.first_chunk().ok_or("it is shorter than a record's frame")?;
    let [version, sections, .., t0, t1, t2, t3, t4, t5, t6, t7] = *frame;
    if version != VERSION {
        return Err(format!("it has version {version}; known is {VERSION}"));
    }
    let time = Time(u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]));
    told.time_ms = time.0;
    let mut at = FRAME_BYTES;
    for _ in 0..sections {
        let header = body.get(at..).and_then(<[u8]>::first_chunk::<SECTION_BYTES>);
        let [machine, version, _, _, l0, l1, l2, l3] = *header.ok_or("a section's header is cut")?;
        at += SECTION_BYTES;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let events =
            body.get(at..).and_then(|rest| rest.get(..length)).ok_or("a section's events are cut")?;
        match (machine, version) {
            QUEUE => {
                let offset = u32::try_from(at).map_err(|_| "it is longer than a record can be")?;
                // How many shards there are says nothing about a record.
                let place = Place { shard, shards: shard.saturating_add(1), hash_seed: 0 };
                for event in stadium_queue::describe(place, position, time, offset, events) {
                    let event = event.map_err(|corrupt| corrupt.to_string())?;
                    told.events.push(Event { job: event.job.map(|job| job.0), text: event.text });
                }
            }
            WALLET => {
                for text in stadium_wallet::describe(time, events) {
                    let text = text.map_err(|corrupt| corrupt.to_string())?;
                    told.events.push(Event { job: None, text });
                }
            }
            _ => {
                return Err(format!(
                    "a section is of machine {machine}, version {version}, which is not known here"
                ));
            }
        }
        at += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_told_as_such() {
        let told = |body: &[u8]| tell(0, 64, body).trouble.expect("it is no record");
        assert!(told(b"").contains("shorter"));
        let mut frame = [0; FRAME_BYTES];
        assert!(told(&frame).contains("version 0"));
        frame[0] = VERSION;
        frame[1] = 1;
        assert!(told(&frame).contains("header is cut"));
        let mut section = frame.to_vec();
        section.extend_from_slice(&[9, 1, 0, 0, 0, 0, 0, 0]);
        assert!(told(&section).contains("machine 9"));
        section[FRAME_BYTES] = 1;
        section[FRAME_BYTES + 4] = 200;
        assert!(told(&section).contains("events are cut"));
    }

    #[test]
    fn time_of_a_record_is_read() {
        let mut frame = [0; FRAME_BYTES];
        frame[0] = VERSION;
        frame[8..16].copy_from_slice(&1_795_320_000_123_u64.to_le_bytes());
        let told = tell(0, 64, &frame);
        assert_eq!(told, Told { time_ms: 1_795_320_000_123, events: Vec::new(), trouble: None });
    }
}
