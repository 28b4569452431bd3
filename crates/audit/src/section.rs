//! Finds the wallets' section in a journal's record, and takes it apart into events and the chain value.
//!
//! docs/formats/record.md is the frame, docs/formats/wallet-events.md the section. Sections of other machines are stepped over unread.

use crate::bytes::Cursor;
use crate::tree::Hash;

const MACHINE_WALLET: u8 = 2;
const VERSION: u8 = 1;

/// The wallets' part of a record.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    /// Milliseconds since 1970: when the shard decided.
    pub(crate) time: u64,
    /// Each without its length.
    pub(crate) events: Vec<&'a [u8]>,
    /// The chain value that the record states.
    pub(crate) chain: Hash,
}

impl<'a> Section<'a> {
    /// The wallets' section of a record; `None` where it has none.
    pub(crate) fn of(record: &'a [u8]) -> Result<Option<Self>, String> {
        let mut cursor = Cursor::new(record);
        let version = cursor.byte()?;
        if version != VERSION {
            return Err(format!("the record has version {version}; known is {VERSION}"));
        }
        let sections = cursor.byte()?;
        cursor.take(6)?;
        let time = u64::from_le_bytes(cursor.array()?);
        let mut found = None;
        for _ in 0..sections {
            let machine = cursor.byte()?;
            let version = cursor.byte()?;
            cursor.take(2)?;
            let length = u32::from_le_bytes(cursor.array()?) as usize;
            let bytes = cursor.take(length)?;
            if machine == MACHINE_WALLET {
                if version != VERSION {
                    return Err(format!("its wallet events have version {version}; known is {VERSION}"));
                }
                if found.is_some() {
                    return Err("the record has two sections of the wallets".to_owned());
                }
                found = Some(Self::parse(time, bytes)?);
            }
        }
        if !cursor.is_empty() {
            return Err("bytes follow the record's last section".to_owned());
        }
        Ok(found)
    }

    fn parse(time: u64, section: &'a [u8]) -> Result<Self, String> {
        let (events_bytes, chain) =
            section.split_last_chunk::<32>().ok_or("the section is shorter than a chain value")?;
        let mut cursor = Cursor::new(events_bytes);
        let mut events = Vec::new();
        while !cursor.is_empty() {
            events.push(cursor.bytes()?);
        }
        if events.is_empty() {
            return Err("the section holds no event".to_owned());
        }
        Ok(Self { time, events, chain: *chain })
    }
}
