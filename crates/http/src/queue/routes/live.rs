//! The queues as they are now, for the console: rates, the last two minutes, sorted and searched.
//!
//! All of it is read from the newest look, see [`crate::queue::samples`]: a page costs the shards
//! nothing.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::Serialize;
use stadium_queue::{JobState, QueueStats};
use utoipa::ToSchema;

use crate::queue::description::LookProblems;
use crate::queue::samples::{Rates, Sampled, Samples};
use crate::queue::views::JobCounts;
use crate::request::access::Caller;
use crate::request::app::App;
use crate::request::problem::Problem;
use crate::request::query::{Query, wrong};
use crate::sampling::{PERIOD, line};
use crate::shards::running;
use crate::spelling::timestamp;

/// Queues on a page unless the caller asks for another number.
const PAGE_DEFAULT: usize = 50;

/// Queues on a page at most: each has two minutes of points.
const PAGE_MAX: usize = 500;

/// How the queues are sorted; a queue's rank, the highest first.
type Rank = fn(&Sampled) -> u64;

/// The values of `sort`. By name where the rank is equal.
const SORTS: [(&str, Rank); 8] = [
    ("due", |queue| queue.stats.due),
    ("name", |_| 0),
    ("jobs", |queue| JobCounts::of(&queue.stats).total),
    ("reserved", |queue| queue.stats.reserved),
    ("dead", |queue| queue.stats.dead + queue.stats.buried),
    // The oldest is the one whose time is the smallest.
    ("oldest", |queue| queue.stats.oldest_due.map_or(0, |time| u64::MAX - time.0)),
    ("put", |queue| (queue.rates.put * 1_000.0) as u64),
    ("settled", |queue| (queue.rates.settled * 1_000.0) as u64),
];

/// What the queues do now.
#[derive(Serialize, ToSchema)]
pub(crate) struct LiveQueues {
    /// When it was looked, milliseconds since 1970.
    at_ms: u64,
    /// Time between two looks, and two points of the lines.
    period_ms: u64,
    /// Queues that were looked at.
    queue_count: usize,
    /// Whether these are all there are.
    complete: bool,
    /// Of those, the ones whose name fits `search`.
    found_count: usize,
    /// All queues together.
    all: LiveFigures,
    /// The shards.
    shards: Vec<LiveShard>,
    /// The page.
    queues: Vec<LiveQueue>,
}

/// What queues hold and do: one, or all of them together.
#[derive(Serialize, ToSchema)]
struct LiveFigures {
    jobs: JobCounts,
    /// Consumers that wait for a job.
    waiting: u64,
    per_s: LiveRates,
    /// Puts a second, the newest last.
    put_line: Vec<f32>,
    /// Settled a second, the newest last.
    settled_line: Vec<f32>,
    /// When the oldest job that is due became due.
    oldest_due_at: Option<String>,
}

/// What happened in a second.
#[derive(Serialize, ToSchema)]
struct LiveRates {
    /// Jobs put.
    put: f32,
    /// Jobs handed out.
    handed_out: f32,
    /// Jobs done.
    settled: f32,
    /// Attempts that ended in another try.
    retried: f32,
    /// Jobs that died.
    died: f32,
}

impl LiveRates {
    fn of(rates: &Rates) -> Self {
        let Rates { put, handed_out, settled, retried, died } = *rates;
        Self { put, handed_out, settled, retried, died }
    }
}

/// One queue.
#[derive(Serialize, ToSchema)]
struct LiveQueue {
    name: String,
    paused: bool,
    #[serde(flatten)]
    figures: LiveFigures,
}

impl LiveQueue {
    fn of(queue: &Sampled) -> Self {
        Self {
            name: queue.stats.queue.to_string(),
            paused: queue.stats.paused,
            figures: LiveFigures {
                jobs: JobCounts::of(&queue.stats),
                waiting: queue.stats.waiting,
                per_s: LiveRates::of(&queue.rates),
                put_line: line(&queue.put),
                settled_line: line(&queue.settled),
                oldest_due_at: queue.stats.oldest_due.map(timestamp),
            },
        }
    }
}

/// One shard.
#[derive(Serialize, ToSchema)]
pub(crate) struct LiveShard {
    shard: u16,
    /// Whether it takes commands.
    serving: bool,
    /// Why not, in words.
    trouble: Option<String>,
    /// Jobs, in whatever state.
    jobs: u64,
    /// Commands in its mailbox.
    mailbox_commands: u64,
    /// Bytes of memory that the state holds.
    state_bytes: u64,
    /// Bytes of disk that segments take.
    segment_bytes: u64,
    /// Bytes of payloads that are alive in them.
    live_bytes: u64,
    /// When the newest checkpoint was begun.
    checkpoint_at: Option<String>,
    /// Bytes of journal after it.
    tail_bytes: u64,
    /// How long a recovery would take now.
    recovery_expected_ms: u64,
}

