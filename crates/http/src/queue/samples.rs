//! What the queues do now: one look at all of them every two seconds, with rates made of two looks.
//!
//! The console's list and the metrics are made of the newest look, so a page or a scrape costs the shards nothing. Where
//! there are more queues than [`QUEUES_SAMPLED_MAX`] the first ones by name are looked at, and the
//! sample shows it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use stadium_queue::{Command, QueueName, QueueStats};
use tokio::time::MissedTickBehavior;

use crate::request::app::App;
use crate::sampling::{PERIOD, keep};
use crate::shards::ask_for;

/// Queues looked at. At about 900 bytes each that is 9 MB; the rest is listed by name, without rates.
const QUEUES_SAMPLED_MAX: usize = 10_000;

/// Queues asked for at once.
const PAGE: usize = 1_000;

/// Queues with series of their own in the metrics; the others are summed. A queue with a series
/// keeps it while it lives, so that its counters never jump.
pub(crate) const QUEUES_NAMED_MAX: usize = 100;

/// What happened in a second.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rates {
    pub(crate) put: f32,
    pub(crate) handed_out: f32,
    pub(crate) settled: f32,
    pub(crate) retried: f32,
    pub(crate) died: f32,
}

impl Rates {
    fn between(before: &QueueStats, now: &QueueStats, seconds: f32) -> Self {
        let rate = |of: fn(&QueueStats) -> u64| of(now).saturating_sub(of(before)) as f32 / seconds;
        Self {
            put: rate(|stats| stats.put),
            handed_out: rate(|stats| stats.handed_out),
            settled: rate(|stats| stats.settled),
            retried: rate(|stats| stats.retried),
            died: rate(|stats| stats.died),
        }
    }

    pub(crate) fn add(&mut self, more: &Rates) {
        self.put += more.put;
        self.handed_out += more.handed_out;
        self.settled += more.settled;
        self.retried += more.retried;
        self.died += more.died;
    }
}

/// One queue with its last two minutes.
#[derive(Clone)]
pub(crate) struct Sampled {
    pub(crate) stats: QueueStats,
    pub(crate) rates: Rates,
    /// Puts a second, the newest last.
    pub(crate) put: VecDeque<f32>,
    /// Settled a second, the newest last.
    pub(crate) settled: VecDeque<f32>,
}

/// The newest look.
#[derive(Default)]
pub(crate) struct Samples {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    taken: Option<Instant>,
    at_ms: u64,
    complete: bool,
    queues: BTreeMap<QueueName, Sampled>,
    put: VecDeque<f32>,
    settled: VecDeque<f32>,
    named: BTreeSet<QueueName>,
}

/// What is read of the newest look.
pub(crate) struct Look<'a> {
    /// When, milliseconds since 1970; 0 before the first.
    pub(crate) at_ms: u64,
    /// Whether these are all queues.
    pub(crate) complete: bool,
    /// By name.
    pub(crate) queues: &'a BTreeMap<QueueName, Sampled>,
    /// Puts a second of all queues.
    pub(crate) put: &'a VecDeque<f32>,
    /// Settled a second of all queues.
    pub(crate) settled: &'a VecDeque<f32>,
    /// Those with series of their own.
    pub(crate) named: &'a BTreeSet<QueueName>,
}

