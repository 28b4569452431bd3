//! Names of logs, of places in them, and of those who write there.

use std::fmt;

use stadium_journal::Epoch;

/// The place of a message in its partition. Offsets are dense: each message has the offset after
/// that of the message before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Offset(pub u64);

impl Offset {
    /// The offset of the message behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Distinguishes clusters: drawn at random when a cluster is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ClusterId(pub u64);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which log: that of a shard of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Log {
    /// The cluster.
    pub cluster: ClusterId,
    /// The shard's number.
    pub shard: u32,
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {} of cluster {}", self.shard, self.cluster)
    }
}

/// Distinguishes claims of one epoch: drawn at random for each claim, and never 0.
///
/// Two claimants, or two claims of one node, may choose the same epoch. Only one of their fences
/// counts, and the writer id shows whose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WriterId(pub u64);

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The right to write, as a fence states it: an epoch and a writer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Claim {
    /// The fence counts if this is greater than the epoch before.
    pub epoch: Epoch,
    /// The node that claims.
    pub writer: WriterId,
}

impl Claim {
    /// Nobody's: the state of a log without a fence.
    pub const NONE: Self = Self { epoch: Epoch(0), writer: WriterId(0) };
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {} of writer {}", self.epoch, self.writer)
    }
}

/// The number of a message within its claim: 0 is the fence, the others follow without gaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sequence(pub u64);

impl Sequence {
    /// The sequence of a fence.
    pub const FENCE: Self = Self(0);
    /// The sequence of the first message behind the fence.
    pub const FIRST: Self = Self(1);

    /// The sequence of the message after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
