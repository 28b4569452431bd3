//! The figures of the queues, the wallets and the shards, for Prometheus; those of the push
//! platform are in [`crate::metrics::push`].
//!
//! At most a hundred queues have series of their own; the others are summed as the queue `(other)`,
//! which is no queue's name. So the number of series does not grow with the number of queues.

use std::fmt;

use stadium_metrics::definition::Definition;
use stadium_metrics::table::{queues, shards, wallets};
use stadium_queue::QueueStats;
use stadium_shard::{ShardMetrics, ThreadMetrics};
use stadium_wallet::AssetView;

use crate::metrics::encoder::{Encoder, Reading};
use crate::metrics::figure::Figure;
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

/// The definition of each total, in the order of [`Figures::totals`].
const TOTALS: [&Definition; 6] = [
    queues::QUEUE_PUT,
    queues::QUEUE_HANDED_OUT,
    queues::QUEUE_SETTLED,
    queues::QUEUE_RETRIED,
    queues::QUEUE_DIED,
    queues::QUEUE_DUPLICATES,
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
    to.value(queues::QUEUES, look.queues.len() as u64)?;
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
    let mut family = to.family(queues::QUEUE_JOBS)?;
    for (queue, figures) in &series {
        for (state, count) in figures.by_state() {
            family.series(&[("queue", *queue), ("state", state)], count)?;
        }
    }
    let mut family = to.family(queues::QUEUE_OLDEST_DUE_AGE)?;
    for (queue, figures) in &series {
        let age_ms = figures.oldest_due_ms.map_or(0, |since| look.at_ms.saturating_sub(since));
        family.series(&[("queue", *queue)], age_ms as f64 * MS)?;
    }
    let waiting: fn(&Figures) -> u64 = |figures| figures.waiting;
    let paused: fn(&Figures) -> u64 = |figures| figures.paused;
    for (row, of) in [(queues::QUEUE_WAITING_CONSUMERS, waiting), (queues::QUEUE_PAUSED, paused)] {
        let mut family = to.family(row)?;
        for (queue, figures) in &series {
            family.series(&[("queue", *queue)], of(figures))?;
        }
    }
    for (index, row) in TOTALS.into_iter().enumerate() {
        let mut family = to.family(row)?;
        for (queue, figures) in &series {
            family.series(&[("queue", *queue)], figures.totals[index])?;
        }
    }
    Ok(())
}

/// What all accounts of each asset hold; there are at most a thousand assets.
fn assets(to: &mut Encoder<'_>, assets: &[AssetView]) -> fmt::Result {
    let sums: [Reading<AssetView>; 5] = [
        (wallets::WALLET_ASSET_ACCOUNTS, |asset| (asset.accounts as f64).into()),
        (wallets::WALLET_ASSET_CREDIT, |asset| (asset.credit as f64).into()),
        (wallets::WALLET_ASSET_DEBIT, |asset| (asset.debit as f64).into()),
        (wallets::WALLET_ASSET_HELD, |asset| (asset.held as f64).into()),
        (wallets::WALLET_ASSET_BALANCED, |asset| (asset.credit == asset.debit).into()),
    ];
    for (row, of) in sums {
        let mut family = to.family(row)?;
        for asset in assets {
            family.series(&[("asset", asset.asset.as_str())], of(asset))?;
        }
    }
    Ok(())
}

fn gauges() -> [Figure; 22] {
    [
        (shards::SHARD_SERVING, |m| u64::from(m.serving) as f64),
        (shards::SHARD_JOBS, |m| m.jobs as f64),
        (shards::SHARD_MAILBOX_COMMANDS, |m| m.mailbox_commands as f64),
        (shards::SHARD_MAILBOX, |m| m.mailbox_bytes as f64),
        (shards::SHARD_PENDING_ANSWERS, |m| m.pending_answers as f64),
        (shards::SHARD_WAITING_CONSUMERS, |m| m.waiting_consumers as f64),
        (shards::SHARD_STATE, |m| m.state_bytes as f64),
        (shards::SHARD_CHECKPOINT, |m| m.checkpoint_bytes as f64),
        (shards::SHARD_CHECKPOINT_DURATION, |m| m.checkpoint_us as f64 * US),
        (shards::SHARD_TAIL, |m| m.tail_bytes as f64),
        (shards::SHARD_RECOVERY_EXPECTED, |m| m.recovery_expected_ms as f64 * MS),
        (shards::SHARD_RECOVERY, |m| m.recovery_ms as f64 * MS),
        (shards::SHARD_SEGMENTS, |m| m.segments as f64),
        (shards::SHARD_SEGMENTS_SIZE, |m| m.segment_bytes as f64),
        (shards::SHARD_PAYLOADS_ALIVE, |m| m.live_bytes as f64),
        (shards::JOURNAL_WAITING, |m| m.journal.waiting_bytes as f64),
        (wallets::WALLET_ACCOUNTS, |m| m.wallet.accounts as f64),
        (wallets::WALLET_HOLDS, |m| m.wallet.holds as f64),
        (wallets::WALLET_IDS_REMEMBERED, |m| m.wallet.remembered as f64),
        (wallets::WALLET_PENDING, |m| m.wallet.pending as f64),
        (wallets::WALLET_JOURNAL, |m| m.pinned_bytes as f64),
        (wallets::WALLET_UNSEALED, |m| m.wallet.unsealed as f64),
    ]
}

