//! The outcomes of requests, and why links refuse and end.
//!
//! The sorting is by what the caller may conclude. [`Refused`] and [`Outcome::NotSent`] mean that
//! nothing happened: the caller may answer Busy. [`Outcome::Unknown`] means that the request may
//! have been executed (CLU-001).

use std::fmt;

use super::hello::{Incarnation, NodeName, Range};

/// Why a message was not taken. Nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The node is not known here.
    NoSuchNode,
    /// There is no connection to the node now.
    Down,
    /// The link has as much on its way as it may.
    Busy,
    /// All links of this node together have as much on their way as they may.
    NodeBusy,
    /// The body is longer than a link carries; it will never be taken.
    TooLong,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchNode => "the node is not a member of the cluster (CLU-202)",
            Self::Down => "there is no link to the node (CLU-210)",
            Self::Busy => "the link to the node has as much on its way as it may (CLU-211)",
            Self::NodeBusy => "the links of this node have as much on their way as they may (CLU-212)",
            Self::TooLong => "the message is longer than a link carries (CLU-213)",
        })
    }
}

impl std::error::Error for Refused {}

/// What became of a request. Each request that was taken has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The receiver's answer.
    Answer(&'a [u8]),
    /// The receiver had no room for it: nothing happened there.
    Busy,
    /// It certainly never left: nothing happened.
    NotSent(NotSent),
    /// It left, and there is no answer: it may have been executed.
    Unknown(Unknown),
}

/// Why a request never left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// The link ended before.
    LinkEnded,
    /// Its deadline passed before.
    Deadline,
}

/// Why the outcome of a request is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The link ended before the answer came.
    LinkEnded,
    /// The deadline passed before the answer came.
    Deadline,
    /// The receiver gave the request up without an answer.
    Dropped,
}

/// Why a node is not let in, or not talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It belongs to another cluster.
    Cluster,
    /// It is no member.
    NotAMember(NodeName),
    /// Its certificate names another node, or none.
    Certificate {
        /// The node that it claims to be.
        claims: NodeName,
        /// The certificate's only DNS name.
        certified: Option<String>,
    },
    /// It is another node than the one that was dialled.
    OtherNode {
        /// The node that was dialled.
        dialled: NodeName,
        /// The node that answered.
        answered: NodeName,
    },
    /// A later start of that node is known.
    OldIncarnation {
        /// The incarnation that it states.
        stated: Incarnation,
        /// The latest that is known.
        known: Incarnation,
    },
    /// No version of the messages is common.
    Versions {
        /// Theirs.
        theirs: Range<u16>,
        /// Ours.
        ours: Range<u16>,
    },
    /// No feature level is common.
    Levels {
        /// Theirs.
        theirs: Range<u32>,
        /// Ours.
        ours: Range<u32>,
    },
    /// The introduction cannot be read.
    Unreadable,
}

impl Refusal {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Cluster => "CLU-201",
            Self::NotAMember(_) => "CLU-202",
            Self::Certificate { .. } | Self::OtherNode { .. } => "CLU-203",
            Self::OldIncarnation { .. } => "CLU-204",
            Self::Versions { .. } | Self::Levels { .. } => "CLU-205",
            Self::Unreadable => "CLU-206",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The peer's cluster stays its own business: a stranger learns nothing of ours.
            Self::Cluster => f.write_str("the node belongs to another cluster"),
            Self::NotAMember(node) => write!(f, "node {node} is not a member of the cluster"),
            Self::Certificate { claims, certified: Some(name) } => {
                write!(f, "the node claims to be {claims}, and its certificate names {name}")
            }
            Self::Certificate { claims, certified: None } => {
                write!(f, "the node claims to be {claims}, and its certificate has not exactly one DNS name")
            }
            Self::OtherNode { dialled, answered } => {
                write!(f, "node {answered} answered at the address of node {dialled}")
            }
            Self::OldIncarnation { stated, known } => {
                write!(f, "incarnation {stated} of the node is over, {known} is known")
            }
            Self::Versions { theirs, ours } => {
                write!(f, "the node speaks versions {theirs} of links, this one {ours}")
            }
            Self::Levels { theirs, ours } => {
                write!(f, "the node has feature levels {theirs}, this one {ours}")
            }
            Self::Unreadable => f.write_str("the node's introduction cannot be read"),
        }?;
        write!(f, " ({})", self.code())
    }
}

impl std::error::Error for Refusal {}

/// Why a link ends. The driver writes what is in `out`, and closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// This half refuses the other.
    Refuses(Refusal),
    /// The other half reports it, in its words.
    Peer(String),
    /// The other half broke the protocol.
    Violation(String),
    /// Nothing came for the time that a link may be silent.
    Silent,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuses(refusal) => refusal.fmt(f),
            Self::Peer(words) => write!(f, "the peer ended the link: {words}"),
            Self::Violation(what) => write!(f, "{what} (CLU-207)"),
            Self::Silent => f.write_str("the peer shows no sign of life (CLU-208)"),
        }
    }
}
