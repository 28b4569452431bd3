//! Membership of a cluster, without I/O: nodes, the map of shards, succession, leases, the planner.
//!
//! [`View`] is the cluster as of one revision of etcd. [`FirstInStep`] names the owner of a shard in a
//! view. [`Succession`] gives a node its duties, [`Lease`] says how long it may answer reads, and
//! [`Planner`] changes the map. [`report`] has a view as operators are shown it. docs/membership.md describes all of them; the driver on etcd is
//! `stadium-membership-etcd`.

mod cluster;
mod entry;
mod error;
mod lease;
mod name;
mod node;
mod planner;
pub mod report;
mod request;
mod rule;
mod shard_set;
mod succession;
mod view;
mod write;

pub use cluster::{Cluster, ClusterId, Formats};
pub use entry::{Entry, REPLICAS_MAX};
pub use error::Error;
pub use lease::{BootTime, LEASE, Lease, MARGIN};
pub use name::{Incarnation, NAME_BYTES_MAX, NodeName, SHARDS_MAX, Shard, check_name};
pub use node::{ADDRESS_BYTES_MAX, ADDRESSES_MAX, Node, Versions, ZONE_BYTES_MAX};
pub use planner::{Planner, Settings};
pub use request::Request;
pub use rule::{FirstInStep, Rule};
pub use shard_set::ShardSet;
pub use succession::{CLAIM_AGAIN, Order, Succession};
pub use view::{Change, Seat, Stored, View};
pub use write::{Action, Condition, Write};
