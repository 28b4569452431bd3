//! The figures of the queues, the wallets and the shards, for Prometheus; those of the push
//! platform are in [`crate::metrics::push`].
//!
//! At most a hundred queues have series of their own; the others are summed as the queue `(other)`, which is no queue's
//! name. So the number of series does not grow with the number of queues.

use std::fmt;

use prometheus_client::encoding::NoLabelSet;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use stadium_queue::QueueStats;
use stadium_shard::{ShardMetrics, ThreadMetrics};
use stadium_wallet::AssetView;

use crate::metrics::encoder::Encoder;
use crate::metrics::figure::{Figure, bytes};
use crate::metrics::push;
use crate::metrics::sources::Sources;
use crate::queue::samples::Look;
use crate::queue::views::JobCounts;

/// Who stands for the queues without series of their own.
const OTHERS: &str = "(other)";

/// Microseconds and milliseconds of the shards, in the seconds that Prometheus wants.
const US: f64 = 1e-6;
const MS: f64 = 1e-3;

/// Everything about queues, wallets and shards; nothing where there are no shards.
pub(crate) fn encode(to: &mut Encoder<'_>, sources: &Sources) -> fmt::Result {
    let Some(shards) = sources.app.shards.get() else { return Ok(()) };
    sources.queues.read(|look| queues(to, &look))?;
    sources.wallets.read(|look| assets(to, &look.assets))?;
    of_shards(to, &shards.metrics())?;
    of_threads(to, &shards.thread_metrics())
}

/// The figures of one series.
#[derive(Default)]
struct Figures {
    jobs: JobCounts,
    oldest_due_ms: Option<u64>,
    waiting: u64,
    paused: u64,
    totals: [u64; 6],
}

/// Name and help of each total, in the order of [`Figures::totals`].
const TOTALS: [(&str, &str); 6] = [
    ("queue_put", "Jobs put"),
    ("queue_handed_out", "Jobs handed out, each attempt counted"),
    ("queue_settled", "Jobs done, forwarded ones included"),
    ("queue_retried", "Attempts that ended in another try"),
    ("queue_died", "Jobs whose last attempt failed"),
    ("queue_duplicates", "Puts of a dedup id that was known"),
];

impl Figures {
    fn add(&mut self, stats: &QueueStats) {
        self.jobs.add(&JobCounts::of(stats));
        self.oldest_due_ms =
            [self.oldest_due_ms, stats.oldest_due.map(|time| time.0)].into_iter().flatten().min();
        self.waiting += stats.waiting;
        self.paused += u64::from(stats.paused);
        let QueueStats { put, handed_out, settled, retried, died, duplicates, .. } = *stats;
        for (total, more) in self.totals.iter_mut().zip([put, handed_out, settled, retried, died, duplicates])
        {
            *total += more;
        }
    }

    fn by_state(&self) -> [(&'static str, u64); 5] {
        let JobCounts { delayed, due, reserved, buried, dead, .. } = self.jobs;
        [("delayed", delayed), ("due", due), ("reserved", reserved), ("buried", buried), ("dead", dead)]
    }
}

fn queues(to: &mut Encoder<'_>, look: &Look<'_>) -> fmt::Result {
    to.gauge("queues", "Queues", look.queues.len() as u64)?;
    let mut series: Vec<(&str, Figures)> = Vec::new();
    let mut others = Figures::default();
    for (name, sampled) in look.queues {
        if look.named.contains(name) {
            let mut figures = Figures::default();
            figures.add(&sampled.stats);
            series.push((name.as_str(), figures));
        } else {
            others.add(&sampled.stats);
        }
    }
    if look.queues.len() > series.len() {
        series.push((OTHERS, others));
    }
    let mut family =
        to.0.encode_descriptor("queue_jobs", "Jobs by where they stand", None, MetricType::Gauge)?;
    for (queue, figures) in &series {
        for (state, count) in figures.by_state() {
            family.encode_family(&[("queue", *queue), ("state", state)])?.encode_gauge(&count)?;
        }
    }
    let mut family = to.0.encode_descriptor(
        "queue_oldest_due_age",
        "How long the oldest job that is due has been due; 0 where none is",
        Some(&Unit::Seconds),
        MetricType::Gauge,
    )?;
    for (queue, figures) in &series {
        let age_ms = figures.oldest_due_ms.map_or(0, |since| look.at_ms.saturating_sub(since));
        family.encode_family(&[("queue", *queue)])?.encode_gauge(&(age_ms as f64 * MS))?;
    }
    const PAUSED: &str = "1 while nothing is handed out; of `(other)` how many";
    let waiting: fn(&Figures) -> u64 = |figures| figures.waiting;
    let paused: fn(&Figures) -> u64 = |figures| figures.paused;
    for (name, help, of) in [
        ("queue_waiting_consumers", "Consumers that wait for a job", waiting),
        ("queue_paused", PAUSED, paused),
    ] {
        let mut family = to.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (queue, figures) in &series {
            family.encode_family(&[("queue", *queue)])?.encode_gauge(&of(figures))?;
        }
    }
    for (index, (name, help)) in TOTALS.into_iter().enumerate() {
        let mut family = to.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (queue, figures) in &series {
            let labels = [("queue", *queue)];
            let total = figures.totals[index];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&total, None)?;
        }
    }
    Ok(())
}

