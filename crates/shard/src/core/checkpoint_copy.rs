//! Checkpoints for a log that goes on elsewhere: the same state, and another mark.

use stadium_journal::{CheckpointInfo, CheckpointReader, Checkpoints, Position};
use stadium_state_machine::Time;

use super::follower::Begun;
use super::machines::Machines;
use super::settings::CoreSettings;
use crate::Error;
use crate::frame::Opening;

/// Writes a checkpoint with the state of another one, and another [mark](stadium_journal::Journal::mark).
/// Without one it has the empty state before all records.
///
/// # Errors
///
/// The checkpoint cannot be read, or not be written.
pub fn copy_checkpoint(
    settings: &CoreSettings,
    from: Option<Box<dyn CheckpointReader>>,
    into: &dyn Checkpoints,
    mark: Vec<u8>,
) -> Result<CheckpointInfo, Error> {
    let Some(from) = from else { return write_empty(settings, into, mark) };
    let position = from.info().position;
    let (opening, mut from) = Begun::read(from)?.into_parts();
    let mut to = into.begin(position)?;
    to.chunk(&Opening { mark, ..opening }.encode())?;
    while let Some(chunk) = from.next()? {
        to.chunk(chunk)?;
    }
    Ok(to.finish()?)
}

fn write_empty(
    settings: &CoreSettings,
    into: &dyn Checkpoints,
    mark: Vec<u8>,
) -> Result<CheckpointInfo, Error> {
    let mut machines = Machines::new(settings.kinds(), settings.place);
    let count = machines.kinds.len() as u32;
    let opening = Opening { time: Time(0), position: 0, machines: count, pinned: Vec::new(), mark };
    let mut to = into.begin(Position::START)?;
    to.chunk(&opening.encode())?;
    for chunk in machines.state() {
        to.chunk(&chunk)?;
    }
    Ok(to.finish()?)
}
