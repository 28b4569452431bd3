//! The roots that seals published, as the journals hold them.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::hex::HexHash;
use crate::source::Source;
use crate::walk::{Seen, Walk};
use crate::{Error, Progress};

/// What a seal published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Of which shard.
    pub shard: u16,
    /// The seal's number, from 1.
    pub seal: u64,
    /// The root: it covers everything of the shard up to here.
    pub root: HexHash,
    /// Records of its period.
    pub records: u64,
    /// When it was made, milliseconds since 1970.
    pub at: u64,
    /// Where its record stands.
    pub position: u64,
}

/// All roots of a data directory, by shard and number. They are as the journals state:
/// [`crate::verify()`] recounts them.
///
/// # Errors
///
/// A directory or a journal that cannot be read, or that is damaged.
pub fn roots(source: impl Into<Source>, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Root>, Error> {
    let mut walk = Walk::open(&source.into())?;
    let mut roots = Vec::new();
    for shard in walk.shards() {
        let mut broken = None;
        walk.shard(shard, progress, &mut |seen| match seen {
            Seen::Problem(problem) => drop(broken.get_or_insert(problem)),
            Seen::Record { spot, section, .. } => {
                for event in &section.events {
                    if let Ok(Event::Seal { number, records, root }) = Event::parse(event, section.time) {
                        let (seal, root, at) = (number, HexHash(root), section.time);
                        roots.push(Root { shard, seal, root, records, at, position: spot.position });
                    }
                }
            }
        })?;
        broken.map_or(Ok(()), |problem| Err(Error::Broken(problem)))?;
    }
    Ok(roots)
}
