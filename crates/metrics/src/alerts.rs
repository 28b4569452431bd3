//! All alert rules, by group.

mod cluster;
mod devices;
mod server;
mod state;

use crate::alert::{Alert, Group};

/// The groups, in the order of the page.
pub const GROUPS: [&Group; 4] = [&server::GROUP, &devices::GROUP, &state::GROUP, &cluster::GROUP];

/// All alerts.
pub fn all() -> impl Iterator<Item = &'static Alert> {
    GROUPS.into_iter().flat_map(|group| group.alerts.iter())
}