impl LiveShard {
    pub(crate) fn of(shard: stadium_shard::ShardMetrics) -> Self {
        Self {
            shard: shard.shard,
            serving: shard.serving,
            trouble: shard.trouble,
            jobs: shard.jobs,
            mailbox_commands: shard.mailbox_commands,
            state_bytes: shard.state_bytes,
            segment_bytes: shard.segment_bytes,
            live_bytes: shard.live_bytes,
            checkpoint_at: shard.checkpoint_at.map(timestamp),
            tail_bytes: shard.tail_bytes,
            recovery_expected_ms: shard.recovery_expected_ms,
        }
    }
}

/// The queues as they were at most two seconds ago, with rates and their last two minutes.
#[utoipa::path(get, operation_id = "live_queues", path = "/api/live/queues", tag = "Queues",
    extensions(("x-right" = json!("queue.read:*"))),
    params(("queue" = Option<String>, Query, description = "Only this queue."),
           ("search" = Option<String>, Query, description = "Only queues whose name contains this."),
           ("sort" = Option<String>, Query, description = "`name`, `jobs`, `due`, `reserved`, `dead`, `oldest`, `put` or `settled`; the most first, `due` by default."),
           ("state" = Option<String>, Query, description = "Only queues with jobs that are `delayed`, `due`, `reserved`, `buried` or `dead`."),
           ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Queues on the page; 50 by default."),
           ("skip" = Option<u32>, Query, description = "Queues of the pages before.")),
    responses((status = 200, description = "What they do.", body = LiveQueues), LookProblems))]
pub(crate) async fn show(
    _: Caller,
    State(app): State<Arc<App>>,
    State(samples): State<Arc<Samples>>,
    uri: Uri,
) -> Result<Json<LiveQueues>, Problem> {
    let query = Query::read(&uri, &["queue", "search", "sort", "state", "limit", "skip"])?;
    let limit = query.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let rank = query.one_of("sort", &SORTS)?;
    let skip = query.number("skip")?.unwrap_or(0);
    let state = match query.value("state") {
        None => None,
        Some(word) => Some(
            crate::queue::routes::queues::state_of(word)
                .ok_or_else(|| wrong("state", crate::queue::routes::queues::no_state(word)))?,
        ),
    };
    let search = query.value("search").unwrap_or_default().to_ascii_lowercase();
    let only = query.value("queue");
    let shards = shards(&app)?;
    let live = samples.read(|look| {
        let fits = |queue: &&Sampled| {
            only.is_none_or(|only| queue.stats.queue.as_str() == only)
                && queue.stats.queue.as_str().to_ascii_lowercase().contains(&search)
                && state.is_none_or(|state| count(&queue.stats, state) > 0)
        };
        let mut found: Vec<&Sampled> = look.queues.values().filter(fits).collect();
        // They come by name, and the sort keeps that order among equals.
        found.sort_by_key(|queue| Reverse(rank(queue)));
        let mut rates = Rates::default();
        let mut jobs = JobCounts::default();
        for queue in look.queues.values() {
            rates.add(&queue.rates);
            jobs.add(&JobCounts::of(&queue.stats));
        }
        LiveQueues {
            at_ms: look.at_ms,
            period_ms: PERIOD.as_millis() as u64,
            queue_count: look.queues.len(),
            complete: look.complete,
            found_count: found.len(),
            all: LiveFigures {
                jobs,
                waiting: look.queues.values().map(|queue| queue.stats.waiting).sum(),
                per_s: LiveRates::of(&rates),
                put_line: line(look.put),
                settled_line: line(look.settled),
                oldest_due_at: look
                    .queues
                    .values()
                    .filter_map(|queue| queue.stats.oldest_due)
                    .min()
                    .map(timestamp),
            },
            shards,
            queues: found.into_iter().skip(skip).take(limit).map(LiveQueue::of).collect(),
        }
    });
    Ok(Json(live))
}

fn count(stats: &QueueStats, state: JobState) -> u64 {
    match state {
        JobState::Delayed => stats.delayed,
        JobState::Due => stats.due,
        JobState::Reserved => stats.reserved,
        JobState::Buried => stats.buried,
        JobState::Dead => stats.dead,
    }
}

fn shards(app: &App) -> Result<Vec<LiveShard>, Problem> {
    Ok(running(app)?.metrics().into_iter().map(LiveShard::of).collect())
}
