//! Where a replica begins to read, and what it takes from others' messages.
//! Calls that ask the log and wait for its answer are here too.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use stadium_journal::mirror::Body;
use stadium_journal::{Disk, Error, Position};
use stadium_journal_log::partition::Event;
use stadium_journal_log::{Header, Offset, Partition};

use crate::marks;
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
    // Epochs grow with offsets. A point that a later claim has overtaken at a smaller offset is of
    // messages that were lost, and other messages have their offsets.
    let all = points.clone();
    let is_overtaken = |point: &ResumePoint, by: &ResumePoint| {
        by.mark.claim.epoch > point.mark.claim.epoch && by.mark.offset < point.mark.offset
    };
    points.retain(|point| !all.iter().any(|by| is_overtaken(point, by)));
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

/// Whether a replica can read its log on from what it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The log has what follows a point of the mirror or the checkpoint.
    Reached,
    /// The log was trimmed behind all of them.
    Trimmed {
        /// The offset of the newest point.
        newest: Offset,
        /// The offset at which the log begins.
        start: Offset,
    },
}

/// Finds out whether the log still has what follows one of the points that a mirror on the disk may
/// begin at. `partition` is used for this alone. Waits as long as a claim may take, at most.
///
/// # Errors
/// `Foreign` where the mirror is of another log; `Io`; `Failed` where the log does not answer.
pub fn reach(
    mut partition: Box<dyn Partition>,
    disk: &dyn Disk,
    options: &ReplicatedOptions,
) -> Result<Reach, Error> {
    let points = points(options, marks::read(disk, options.log)?)?;
    let newest = points.first().map_or(Offset(0), |newest| newest.mark.offset);
    let start = *find_ends(&mut *partition, options)?.start();
    Ok(if newest < start { Reach::Trimmed { newest, start } } else { Reach::Reached })
}

/// Finds out at which offsets a log begins and ends now. `partition` is used for this alone. Waits as
/// long as a claim may take, at most.
///
/// # Errors
/// `Io`; `Failed` where the log does not answer.
pub fn ends(
    mut partition: Box<dyn Partition>,
    options: &ReplicatedOptions,
) -> Result<RangeInclusive<Offset>, Error> {
    find_ends(&mut *partition, options)
}

/// Waits for the offsets at which a partition begins and ends.
pub(crate) fn find_ends(
    partition: &mut dyn Partition,
    options: &ReplicatedOptions,
) -> Result<RangeInclusive<Offset>, Error> {
    ask(
        partition,
        options,
        "looking for the ends",
        |partition| partition.find_ends(),
        |event| match event {
            Event::Ends { start, end } => Some(start..=end),
            _ => None,
        },
    )
}

/// Gives back the space of a log before a point, and waits for that. Returns the offset at which the
/// log begins then. `partition` is used for this alone.
///
/// # Errors
/// `Foreign` for the point of another log; `Failed` where the log refuses; `Io` where it takes too
/// long: longer than a claim may take.
pub fn trim(
    mut partition: Box<dyn Partition>,
    below: &ResumePoint,
    options: &ReplicatedOptions,
) -> Result<Offset, Error> {
    if below.log != options.log {
        return Err(Error::Foreign(format!("the resume point is of {}, not of {}", below.log, options.log)));
    }
    let offset = below.mark.offset;
    ask(
        &mut *partition,
        options,
        "trimming",
        |partition| partition.trim(offset),
        |event| match event {
            Event::Trimmed { start } => Some(start),
            _ => None,
        },
    )
}

/// Makes a call, again after each temporary failure, and waits for its answer.
fn ask<T>(
    partition: &mut dyn Partition,
    options: &ReplicatedOptions,
    doing: &str,
    call: impl Fn(&mut dyn Partition),
    answer: impl Fn(Event) -> Option<T>,
) -> Result<T, Error> {
    let signal = Arc::new(Signal::default());
    partition.on_event(signal.as_wake());
    call(partition);
    let deadline = Instant::now() + options.claim_timeout;
    loop {
        signal.lower();
        while let Some(event) = partition.next_event() {
            match event {
                Event::Failed { failure, .. } if failure.is_temporary => call(partition),
                Event::Failed { failure, .. } => {
                    return Err(Error::Failed { durable: Position::START, what: failure.what });
                }
                event => {
                    if let Some(answer) = answer(event) {
                        return Ok(answer);
                    }
                }
            }
        }
        if !signal.wait(deadline.saturating_duration_since(Instant::now())) {
            return Err(took_too_long(doing, options));
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
