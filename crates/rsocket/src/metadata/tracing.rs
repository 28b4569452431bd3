//! Tracing metadata (`message/x.rsocket.tracing-zipkin.v0`): which trace a request belongs to.

use super::{Malformed, Mime, write_entry_with};

/// Whether a trace is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// The receiver decides.
    Undecided,
    /// No.
    NotSampled,
    /// Yes.
    Sampled,
    /// Yes, even where another rule decides no.
    Debug,
}

/// Where in a trace a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    /// The trace.
    pub trace: TraceId,
    /// The sender's span.
    pub span: u64,
    /// The span above it.
    pub parent: Option<u64>,
}

/// The id of a trace, in one of its two widths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceId {
    /// 64 bits.
    Short(u64),
    /// 128 bits.
    Long(u128),
}

/// A tracing entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracing {
    /// Whether the trace is recorded.
    pub sampling: Sampling,
    /// `None` where the entry has the sampling only.
    pub ids: Option<Ids>,
}

const IDS: u8 = 0x80;
const DEBUG: u8 = 0x40;
const SAMPLED: u8 = 0x20;
const NOT_SAMPLED: u8 = 0x10;
const LONG: u8 = 0x08;
const PARENT: u8 = 0x04;

/// Reads a tracing entry. Bytes after its fields are ignored.
pub fn read(content: &[u8]) -> Result<Tracing, Malformed> {
    let (&flags, mut rest) = content.split_first().ok_or(Malformed)?;
    let sampling = if flags & DEBUG != 0 {
        Sampling::Debug
    } else if flags & SAMPLED != 0 {
        Sampling::Sampled
    } else if flags & NOT_SAMPLED != 0 {
        Sampling::NotSampled
    } else {
        Sampling::Undecided
    };
    if flags & IDS == 0 {
        return Ok(Tracing { sampling, ids: None });
    }
    let mut number = || {
        let (bytes, after) = rest.split_first_chunk::<8>().ok_or(Malformed)?;
        rest = after;
        Ok(u64::from_be_bytes(*bytes))
    };
    let first = number()?;
    let trace = if flags & LONG != 0 {
        TraceId::Long(u128::from(first) << 64 | u128::from(number()?))
    } else {
        TraceId::Short(first)
    };
    let span = number()?;
    let parent = if flags & PARENT != 0 { Some(number()?) } else { None };
    Ok(Tracing { sampling, ids: Some(Ids { trace, span, parent }) })
}

/// Appends a tracing entry.
pub fn write(out: &mut Vec<u8>, tracing: &Tracing) {
    write_entry_with(out, Mime::TRACING, |out| {
        let mut flags = match tracing.sampling {
            Sampling::Undecided => 0,
            Sampling::NotSampled => NOT_SAMPLED,
            Sampling::Sampled => SAMPLED,
            Sampling::Debug => DEBUG,
        };
        let Some(ids) = tracing.ids else { return out.push(flags) };
        flags |= IDS;
        if let TraceId::Long(_) = ids.trace {
            flags |= LONG;
        }
        if ids.parent.is_some() {
            flags |= PARENT;
        }
        out.push(flags);
        match ids.trace {
            TraceId::Short(id) => out.extend_from_slice(&id.to_be_bytes()),
            TraceId::Long(id) => out.extend_from_slice(&id.to_be_bytes()),
        }
        out.extend_from_slice(&ids.span.to_be_bytes());
        if let Some(parent) = ids.parent {
            out.extend_from_slice(&parent.to_be_bytes());
        }
    });
}
