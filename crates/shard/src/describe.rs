//! A record of a shard's journal in words, for `stadium journal dump`.
//!
//! Each state machine describes its own events. Where a part is damaged, or a newer version wrote
//! it, the description ends there with the reason.

use std::sync::LazyLock;

use stadium_state_machine::{Description, Place};

use crate::core::{CoreSettings, Kinds};
use crate::frame::Header;

/// The usual kinds of machines: their events are described alike whatever their bounds are.
static KINDS: LazyLock<Kinds> =
    LazyLock::new(|| CoreSettings::for_shard(Place { shard: 0, shards: 1, hash_seed: 0 }).kinds());

/// A record in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordDescription {
    /// When it was decided, milliseconds since 1970.
    pub time_ms: u64,
    /// Its events, in their order.
    pub events: Vec<Description>,
    /// Why the rest cannot be described.
    pub trouble: Option<String>,
}

/// Describes the record at `position` of a shard's journal.
#[must_use]
pub fn describe_record(shard: u16, position: u64, body: &[u8]) -> RecordDescription {
    let mut description = RecordDescription::default();
    description.trouble = describe(shard, position, body, &mut description).err();
    description
}

fn describe(shard: u16, at: u64, body: &[u8], into: &mut RecordDescription) -> Result<(), String> {
    let header = Header::parse(body)?;
    into.time_ms = header.time.0;
    let mut end = header.first_section();
    for _ in 0..header.sections {
        let (section, next) = header.section(end)?;
        let kind = KINDS.get(KINDS.known(section.machine)?);
        kind.describe(section.of(shard, at, header.time), &mut into.events)
            .map_err(|corrupt| corrupt.reason)?;
        end = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::describe_record;

    #[test]
    fn damage_is_named_and_the_time_is_read() {
        let trouble = |body: &[u8]| describe_record(0, 64, body).trouble.expect("it is no record");
        assert!(trouble(b"").contains("no whole header"));
        let mut frame = [0; 16];
        assert!(trouble(&frame).contains("version 0"));
        frame[0] = 1;
        let barrier = describe_record(0, 64, &frame);
        assert!(barrier.events.is_empty() && barrier.trouble.is_none(), "{barrier:?}");
        frame[1] = 1;
        frame[8..].copy_from_slice(&1_795_320_000_123_u64.to_le_bytes());
        assert!(trouble(&frame).contains("cut short"));
        let mut section = frame.to_vec();
        section.extend_from_slice(&[9, 1, 0, 0, 0, 0, 0, 0]);
        assert!(trouble(&section).contains("machine 9"));
        section[16] = 1;
        section[20] = 200;
        let cut = describe_record(0, 64, &section);
        assert_eq!(cut.time_ms, 1_795_320_000_123);
        assert!(cut.trouble.expect("200 bytes are missing").contains("cut short"));
    }
}
