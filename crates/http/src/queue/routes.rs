//! The endpoints of queues, jobs, leases and schedules.

pub(crate) mod jobs;
pub(crate) mod leases;
pub(crate) mod live;
pub(crate) mod queues;
pub(crate) mod schedules;
