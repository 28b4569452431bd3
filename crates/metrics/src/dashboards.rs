//! All dashboards.

mod cluster;
mod devices;
mod overview;
mod pushes;
mod queues;
mod services;
mod shards;

use crate::dashboard::Dashboard;

/// The dashboards, the overview first.
pub const ALL: [&Dashboard; 7] = [
    &overview::DASHBOARD,
    &devices::DASHBOARD,
    &pushes::DASHBOARD,
    &queues::DASHBOARD,
    &services::DASHBOARD,
    &shards::DASHBOARD,
    &cluster::DASHBOARD,
];
