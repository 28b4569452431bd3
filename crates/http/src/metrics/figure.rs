//! A figure of a shard: its definition, and how it is read.

use stadium_metrics::definition::Definition;
use stadium_shard::ShardMetrics;

/// One figure of a shard: the definition, and the value's place.
pub(crate) type Figure = (&'static Definition, fn(&ShardMetrics) -> f64);
