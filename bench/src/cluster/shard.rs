//! One shard whose log is in Kafka: its commands beside a bare producer, its takeover, its memory.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Numbers;
use crate::process::{Cores, client, numbers};
use crate::server::Places;

/// Name of the measurement.
pub(super) const NAME: &str = "shard";

/// Time for the example to end.
const ENDS_WITHIN: Duration = Duration::from_secs(900);

/// Has the example measure it.
pub(super) fn take(places: &Places, jobs: u64) -> Result<Numbers> {
    let program = places.example("shard_on_kafka");
    if !program.exists() {
        bail!("{} is missing: use `cargo xtask bench cluster`", program.display());
    }
    let mut command = Cores::Both.command(&program);
    Ok(numbers(&client(command.arg(jobs.to_string()), ENDS_WITHIN)?))
}
