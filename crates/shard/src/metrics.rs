//! What a shard counts, for operators and for the estimate of a recovery.
//!
//! A thread that drives shards counts the time that it spends on turns.

use stadium_journal::Histogram;
use stadium_queue::Time;

/// Figures of one shard. Counts are since the process started; sizes are as they are now.
#[derive(Debug, Clone, Default)]
pub struct ShardMetrics {
    /// Which.
    pub shard: u16,
    /// Whether it takes commands: not while it recovers, and not after its journal failed until it is open again.
    pub serving: bool,
    /// Why not, in words.
    pub trouble: Option<String>,
    /// Commands in the mailbox.
    pub mailbox_commands: u64,
    /// Bytes of payloads in the mailbox.
    pub mailbox_bytes: u64,
    /// Commands that were answered Busy because the mailbox was full.
    pub mailbox_full: u64,
    /// Commands taken on, reads included.
    pub commands: u64,
    /// Refusals given, Busy or Rejected.
    pub refusals: u64,
    /// Records written.
    pub records: u64,
    /// Of them: those without events, behind which answers left while the node's lease was uncertain.
    pub barriers: u64,
    /// Turns.
    pub turns: u64,
    /// Commands of each turn that had any.
    pub turn_commands: Histogram,
    /// How long each turn took, microseconds.
    pub turn_us: Histogram,
    /// From the turn that wrote a record until its answers left, microseconds: one value for each batch.
    pub durable_lag_us: Histogram,
    /// Answers that wait for a commit.
    pub pending_answers: u64,
    /// Consumers that wait for a job.
    pub waiting_consumers: u64,
    /// Jobs handed out whose consumer had gone; released uncounted.
    pub released_unsent: u64,
    /// Payloads that were damaged on disk.
    pub payloads_damaged: u64,
    /// Jobs and cross-shard messages sent to other shards.
    pub deliveries_sent: u64,
    /// Jobs, in whatever state.
    pub jobs: u64,
    /// Bytes of memory that the state holds.
    pub state_bytes: u64,
    /// Of them: the queues'.
    pub queue_bytes: u64,
    /// Of them: the wallets'.
    pub wallet_bytes: u64,
    /// Of them: the push platform's.
    pub push_bytes: u64,
    /// Of them: those of MQTT sessions and retained messages.
    pub session_bytes: u64,
    /// What the push platform holds, and what has happened there.
    pub push: stadium_push::Figures,
    /// What the wallets hold.
    pub wallet: stadium_wallet::Figures,
    /// The newest seal over the wallets' books; it may not be durable yet.
    pub newest_seal: Option<stadium_wallet::Seal>,
    /// Checkpoints written.
    pub checkpoints: u64,
    /// Checkpoints that failed; the journal is kept until one succeeds.
    pub checkpoints_failed: u64,
    /// When the newest one was begun.
    pub checkpoint_at: Option<Time>,
    /// Its bytes.
    pub checkpoint_bytes: u64,
    /// How long it took, microseconds.
    pub checkpoint_us: u64,
    /// What each turn spent on a checkpoint, microseconds.
    pub checkpoint_pause_us: Histogram,
    /// Bytes of journal after the newest checkpoint.
    pub tail_bytes: u64,
    /// Records after it.
    pub tail_records: u64,
    /// How long a recovery would take now, milliseconds.
    pub recovery_expected_ms: u64,
    /// How long the last one took, milliseconds.
    pub recovery_ms: u64,
    /// Segments there are.
    pub segments: u64,
    /// Bytes of payloads that are alive in them.
    pub live_bytes: u64,
    /// Bytes of disk that segments take.
    pub segment_bytes: u64,
    /// Of them: bytes of segments that stay for their records, those of wallets.
    pub pinned_bytes: u64,
    /// Segments removed.
    pub segments_removed: u64,
    /// Bytes of payloads that were written again to free segments.
    pub rewritten_bytes: u64,
    /// Times that the journal failed and was opened again.
    pub reopened: u64,
    /// The journal's own figures.
    pub journal: stadium_journal::Metrics,
}

/// Figures of one thread that drives shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadMetrics {
    /// Which.
    pub thread: usize,
    /// Microseconds that it has spent on turns since the process started.
    pub busy_us: u64,
}

/// Counts values in buckets of powers of two.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    buckets: [u64; BUCKETS],
    sum: u64,
    max: u64,
}

/// Values from 2^30 on, a quarter of an hour in microseconds, share the last bucket.
const BUCKETS: usize = 31;

impl Default for Counts {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], sum: 0, max: 0 }
    }
}

impl Counts {
    pub(crate) fn add(&mut self, value: u64) {
        let bucket = (u64::BITS - value.saturating_sub(1).leading_zeros()).min(BUCKETS as u32 - 1);
        self.buckets[bucket as usize] += 1;
        self.sum = self.sum.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// Bucket n holds values above 2^(n-1) and up to 2^n.
    pub(crate) fn histogram(&self) -> Histogram {
        let bound = |bucket: usize| if bucket == BUCKETS - 1 { u64::MAX } else { 1 << bucket };
        let buckets =
            self.buckets.iter().enumerate().map(|(bucket, &count)| (bound(bucket), count)).collect();
        Histogram { buckets, sum: self.sum, max: self.max }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn a_value_lands_in_the_bucket_whose_bound_it_does_not_pass() {
        for (value, bound) in
            [(0, 1), (1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (1 << 29, 1 << 29), (1 << 40, u64::MAX)]
        {
            let mut counts = Counts::default();
            counts.add(value);
            let hit = counts.histogram().buckets.into_iter().find(|&(_, count)| count == 1);
            assert_eq!(hit.map(|(bound, _)| bound), Some(bound), "{value}");
        }
    }
}