/// What all accounts of each asset hold; there are at most a thousand assets.
fn assets(to: &mut Encoder<'_>, assets: &[AssetView]) -> fmt::Result {
    type Sum = fn(&AssetView) -> f64;
    let sums: [(&str, &str, Sum); 4] = [
        ("wallet_asset_accounts", "Accounts of an asset", |asset| asset.accounts as f64),
        ("wallet_asset_credit", "Sum of balances above zero, minor units", |asset| asset.credit as f64),
        ("wallet_asset_debit", "Sum of balances below zero, minor units", |asset| asset.debit as f64),
        ("wallet_asset_held", "Held, minor units", |asset| asset.held as f64),
    ];
    for (name, help, of) in sums {
        let mut family = to.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for asset in assets {
            family.encode_family(&[("asset", asset.asset.as_str())])?.encode_gauge(&of(asset))?;
        }
    }
    let mut family = to.0.encode_descriptor(
        "wallet_asset_balanced",
        "1 while the sum of all balances is zero; anything else is a bug or a broken disk",
        None,
        MetricType::Gauge,
    )?;
    for asset in assets {
        let balanced = u64::from(asset.credit == asset.debit);
        family.encode_family(&[("asset", asset.asset.as_str())])?.encode_gauge(&balanced)?;
    }
    Ok(())
}

fn gauges() -> [Figure; 21] {
    let seconds = || Some(Unit::Seconds);
    [
        ("shard_serving", "1 while it takes commands", None, |m| u64::from(m.serving) as f64),
        ("shard_jobs", "Jobs, in whatever state", None, |m| m.jobs as f64),
        ("shard_mailbox_commands", "Commands in the mailbox", None, |m| m.mailbox_commands as f64),
        ("shard_mailbox", "Payloads in the mailbox", bytes(), |m| m.mailbox_bytes as f64),
        ("shard_pending_answers", "Answers that wait for a commit", None, |m| m.pending_answers as f64),
        ("shard_waiting_consumers", "Consumers that wait for a job", None, |m| m.waiting_consumers as f64),
        ("shard_state", "Memory that the state holds", bytes(), |m| m.state_bytes as f64),
        ("shard_checkpoint", "The newest checkpoint", bytes(), |m| m.checkpoint_bytes as f64),
        ("shard_checkpoint_duration", "How long it took", seconds(), |m| m.checkpoint_us as f64 * US),
        ("shard_tail", "Journal after the newest checkpoint", bytes(), |m| m.tail_bytes as f64),
        ("shard_recovery_expected", "How long a recovery would take now", seconds(), |m| {
            m.recovery_expected_ms as f64 * MS
        }),
        ("shard_recovery", "How long the last recovery took", seconds(), |m| m.recovery_ms as f64 * MS),
        ("shard_segments", "Segments of the journal", None, |m| m.segments as f64),
        ("shard_segments_size", "Disk that they take", bytes(), |m| m.segment_bytes as f64),
        ("shard_payloads_alive", "Payloads that are alive in them", bytes(), |m| m.live_bytes as f64),
        ("journal_waiting", "Appended and not yet on disk", bytes(), |m| m.journal.waiting_bytes as f64),
        ("wallet_accounts", "Accounts, parts of system wallets' included", None, |m| {
            m.wallet.accounts as f64
        }),
        ("wallet_holds", "Open holds", None, |m| m.wallet.holds as f64),
        ("wallet_ids_remembered", "Transfers whose ids are remembered", None, |m| m.wallet.remembered as f64),
        ("wallet_pending", "Transfers between shards that are not decided", None, |m| {
            m.wallet.pending as f64
        }),
        ("wallet_unsealed", "Records that no seal covers", None, |m| m.wallet.unsealed as f64),
    ]
}

