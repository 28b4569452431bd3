//! Membership of a cluster on etcd: the driver of `stadium-membership`.
//!
//! [`Membership`] is a node's handle. Its thread `membership` keeps the lease, follows everything
//! below `/stadium/CLUSTER/`, writes what the node reports, stands for election as planner, and
//! plans. The node decides its duties with [`stadium_membership::Succession`] from the views that
//! it gets. [`create()`] makes a cluster, [`find()`] finds one, and an [`Operator`] looks at one
//! without being a node. [`Documents`] are texts that all nodes share. docs/membership.md describes
//! keys and failures.

mod boot_time;
mod changes;
mod command;
mod config;
mod create;
mod documents;
mod handle;
mod keys;
mod lease;
mod loads;
mod operator;
mod session;
mod shared;
mod thread;

pub use boot_time::boot_time;
pub use config::Config;
pub use create::{create, find};
pub use documents::{DocumentSettings, Documents, Known, NotChanged, Texts};
pub use handle::{Membership, WRITES_MAX};
pub use lease::Certainty;
pub use operator::{LONGEST_CALL, Member, MemberState, Operator, Sight};
pub use shared::{Connection, Counts, Report, Snapshot};
pub use stadium_etcd::{Access, Tls, User};