impl Samples {
    /// Reads the newest look; the next one waits so long.
    pub(crate) fn read<T>(&self, read: impl FnOnce(Look<'_>) -> T) -> T {
        let inner = self.inner.lock();
        let Inner { at_ms, complete, queues, put, settled, named, .. } = &*inner;
        read(Look { at_ms: *at_ms, complete: *complete, queues, put, settled, named })
    }

    fn looked(&self, found: Vec<QueueStats>, complete: bool, now: Instant) {
        let mut inner = self.inner.lock();
        let seconds = inner.taken.map_or(f32::INFINITY, |taken| now.duration_since(taken).as_secs_f32());
        let seconds = seconds.max(0.001);
        let mut before = std::mem::take(&mut inner.queues);
        let mut all = Rates::default();
        for stats in found {
            let name = stats.queue.clone();
            let sampled = match before.remove(&name) {
                Some(mut sampled) => {
                    sampled.rates = Rates::between(&sampled.stats, &stats, seconds);
                    sampled.stats = stats;
                    sampled
                }
                None => {
                    Sampled { stats, rates: Rates::default(), put: VecDeque::new(), settled: VecDeque::new() }
                }
            };
            all.add(&sampled.rates);
            inner.queues.insert(name, sampled);
        }
        for sampled in inner.queues.values_mut() {
            keep(&mut sampled.put, sampled.rates.put);
            keep(&mut sampled.settled, sampled.rates.settled);
        }
        keep(&mut inner.put, all.put);
        keep(&mut inner.settled, all.settled);
        inner.name();
        inner.complete = complete;
        inner.taken = Some(now);
        inner.at_ms = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    }
}

impl Inner {
    /// Gives the free names to the busiest queues.
    fn name(&mut self) {
        self.named.retain(|name| self.queues.contains_key(name));
        let free = QUEUES_NAMED_MAX - self.named.len();
        if free == 0 {
            return;
        }
        let mut others: Vec<_> = self.queues.iter().filter(|(name, _)| !self.named.contains(*name)).collect();
        others.sort_by_key(|(_, sampled)| std::cmp::Reverse(sampled.stats.put));
        let chosen: Vec<_> = others.into_iter().take(free).map(|(name, _)| name.clone()).collect();
        self.named.extend(chosen);
    }
}

/// Looks until it is stopped. Figures that cannot be read now stay as they were seen last.
pub(crate) async fn sample(app: Arc<App>, samples: Arc<Samples>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if app.shards.get().is_none() {
            continue;
        }
        if let Some((found, complete)) = all(&app).await {
            samples.looked(found, complete, Instant::now());
        }
    }
}

async fn all(app: &App) -> Option<(Vec<QueueStats>, bool)> {
    let mut found: Vec<QueueStats> = Vec::new();
    while found.len() < QUEUES_SAMPLED_MAX {
        let after = found.last().map(|stats| stats.queue.clone());
        let page: Vec<QueueStats> =
            ask_for(app, Command::List { after, queues_max: PAGE as u32 }).await.ok()?;
        let last = page.len() < PAGE;
        found.extend(page);
        if last {
            return Some((found, true));
        }
    }
    Some((found, false))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stadium_queue::QueueSettings;

    use crate::sampling::POINTS;

    use super::*;

    fn stats(name: &str, put: u64) -> QueueStats {
        QueueStats {
            queue: QueueName::new(name).expect("a good name"),
            settings: QueueSettings::default(),
            paused: false,
            delayed: 0,
            due: put,
            reserved: 0,
            buried: 0,
            dead: 0,
            oldest_due: None,
            put,
            handed_out: 0,
            settled: 0,
            retried: 0,
            died: 0,
            duplicates: 0,
            waiting: 0,
        }
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks_and_are_bounded() {
        let samples = Samples::default();
        let start = Instant::now();
        samples.looked(vec![stats("a", 1_000), stats("b", 5)], true, start);
        samples.looked(vec![stats("a", 1_030), stats("c", 7)], true, start + Duration::from_secs(3));
        samples.read(|look| {
            let names: Vec<_> = look.queues.keys().map(QueueName::as_str).collect();
            assert_eq!(names, ["a", "c"], "what is gone is not shown");
            let a = &look.queues[&QueueName::new("a").expect("a good name")];
            assert_eq!(a.rates.put, 10.0);
            assert_eq!(a.put, [0.0, 10.0], "the first look knows no rate");
        });
        for n in 0..100 {
            samples.looked(vec![stats("a", 1_030)], true, start + Duration::from_secs(5 + n));
        }
        samples.read(|look| {
            assert_eq!(look.put.len(), POINTS);
            assert_eq!(look.queues.values().next().expect("one").put.len(), POINTS);
        });
    }

    #[test]
    fn a_name_in_the_metrics_stays_with_its_queue() {
        let samples = Samples::default();
        let now = Instant::now();
        let many = |busy: usize| -> Vec<QueueStats> {
            (0..QUEUES_NAMED_MAX + 50).map(|n| stats(&format!("q{n:03}"), u64::from(n >= busy))).collect()
        };
        samples.looked(many(50), true, now);
        let first = samples.read(|look| look.named.clone());
        assert_eq!(first.len(), QUEUES_NAMED_MAX);
        assert!(first.iter().all(|name| name.as_str() >= "q050"), "the busiest have names");
        samples.looked(many(0), true, now + PERIOD);
        assert_eq!(samples.read(|look| look.named.clone()), first);
    }
}