fn counters() -> [Figure; 20] {
    [
        ("shard_commands", "Commands taken on, reads included", None, |m| m.commands as f64),
        ("shard_refusals", "Commands refused, busy or rejected", None, |m| m.refusals as f64),
        ("shard_mailbox_full", "Commands refused because the mailbox was full", None, |m| {
            m.mailbox_full as f64
        }),
        ("shard_turns", "Turns", None, |m| m.turns as f64),
        ("shard_released_unsent", "Jobs handed out whose consumer had gone", None, |m| {
            m.released_unsent as f64
        }),
        ("shard_payloads_damaged", "Payloads damaged on disk", None, |m| m.payloads_damaged as f64),
        ("shard_deliveries", "Jobs sent to other shards", None, |m| m.deliveries_sent as f64),
        ("shard_checkpoints", "Checkpoints written", None, |m| m.checkpoints as f64),
        ("shard_checkpoints_failed", "Checkpoints that failed", None, |m| m.checkpoints_failed as f64),
        ("shard_segments_removed", "Segments removed", None, |m| m.segments_removed as f64),
        ("shard_rewritten", "Payloads written again to free segments", bytes(), |m| m.rewritten_bytes as f64),
        ("shard_reopened", "Times that the journal failed and was opened again", None, |m| m.reopened as f64),
        ("journal_records", "Records appended", None, |m| m.journal.records as f64),
        ("journal_appended", "Appended, frames included", bytes(), |m| m.journal.bytes as f64),
        ("journal_commits", "Batches that became durable", None, |m| m.journal.commits as f64),
        ("journal_reads_from_memory", "Payloads read from memory", None, |m| {
            m.journal.reads_from_memory as f64
        }),
        ("journal_reads_from_disk", "Payloads read from disk", None, |m| m.journal.reads_from_disk as f64),
        ("wallet_booked", "Transfers booked, replayed ones included", None, |m| m.wallet.booked as f64),
        ("wallet_refused", "Transfers refused", None, |m| m.wallet.refused as f64),
        ("wallet_seals", "Seals made", None, |m| m.wallet.seals as f64),
    ]
}

/// Buckets and sum of one of a shard's histograms, in the unit of the metric.
type Buckets = (Vec<(f64, u64)>, f64);

fn scaled(buckets: &[(u64, u64)], sum: u64, scale: f64) -> Buckets {
    let scaled = buckets.iter().map(|&(bound, count)| {
        let bound = if bound == u64::MAX { f64::INFINITY } else { bound as f64 * scale };
        (bound, count)
    });
    let mut buckets: Vec<_> = scaled.collect();
    if buckets.last().is_none_or(|(bound, _)| bound.is_finite()) {
        buckets.push((f64::INFINITY, 0));
    }
    (buckets, sum as f64 * scale)
}

/// Shards whose histograms have series of their own. Those of more would be tens of thousands of lines.
const DISTRIBUTIONS_MAX: usize = 64;

/// Who stands for all shards, where they are more.
const ALL: &str = "(all)";

/// The sum of two of one kind. A shard that is not open yet has no buckets.
fn sum((mut buckets, sum): Buckets, (more, more_sum): Buckets) -> Buckets {
    if buckets.len() < more.len() {
        return self::sum((more, more_sum), (buckets, sum));
    }
    if buckets.len() == more.len() {
        buckets.iter_mut().zip(&more).for_each(|((_, count), (_, more))| *count += more);
    }
    (buckets, sum + more_sum)
}

