//! Retained messages as the API lists and removes them.

use std::time::SystemTime;

use crate::fleet::Refusal;

/// A choice of retained messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetainedQuery {
    /// Only those whose topics match this topic filter, as a subscription would; none for all.
    pub filter: Option<String>,
    /// Only those that this principal set; empty for anonymous devices. None for all.
    pub principal: Option<String>,
    /// Only those of this topic and of topics behind it, in byte order.
    pub from: Option<String>,
    /// At most so many, at least 1.
    pub limit: usize,
}

/// Some retained messages, in order of their topics' bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetainedPage {
    /// At most as many as were asked for. Fewer, or none, is not the end: a page looks at a bounded
    /// number of topics.
    pub messages: Vec<RetainedReport>,
    /// The topic from which the next page goes on; none behind the last message.
    pub next: Option<String>,
}

/// A retained message without its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedReport {
    /// Its topic.
    pub topic: String,
    /// The principal that set it: empty for an anonymous device, none for the server itself and
    /// where it was not kept.
    pub principal: Option<String>,
    /// Bytes of its payload.
    pub payload_bytes: u64,
    /// Bytes for which it counts in bounds and quotas.
    pub bytes: u64,
    /// The QoS that it was published with.
    pub qos: u8,
    /// When it was set; none where that was not kept.
    pub set_at: Option<SystemTime>,
    /// When it expires; none where it does not.
    pub expires_at: Option<SystemTime>,
}

/// Whether retained messages are removed or only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeMode {
    /// They are removed.
    Remove,
    /// They are counted.
    DryRun,
}

/// How many retained messages were removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Messages that are gone, durably; in a dry run those that would be.
    pub removed: u64,
    /// Messages that are there still, because a shard was busy or its disk full.
    pub refused: u64,
    /// The topic from which the next part goes on; none where no message is left to look at.
    pub next: Option<String>,
}

/// Why retained messages are not listed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRetained {
    /// The filter is none: why, in words.
    Filter(String),
    /// The fleet refused.
    Refused(Refusal),
}
