//! The gain of a second shard on a second core: one shard on core 0, then two on both cores.
//!
//! The client stays on core 1 in both, so it takes its part of the second shard's core. The work for
//! each second of the server's processors leaves that part out.

use anyhow::{Context as _, Result};

use crate::process::{Cores, Pinned};

/// Name of the measurement.
pub(crate) const NAME: &str = "scaling";
/// The figure with the rates' ratio.
pub(crate) const GAIN: &str = "gain";
/// The figure with the ratio of the work for each second of the server's processors.
pub(crate) const GAIN_OF_PROCESSORS: &str = "gain_of_processors";

/// One side.
pub(crate) struct Side {
    /// Rate of the work.
    pub(crate) per_second: f64,
    /// The client's share of core 1.
    pub(crate) client_cpu: f64,
    /// The server's processors.
    pub(crate) server_cpu: f64,
}

/// Takes both sides, a server on these cores with so many shards; their numbers by name.
pub(crate) fn take(mut side: impl FnMut(Cores, u32) -> Result<Side>) -> Result<Vec<(String, f64)>> {
    let _pinned = Pinned::to(Cores::Second)?;
    let mut measure = |cores, shards| side(cores, shards).with_context(|| format!("{shards} shards"));
    let (one, two) = (measure(Cores::First, 1)?, measure(Cores::Both, 2)?);
    let of_processors = |side: &Side| side.per_second / side.server_cpu;
    let mut numbers = vec![
        (GAIN.to_owned(), two.per_second / one.per_second),
        (GAIN_OF_PROCESSORS.to_owned(), of_processors(&two) / of_processors(&one)),
    ];
    for (name, side) in [("one", one), ("two", two)] {
        numbers.extend([
            (format!("{name}_per_second"), side.per_second),
            (format!("{name}_server_cpu"), side.server_cpu),
            (format!("{name}_client_cpu"), side.client_cpu),
        ]);
    }
    Ok(numbers)
}

/// The numbers behind the figures: name, and title for work of this kind.
pub(crate) fn details(work: &str) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (name, title) in [("one", "one shard on core 0"), ("two", "two shards on both cores")] {
        rows.extend([
            (format!("{name}_per_second"), format!("{title}, {work}/s")),
            (format!("{name}_server_cpu"), format!("{title}: server's cores")),
            (format!("{name}_client_cpu"), format!("{title}: client's share of core 1")),
        ]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::number;

    #[test]
    fn the_second_gain_leaves_the_client_out() {
        let sides = |_, shards| {
            let server_cpu = if shards == 1 { 1.0 } else { 1.5 };
            Ok(Side { per_second: 100.0 * server_cpu, client_cpu: 0.5, server_cpu })
        };
        let numbers = take(sides).expect("both are there");
        assert_eq!(number(&numbers, GAIN), Some(1.5));
        assert_eq!(number(&numbers, GAIN_OF_PROCESSORS), Some(1.0));
        assert_eq!(number(&numbers, "two_server_cpu"), Some(1.5));
    }
}
