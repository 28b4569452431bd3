//! Where a replica begins to read, and what it takes from others' messages.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use stadium_journal::mirror::Body;
use stadium_journal::{Error, Position};
use stadium_journal_log::partition::Event;
use stadium_journal_log::{Header, Offset, Partition};

use crate::options::ReplicatedOptions;
use crate::resume::ResumePoint;
use crate::signal::Signal;

/// The points at which the mirror may begin, the best one first.
///
/// The beginning of the log is one only for a mirror that nobody knows a better point of: where one
/// was noted, records before it may have been removed on purpose.
pub(crate) fn points(
    options: &ReplicatedOptions,
    noted: Vec<ResumePoint>,
) -> Result<Vec<ResumePoint>, Error> {
    let mut points = known(options, noted)?;
    if points.is_empty() {
        points.push(ResumePoint::start(options.log));
    }
    points.sort_by_key(|point| std::cmp::Reverse((point.mark.offset, point.mark.end)));
    Ok(points)
}

/// The points at which a mirror may begin whose log, of these offsets, has lost records: the oldest
/// one first, since what newer ones build on may be lost.
pub(crate) fn points_within(
    options: &ReplicatedOptions,
    noted: Vec<ResumePoint>,
    log: &RangeInclusive<Offset>,
) -> Result<Vec<ResumePoint>, Error> {
    let mut points = known(options, noted)?;
    points.push(ResumePoint::start(options.log));
    points.retain(|point| log.contains(&point.mark.offset));
    points.sort_by_key(|point| (point.mark.offset, point.mark.end));
    Ok(points)
}

fn known(options: &ReplicatedOptions, noted: Vec<ResumePoint>) -> Result<Vec<ResumePoint>, Error> {
    let mut points = noted;
    if let Some(start) = options.start {
        if start.log != options.log {
            let (given, log) = (start.log, options.log);
            return Err(Error::Foreign(format!("the resume point is of {given}, not of {log}")));
        }
        points.push(start);
    }
    Ok(points)
}

/// Waits for the offsets at which a partition begins and ends.
pub(crate) fn find_ends(
    partition: &mut dyn Partition,
    options: &ReplicatedOptions,
) -> Result<RangeInclusive<Offset>, Error> {
    let signal = Arc::new(Signal::default());
    partition.on_event(signal.as_wake());
    partition.find_ends();
    let deadline = Instant::now() + options.claim_timeout;
    loop {
        signal.lower();
        while let Some(event) = partition.next_event() {
            match event {
                Event::Ends { start, end } => return Ok(start..=end),
                Event::Failed { failure, .. } if failure.is_temporary => partition.find_ends(),
                Event::Failed { failure, .. } => {
                    return Err(Error::Failed { durable: Position::START, what: failure.what });
                }
                _ => {}
            }
        }
        if !signal.wait(deadline.saturating_duration_since(Instant::now())) {
            return Err(took_too_long("looking for the ends", options));
        }
    }
}

/// The error of a call that waited as long as it may.
pub(crate) fn took_too_long(doing: &str, options: &ReplicatedOptions) -> Error {
    Error::Io {
        what: format!("{doing} of the log of {}", options.log),
        kind: std::io::ErrorKind::TimedOut,
        message: format!("it took longer than {:?}", options.claim_timeout),
    }
}

/// Reads the body of a message that counts.
pub(crate) fn read_foreign<'a>(header: &Header, body: &'a [u8]) -> Result<Body<'a>, Error> {
    Body::read(header.first, header.end, body).map_err(|what| {
        Error::Foreign(format!(
            "the log has records at position {} that cannot be read: {what}",
            header.first
        ))
    })
}