/// One histogram of a shard: name, help, unit, and where it stands.
type Distribution = (&'static str, &'static str, Option<Unit>, fn(&ShardMetrics) -> Buckets);

fn distributions() -> [Distribution; 6] {
    let seconds = || Some(Unit::Seconds);
    [
        ("shard_turn_commands", "Commands of a turn", None, |m| {
            scaled(&m.turn_commands.buckets, m.turn_commands.sum, 1.0)
        }),
        ("shard_turn_duration", "How long a turn took", seconds(), |m| {
            scaled(&m.turn_us.buckets, m.turn_us.sum, US)
        }),
        ("shard_durable_lag", "From a turn to the time its answers left", seconds(), |m| {
            scaled(&m.durable_lag_us.buckets, m.durable_lag_us.sum, US)
        }),
        ("shard_checkpoint_pause", "What a turn spent on a checkpoint", seconds(), |m| {
            scaled(&m.checkpoint_pause_us.buckets, m.checkpoint_pause_us.sum, US)
        }),
        ("journal_sync", "How long the disk took to make a batch durable", seconds(), |m| {
            scaled(&m.journal.sync_us.buckets, m.journal.sync_us.sum, US)
        }),
        ("journal_commit_records", "Records that became durable together", None, |m| {
            scaled(&m.journal.batch_records.buckets, m.journal.batch_records.sum, 1.0)
        }),
    ]
}

fn of_shards(to: &mut Encoder<'_>, shards: &[ShardMetrics]) -> fmt::Result {
    let all = [
        (&gauges()[..], MetricType::Gauge),
        (&counters()[..], MetricType::Counter),
        (&push::gauges()[..], MetricType::Gauge),
        (&push::counters()[..], MetricType::Counter),
    ];
    for (figures, kind) in all {
        for (name, help, unit, of) in figures {
            let mut family = to.0.encode_descriptor(name, help, unit.as_ref(), kind)?;
            for shard in shards {
                let labels = [("shard", shard.shard.to_string())];
                let mut one = family.encode_family(&labels)?;
                match kind {
                    MetricType::Counter => one.encode_counter::<NoLabelSet, _, u64>(&of(shard), None)?,
                    _ => one.encode_gauge(&of(shard))?,
                }
            }
        }
    }
    for (name, help, unit, of) in distributions() {
        let mut family = to.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Histogram)?;
        let series: Vec<(String, Buckets)> = if shards.len() <= DISTRIBUTIONS_MAX {
            shards.iter().map(|shard| (shard.shard.to_string(), of(shard))).collect()
        } else {
            vec![(ALL.to_owned(), shards.iter().map(of).fold(Buckets::default(), sum))]
        };
        for (shard, (buckets, sum)) in series {
            let count = buckets.iter().map(|(_, count)| count).sum();
            let labels = [("shard", shard)];
            family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
    }
    Ok(())
}

fn of_threads(to: &mut Encoder<'_>, threads: &[ThreadMetrics]) -> fmt::Result {
    let mut family = to.0.encode_descriptor(
        "shard_thread_busy",
        "What a thread that drives shards has spent on turns",
        Some(&Unit::Seconds),
        MetricType::Counter,
    )?;
    for thread in threads {
        let labels = [("thread", thread.thread.to_string())];
        let busy_s = thread.busy_us as f64 * US;
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&busy_s, None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Buckets, sum};

    #[test]
    fn histograms_are_summed_and_those_without_buckets_add_nothing() {
        let one: Buckets = (vec![(1.0, 2), (f64::INFINITY, 1)], 9.0);
        let two: Buckets = (vec![(1.0, 5), (f64::INFINITY, 0)], 3.0);
        let empty: Buckets = (vec![(f64::INFINITY, 0)], 0.0);
        let all = [empty.clone(), one, empty, two].into_iter().fold(Buckets::default(), sum);
        assert_eq!(all, (vec![(1.0, 7), (f64::INFINITY, 1)], 12.0));
    }
}
