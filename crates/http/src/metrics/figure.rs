//! A figure of a shard: its name, its help, its unit, and how it is read.

use prometheus_client::registry::Unit;
use stadium_shard::ShardMetrics;

/// One figure of a shard: name, help, unit, and where it stands.
pub(crate) type Figure = (&'static str, &'static str, Option<Unit>, fn(&ShardMetrics) -> f64);

/// The unit of memory.
pub(crate) fn bytes() -> Option<Unit> {
    Some(Unit::Bytes)
}
