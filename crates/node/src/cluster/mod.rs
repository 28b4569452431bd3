//! The cluster that this node is of, if it is of one.
//!
//! [`Plan`] reads and checks everything that can be wrong before anything is opened. [`Member`]
//! takes part in the cluster until it is dropped. A build without the feature `cluster` has
//! neither, and refuses settings that name a cluster.

#[cfg(not(feature = "cluster"))]
mod absent;
#[cfg(feature = "cluster")]
mod documents;
#[cfg(feature = "cluster")]
mod figures;
#[cfg(feature = "cluster")]
mod identity;
#[cfg(feature = "cluster")]
mod member;
#[cfg(feature = "cluster")]
mod plan;
#[cfg(feature = "cluster")]
mod sight;
#[cfg(feature = "cluster")]
mod standing;
#[cfg(feature = "cluster")]
mod users;

#[cfg(not(feature = "cluster"))]
pub(crate) use absent::{Member, Plan};
#[cfg(feature = "cluster")]
pub(crate) use member::Member;
#[cfg(feature = "cluster")]
pub(crate) use plan::Plan;

/// The command that builds a `stadium` with clusters.
pub(crate) const BUILD: &str = "cargo build --release -p stadium-cli --features cluster";
