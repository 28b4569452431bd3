//! Events of a record in words, for `stadium journal dump`.

use crate::Time;

/// The events that one machine wrote in a record.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// The shard whose journal it is.
    pub shard: u16,
    /// The record's position.
    pub at: u64,
    /// When the record was decided.
    pub time: Time,
    /// Where the events begin, in bytes from the record's first.
    pub offset: u32,
    /// The events.
    pub events: &'a [u8],
}

/// One event in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The job that it is about, if it is about one.
    pub job: Option<u64>,
    /// The event. Names and reasons come from outside and may have control characters.
    pub text: String,
}

impl From<String> for Description {
    fn from(text: String) -> Self {
        Self { job: None, text }
    }
}
