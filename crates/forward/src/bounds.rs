//! Bounds of a node's commands: for how long they are asked again, how many there are.
//!
//! Ids that a node gives to puts are remembered for longer than that time.

use std::time::Duration;

/// How long a command is asked again: longer than a failover takes. A reserve that waits has its wait
/// besides.
pub const ASKED_FOR: Duration = Duration::from_secs(10);

/// Bounds of the commands that are not answered.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many, at most: those for which a node has no link, or no credit, wait too.
    pub commands_max: usize,
    /// Bytes of memory that they keep alive together, at most. One command always fits.
    pub bytes_max: usize,
}

impl Default for Bounds {
    /// 65,536 commands, 256 MiB.
    fn default() -> Self {
        Self { commands_max: 65_536, bytes_max: 256 << 20 }
    }
}