fn counters() -> [Figure; 20] {
    [
        (shards::SHARD_COMMANDS, |m| m.commands as f64),
        (shards::SHARD_REFUSALS, |m| m.refusals as f64),
        (shards::SHARD_MAILBOX_FULL, |m| m.mailbox_full as f64),
        (shards::SHARD_TURNS, |m| m.turns as f64),
        (shards::SHARD_RELEASED_UNSENT, |m| m.released_unsent as f64),
        (shards::SHARD_PAYLOADS_DAMAGED, |m| m.payloads_damaged as f64),
        (shards::SHARD_DELIVERIES, |m| m.deliveries_sent as f64),
        (shards::SHARD_CHECKPOINTS, |m| m.checkpoints as f64),
        (shards::SHARD_CHECKPOINTS_FAILED, |m| m.checkpoints_failed as f64),
        (shards::SHARD_SEGMENTS_REMOVED, |m| m.segments_removed as f64),
        (shards::SHARD_REWRITTEN, |m| m.rewritten_bytes as f64),
        (shards::SHARD_REOPENED, |m| m.reopened as f64),
        (shards::JOURNAL_RECORDS, |m| m.journal.records as f64),
        (shards::JOURNAL_APPENDED, |m| m.journal.bytes as f64),
        (shards::JOURNAL_COMMITS, |m| m.journal.commits as f64),
        (shards::JOURNAL_READS_FROM_MEMORY, |m| m.journal.reads_from_memory as f64),
        (shards::JOURNAL_READS_FROM_DISK, |m| m.journal.reads_from_disk as f64),
        (wallets::WALLET_BOOKED, |m| m.wallet.booked as f64),
        (wallets::WALLET_REFUSED, |m| m.wallet.refused as f64),
        (wallets::WALLET_SEALS, |m| m.wallet.seals as f64),
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

/// One histogram of a shard: the definition, and the values' place.
type Distribution = (&'static Definition, fn(&ShardMetrics) -> Buckets);

fn distributions() -> [Distribution; 6] {
    [
        (shards::SHARD_TURN_COMMANDS, |m| scaled(&m.turn_commands.buckets, m.turn_commands.sum, 1.0)),
        (shards::SHARD_TURN_DURATION, |m| scaled(&m.turn_us.buckets, m.turn_us.sum, US)),
        (shards::SHARD_DURABLE_LAG, |m| scaled(&m.durable_lag_us.buckets, m.durable_lag_us.sum, US)),
        (shards::SHARD_CHECKPOINT_PAUSE, |m| {
            scaled(&m.checkpoint_pause_us.buckets, m.checkpoint_pause_us.sum, US)
        }),
        (shards::JOURNAL_SYNC, |m| scaled(&m.journal.sync_us.buckets, m.journal.sync_us.sum, US)),
        (shards::JOURNAL_COMMIT_RECORDS, |m| {
            scaled(&m.journal.batch_records.buckets, m.journal.batch_records.sum, 1.0)
        }),
    ]
}

fn of_shards(to: &mut Encoder<'_>, shards: &[ShardMetrics]) -> fmt::Result {
    let all = [&gauges()[..], &counters()[..], &push::gauges()[..], &push::counters()[..]];
    for (row, of) in all.into_iter().flatten() {
        let mut family = to.family(row)?;
        for shard in shards {
            family.series(&[("shard", shard.shard.to_string())], of(shard))?;
        }
    }
    for (row, of) in distributions() {
        let mut family = to.family(row)?;
        let series: Vec<(String, Buckets)> = if shards.len() <= DISTRIBUTIONS_MAX {
            shards.iter().map(|shard| (shard.shard.to_string(), of(shard))).collect()
        } else {
            vec![(ALL.to_owned(), shards.iter().map(of).fold(Buckets::default(), sum))]
        };
        for (shard, (buckets, sum)) in series {
            family.histogram(&[("shard", shard)], &buckets, sum)?;
        }
    }
    Ok(())
}

fn of_threads(to: &mut Encoder<'_>, threads: &[ThreadMetrics]) -> fmt::Result {
    let mut family = to.family(shards::SHARD_THREAD_BUSY)?;
    for thread in threads {
        family.series(&[("thread", thread.thread.to_string())], thread.busy_us as f64 * US)?;
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
