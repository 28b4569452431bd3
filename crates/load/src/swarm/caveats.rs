//! Why figures may reflect the swarm more than the broker: the doubts of the report, in words.

use super::report::{Ended, GeneratorReport, LatencyReport};
use super::tally::Sums;

/// Share of saturated quarter seconds above which figures are doubted.
const SATURATED_SHARE_MAX: f64 = 0.05;
/// Share of the time without an idle processor above which figures are doubted.
const MACHINE_BUSY_SHARE_MAX: f64 = 0.25;
/// The swarm's own lateness at its 99th percentile above which figures are doubted, in milliseconds.
const LATENESS_MS_MAX: f64 = 10.0;

/// Why the figures may reflect the swarm more than the broker.
pub(crate) fn caveats(
    ended: Ended,
    sums: &Sums,
    latency: &LatencyReport,
    generator: &GeneratorReport,
) -> Vec<String> {
    let mut caveats = Vec::new();
    let percent = |share: f64| (share * 100.0).round();
    if ended == Ended::WorkerDied {
        caveats.push(
            "a worker died: its devices were cut, and its last quarter of a second is missing".to_owned(),
        );
    }
    if generator.saturated_share > SATURATED_SHARE_MAX {
        caveats.push(format!(
            "the swarm's loops were saturated {}% of the time: throughput and latency are the swarm's own; use more loops or processes",
            percent(generator.saturated_share)
        ));
    }
    if let Some(share) = generator.machine_busy_share
        && share > MACHINE_BUSY_SHARE_MAX
    {
        caveats.push(format!(
            "no processor was idle {}% of the time: what shares this machine with the broker slows it",
            percent(share)
        ));
    }
    if latency.lateness.p99_ms > LATENESS_MS_MAX {
        caveats.push(format!(
            "the swarm was late itself: {:.1} ms at the 99th percentile, which latencies include",
            latency.lateness.p99_ms
        ));
    }
    if sums.uplinks_skipped + sums.broadcasts_skipped > 0 {
        caveats.push(format!(
            "{} messages were not sent: their device was away or asleep, or 16 were in flight already",
            sums.uplinks_skipped + sums.broadcasts_skipped
        ));
    }
    if sums.not_severed > 0 {
        caveats.push(format!(
            "{} connections could not be cut silently and were reset: the broker knew of their end at once",
            sums.not_severed
        ));
    }
    if sums.resets_seen > 0 {
        caveats.push(format!(
            "{} connections that were cut silently had to be reset before their devices were back: the broker may have seen it",
            sums.resets_seen
        ));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saturated_swarm_is_reported() {
        let clean = caveats(
            Ended::Complete,
            &Sums::default(),
            &LatencyReport::default(),
            &GeneratorReport::default(),
        );
        assert_eq!(clean, Vec::<String>::new());
        let generator = GeneratorReport {
            saturated_share: 0.5,
            machine_busy_share: Some(0.9),
            ..GeneratorReport::default()
        };
        let sums = Sums { uplinks_skipped: 3, ..Sums::default() };
        let doubts = caveats(Ended::WorkerDied, &sums, &LatencyReport::default(), &generator);
        assert_eq!(doubts.len(), 4, "{doubts:?}");
        assert!(doubts[1].contains("50%"), "{doubts:?}");
    }
}
